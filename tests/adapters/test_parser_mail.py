import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_support import LIMITS, blocks_of, code_of, read

from mcp_knowledge.adapters.parsers.mail import parse
from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.domain.blocks import Heading, ListBlock, Paragraph, Quote, Table
from mcp_knowledge.errors import KnowledgeError

HEAD = "From: Ann Ager <ann@example.org>\nTo: Bob <bob@example.org>\nDate: Tue, 30 Sep 2025 05:51:18 -0400\n"


def mail(body: str, headers: str = "Subject: Lunch\n") -> bytes:
    return (HEAD + headers + "\n" + body).encode()


def multipart(kind: str, *parts: str, subject: str = "Lunch") -> bytes:
    inner = "".join(f"--xx\n{part}\n" for part in parts)
    return mail(f"preamble\n{inner}--xx--\n", f'Subject: {subject}\nContent-Type: multipart/{kind}; boundary="xx"\n')


def texts_of(data: bytes) -> list[str]:
    return [getattr(block, "text", "") for block in blocks_of(data, "a.eml")]


def body_of(data: bytes) -> list[str]:
    """The text without subject and headers."""
    return texts_of(data)[2:]


def test_subject_headers_text_and_quoted_history_stand_in_order() -> None:
    document = read(mail("Hello Bob,\nsee you.\n\n> On Monday\n> > you wrote:\n>\n> noon?\n\n-- \nAnn\n"), "a.eml")
    assert document.title == "Lunch"
    assert document.metadata == {
        "from": "Ann Ager <ann@example.org>",
        "to": "Bob <bob@example.org>",
        "date": "2025-09-30T05:51:18-04:00",
        "subject": "Lunch",
    }
    assert document.blocks == (
        Heading(1, "Lunch"),
        Paragraph("From: Ann Ager <ann@example.org>\nTo: Bob <bob@example.org>\nDate: Tue, 30 Sep 2025 05:51:18 -0400"),
        Paragraph("Hello Bob,\nsee you."),
        Quote("On Monday\nyou wrote:\n\nnoon?"),
        Paragraph("-- \nAnn"),
    )


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (b"=?utf-8?Q?Gr=C3=BC=C3=9Fe_aus?= =?utf-8?B?IEvDtmxu?=", "Grüße aus Köln"),
        (b"=?UTF-8?B?4oKs4g==?= =?UTF-8?B?gqw=?= cut in a character", "€€ cut in a character"),
        (b"=?iso-8859-1?Q?a=E9b?= and =?koi8-r?B?8NLJ18XU?=", "aéb and Привет"),
        (b"=?no-such-charset?Q?plain?=", "plain"),
        (b"=?utf-8?B?!!!?= rest", "rest"),
        ("roh: Müller".encode(), "roh: Müller"),
        ("roh: Müller".encode("latin-1"), "roh: Müller"),
        (b"folded\n over lines", "folded over lines"),
    ],
)
def test_headers_are_decoded_from_any_form(subject: bytes, expected: str) -> None:
    assert texts_of(b"From: a@b\nSubject: " + subject + b"\n\ntext\n")[0] == expected


@pytest.mark.parametrize(
    ("charset", "encoding", "payload"),
    [
        ("utf-8", "quoted-printable", "Gr=C3=BC=C3=9Fe"),
        ("utf-8", "base64", base64.b64encode("Grüße".encode()).decode()),
        ("iso-8859-1", "quoted-printable", "Gr=FC=DFe"),
        ("us-ascii", "quoted-printable", "Gr=FC=DFe"),
        ("iso-8859-1", "quoted-printable", "Gr=C3=BC=C3=9Fe"),
        ("x-unknown", "8bit", "Grüße"),
        ("utf-8", "x-unknown", "Grüße"),
        ("utf-8", "base64", base64.b64encode("Grüße".encode()).decode() + "!"),
    ],
)
def test_text_is_decoded_whatever_its_charset_and_encoding_claim(charset: str, encoding: str, payload: str) -> None:
    kind = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: {encoding}\n"
    assert body_of(mail(payload + "\n", f"Subject: x y\n{kind}")) == ["Grüße"]


def test_of_two_versions_the_one_that_says_more_is_read() -> None:
    plain = "Content-Type: text/plain\n\nFirst\nOne\nTwo\n"
    page = "Content-Type: text/html\n\n<style>p{}</style><p>First</p><ul><li>One</li><li>Two</li></ul>"
    blocks = blocks_of(multipart("alternative", plain, page), "a.eml")[2:]
    assert blocks == [Paragraph("First"), ListBlock(False, ("One", "Two"))]
    unstructured = "Content-Type: text/html\n\n<div>First One Two</div>"
    assert body_of(multipart("alternative", plain, unstructured)) == ["First\nOne\nTwo"]
    poor = "Content-Type: text/html\n\n<ul><li>View online</li></ul>"
    long = "Content-Type: text/plain\n\nA text of many words that stand here only.\n"
    assert body_of(multipart("alternative", long, poor)) == ["A text of many words that stand here only."]
    assert body_of(multipart("alternative", "Content-Type: text/plain\n\n\n", page))[0] == "First"


def test_a_page_keeps_its_tables_and_leaves_its_pictures() -> None:
    page = "Content-Type: text/html; charset=utf-8\n\n<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>"
    picture = "Content-Type: image/png; name=logo.png\nContent-ID: <logo>\nContent-Transfer-Encoding: base64\n\nAAAA\n"
    document = read(multipart("related", page, picture), "a.eml")
    table = document.blocks[2]
    assert isinstance(table, Table) and (table.headers, table.rows) == (("a", "b"), (("1", "2"),))
    assert "attachments" not in document.metadata


def test_attachments_are_listed_by_name_and_not_read() -> None:
    text = "Content-Type: text/plain\n\nSee the files.\n"
    report = "Content-Type: application/pdf; name*=utf-8''Pr%C3%BCfung.pdf\n\n%PDF secret\n"
    notes = (
        'Content-Type: text/plain\nContent-Disposition: attachment; filename="=?utf-8?Q?n=C3=B6te.txt?="\n\nsecret\n'
    )
    unnamed = "Content-Type: application/octet-stream\n\nsecret\n"
    document = read(multipart("mixed", text, report, notes, unnamed), "a.eml")
    assert document.metadata["attachments"] == ["Prüfung.pdf", "nöte.txt", "application/octet-stream"]
    header = document.blocks[1]
    assert isinstance(header, Paragraph)
    assert header.text.endswith(
        "Attachments (their content is not included): Prüfung.pdf, nöte.txt, application/octet-stream"
    )
    assert [getattr(block, "text", "") for block in document.blocks[2:]] == ["See the files."]


def test_a_message_inside_is_a_section_of_its_own() -> None:
    inner = "Content-Type: message/rfc822\n\nFrom: Cid <cid@example.org>\nSubject: The first\n\nOld text.\n"
    blocks = blocks_of(multipart("mixed", "Content-Type: text/plain\n\nNew text.\n", inner, subject="Fwd"), "a.eml")
    assert [(getattr(block, "text", ""), block.location.section) for block in blocks[2:]] == [
        ("New text.", None),
        ("The first", "The first"),
        ("From: Cid <cid@example.org>", "The first"),
        ("Old text.", "The first"),
    ]
    assert isinstance(blocks[3], Heading) and blocks[3].level == 2


def test_parts_without_their_boundary_and_text_shown_inline_under_a_name_are_read() -> None:
    broken = 'Subject: x y\nContent-Type: multipart/mixed; boundary="other"\n'
    assert body_of(mail("The text all the same.\n", broken)) == ["The text all the same."]
    named = 'Content-Type: text/plain\nContent-Disposition: inline; filename="msg.txt"\n\nShown.\n'
    assert body_of(multipart("mixed", named)) == ["Shown."]


def test_a_message_saved_in_utf_16_is_read() -> None:
    assert body_of(mail("Grüße\n").decode().encode("utf-16")) == ["Grüße"]


def test_a_report_of_failed_delivery_keeps_its_reason() -> None:
    report = "Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: bob\nStatus: 5.1.1\n"
    data = multipart("report", "Content-Type: text/plain\n\nNot delivered.\n", report)
    assert body_of(data) == ["Not delivered.", "Reporting-MTA: dns; mx", "Final-Recipient: bob\nStatus: 5.1.1"]


def test_flowed_lines_are_joined() -> None:
    kind = "Subject: x y\nContent-Type: text/plain; format=flowed\n"
    assert body_of(mail("One sentence \nover two lines.\n-- \nAnn\n", kind)) == [
        "One sentence over two lines.\n-- \nAnn"
    ]


def test_flowed_quotations_are_joined_and_blanks_that_only_mark_the_flow_go() -> None:
    kind = "Subject: x y\nContent-Type: text/plain; format=flowed"
    text = "We ta\nlk of \n> a quoted \n> line.\n>> deeper \n> less\n\n last \n\nend\n"
    assert body_of(mail(text, f"{kind}\n")) == [
        "We ta\nlk of", "a quoted line.\ndeeper \nless", "last", "end",
    ]  # fmt: skip
    assert body_of(mail("We ta \nlk.\n", f"{kind}; delsp=yes\n")) == ["We talk."]


def element(tag: int, content: bytes, *, open_end: bool = False) -> bytes:
    length = len(content)
    if open_end:
        return bytes([tag, 0x80]) + content + b"\0\0"
    return bytes([tag, 0x82]) + length.to_bytes(2, "big") + content if length > 127 else bytes([tag, length]) + content


@pytest.mark.parametrize("open_end", [False, True])
def test_a_message_inside_its_signature_is_read(open_end: bool) -> None:
    text = b"Content-Type: text/plain; charset=utf-8\n\n" + "Schön unterschrieben. ".encode() * 10
    octets = element(0x24, element(4, text[:100]) + element(4, text[100:]), open_end=True)
    wrapped = element(0xA0, octets if open_end else element(4, text), open_end=open_end)
    data = element(0x30, bytes.fromhex("06092a864886f70d010701") + wrapped, open_end=open_end)
    signed = element(0xA0, element(0x30, b"\2\1\1" + data, open_end=open_end), open_end=open_end)
    whole = element(0x30, bytes.fromhex("06092a864886f70d010702") + signed, open_end=open_end)
    kind = (
        "Subject: x\nContent-Transfer-Encoding: base64\nContent-Type: application/pkcs7-mime; smime-type=signed-data\n"
    )
    message = mail(base64.encodebytes(whole).decode(), kind)
    assert body_of(message) == [("Schön unterschrieben. " * 10).strip()]
    broken = mail(base64.encodebytes(whole[:20]).decode(), kind)
    assert read(broken, "a.eml").metadata["attachments"] == ["application/pkcs7-mime"]


INVITATION = """BEGIN:VCALENDAR
BEGIN:VTIMEZONE
DTSTART:16010101T000000
END:VTIMEZONE
BEGIN:VEVENT
DTSTART;TZID="W. Europe":20240307T140000
DTEND:20240307T140000Z
SUMMARY:Budget\\, long
  name
LOCATION;LANGUAGE=en:Room 12
DESCRIPTION:Bring it.\\nAll.
ORGANIZER;CN="Doe, Ann":mailto:ann@x.org
ATTENDEE;CN=bob@x.org:MAILTO:bob@x.org
BEGIN:VALARM
DESCRIPTION:REMINDER
END:VALARM
END:VEVENT
END:VCALENDAR
"""


def test_invitations_say_what_when_and_where_besides_the_text() -> None:
    kind = "Content-Type: text/calendar; method=REQUEST\n"
    event = (
        "Start: 2024-03-07 14:00 (W. Europe)\nEnd: 2024-03-07 14:00 UTC\nEvent: Budget, long name\nLocation: Room 12\n"
        "{}Organizer: Doe, Ann <ann@x.org>\nAttendee: bob@x.org"
    )
    data = multipart("alternative", "Content-Type: text/plain\n\nCome.\n", f"{kind}\n{INVITATION}")
    assert body_of(data) == ["Come.", event.format("")]
    assert body_of(mail(INVITATION, f"Subject: x\n{kind}")) == [event.format("Description: Bring it.\nAll.\n")]


def test_signed_text_is_read_and_encrypted_mail_says_so() -> None:
    signature = "Content-Type: application/pgp-signature; name=s.asc\n\nxx\n"
    assert body_of(multipart("signed", "Content-Type: text/plain\n\nYes.\n", signature)) == ["Yes."]
    kind = "Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n"
    assert code_of(mail("AAAA", f"Subject: x\n{kind}"), "a.eml") == "DOCUMENT_ENCRYPTED"
    version = "Content-Type: application/pgp-encrypted\n\nVersion: 1\n"
    assert code_of(multipart("encrypted", version, "Content-Type: application/octet-stream\n\nx"), "a.eml") == (
        "DOCUMENT_ENCRYPTED"
    )


def test_text_without_headers_is_text_and_other_bytes_are_malformed() -> None:
    assert texts_of(b"Just some text.\n\nNo header.\n") == ["Just some text.", "No header."]
    assert code_of(bytes(range(256)) * 20, "a.eml") == "DOCUMENT_MALFORMED"


def test_parts_inside_parts_without_end_are_refused() -> None:
    nested = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(500))
    assert code_of(("From: a@b\nSubject: x\n" + nested + "\ntext\n").encode(), "a.eml") == "DOCUMENT_RESOURCE_LIMIT"


PIECES = [
    *("Content-Type: multipart/mixed; boundary=b\n", "Content-Type: text/html\n", "Content-Type: message/rfc822\n"),
    *("Content-Transfer-Encoding: base64\n", "Content-Type: text/plain; charset*=x''%zz\n", "--b\n", "--b--\n", "\n"),
    *("Subject: =?utf-8?B?=?=\n", "Date: never\n", "> quoted\n", "text\n", "<p>x</p>\n", "Content-Disposition: a; f\n"),
    *('Content-Disposition: attachment; filename*0*="a; filename*1=b\n', "To: a@b, , <\n", "begin 644 x\n", "ü\x00\n"),
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30).map("".join))
def test_any_message_is_read_or_gives_a_coded_error(text: str) -> None:
    try:
        parse(Source(b"From: a@b\n" + text.encode("utf-8", "surrogatepass"), "a.eml", Limits(**LIMITS)))
    except KnowledgeError as error:
        assert error.code in ("DOCUMENT_MALFORMED", "DOCUMENT_RESOURCE_LIMIT", "DOCUMENT_ENCRYPTED")
