import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, read, read_or_refuse

from mcp_knowledge.domain.blocks import Heading, ListBlock, Paragraph, Table

HEAD = rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}"


def rtf(body: bytes, head: bytes = HEAD) -> bytes:
    return head + body + b"}"


def test_headings_lists_tables_and_properties_are_read() -> None:
    body = (
        rb"{\info{\upr{\title R?port}{\*\ud{\title R\u233?port 2025}}}{\author Ann \'e9mile}{\keywords ducks}"
        rb"{\creatim\yr2025\mo1\dy2\hr3\min4}{\nofpages3}}"
        rb"{\stylesheet{\s1\outlinelevel0 heading 1;}}"
        rb"{\*\listtable{\list\listid7{\listlevel\levelnfc0\levelstartat3{\leveltext\'02\'00.;}{\levelnumbers\'01;}}}}"
        rb"{\*\listoverridetable{\listoverride\listid7\listoverridecount0\ls1}}"
        rb"\pard\s1\outlinelevel0 Figures\par\pard Plain {\b text}.\par"
        rb"\pard\ls1 {\listtext 3.\tab}one\par\pard\ls1 {\listtext 4.\tab}two\par"
        rb"\pard\trowd\trhdr\clvmgf\cellx1000\cellx2000\intbl Name\cell Size\cell\row"
        rb"\trowd\clvmgf\cellx1000\cellx2000\intbl duck\cell 1\cell\row"
        rb"\trowd\clvmrg\cellx1000\cellx2000\intbl\cell 2\cell\row\pard End.\par"
    )
    document = read(rtf(body), "a.rtf")
    assert document.title == "Réport 2025"
    assert document.metadata == {
        "author": "Ann émile",
        "keywords": "ducks",
        "created": "2025-01-02T03:04:00",
        "pages": 3,
    }
    assert list(document.blocks) == [
        Heading(1, "Figures"),
        Paragraph("Plain text."),
        ListBlock(True, ("3. one", "4. two")),
        Table(("Name", "Size"), (("duck", "1"), ("duck", "2"))),
        Paragraph("End."),
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        rb"{\v SECRET\u233?\tab\'e9}",
        rb"\v SECRET\v0 ",
        rb"\v SECRET\plain ",
        rb"{\deleted SECRET}",
        rb"{\header SECRET{\shp{\*\shpinst{\shptxt SECRET\par}}}\par}",
        rb"{\footerf SECRET\par}",
        rb"{\xe{\v SECRET}}{\tc SECRET}",
        rb"{\*\unknown SECRET}",
        rb"{\field{\*\fldinst HYPERLINK SECRET}{\fldrslt }}",
        rb"{\pict\pngblip\bin10 }}}}{{{{\\\'}",
        rb"{\*\ffname SECRET}",
    ],
)
def test_hidden_deleted_and_repeated_text_is_left_out(hidden: bytes) -> None:
    assert blocks_of(rtf(rb"\pard seen " + hidden + rb"again\par"), "a.rtf") == [Paragraph("seen again")]


def test_a_document_of_which_all_is_hidden_is_read_all_the_same() -> None:
    assert blocks_of(rtf(rb"\pard\v Nothing else\par"), "a.rtf") == [Paragraph("Nothing else")]


def test_notes_and_comments_come_after_their_paragraph() -> None:
    body = (
        rb"\pard A claim{\*\atrfstart 1}{\*\atnid AB}{\*\atnauthor Ann B\'f6}\chatn{\*\annotation{\*\atnref 1}"
        rb"{\*\atndate 123}\pard\plain Is {\i this} \u8220?true\u8221?\par Ask.} of mine"
        rb"\chftn{\footnote\pard\plain\chftn  A note.}.\par\pard Next.\par"
    )
    assert blocks_of(rtf(body), "a.rtf") == [
        Paragraph("A claim of mine[1]."),
        Paragraph("[Comment by Ann Bö: Is this “true” Ask.]"),
        Paragraph("[1] A note."),
        Paragraph("Next."),
    ]


@pytest.mark.parametrize(
    ("head", "text", "expected"),
    [
        (rb"{\rtf1\ansi", rb"caf\'e9 \u1044?\u-10179?\u-8704?", "café Д😀"),
        (rb"{\rtf1\ansi\ansicpg1250", rb"za\'bf\'f3\'b3\'e6", "zażółć"),
        (rb"{\rtf1\ansi\ansicpg932\uc2", rb"\'82\'b1\u12435\'82\'f1", "こん"),
        (rb"{\rtf1\mac", rb"caf\'8e", "café"),
        (rb"{\rtf1\pc", rb"caf\'82 \u233\'82", "café é"),
        (rb"{\rtf1\ansi{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}", rb"\f1 \'c4\'e0", "Да"),
        (rb"{\rtf1\ansi{\fonttbl{\f0\fcharset178 A;}}", rb"\f0 \'d3\'e1\'c7\'e3", "سلام"),
    ],
)
def test_code_pages_and_unicode_escapes_are_decoded(head: bytes, text: bytes, expected: str) -> None:
    assert blocks_of(rtf(rb"\pard " + text + rb"\par", head), "a.rtf") == [Paragraph(expected)]


def test_tables_within_tables_and_text_boxes_keep_their_text() -> None:
    body = (
        rb"\pard\trowd\cellx1000\cellx2000\pard\intbl\itap1 outer\cell"
        rb"\pard\intbl\itap2 in one\nestcell in two\nestcell{\*\nesttableprops\trowd\cellx500\cellx900\nestrow}"
        rb"{\nonesttables\par}\pard\intbl\itap1\cell\row\pard after "
        rb"{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt\pard boxed\par}}}\par"
    )
    text = "\n".join(str(block) for block in blocks_of(rtf(body), "a.rtf"))
    for piece in ("outer", "in one", "in two", "after", "boxed"):
        assert piece in text


def test_what_stands_before_and_after_the_file_itself_is_passed_over() -> None:
    data = b"\xef\xbb\xbf \r\n" + rtf(rb"\pard seen\par") + b"\0\0 trailing rubbish"
    assert blocks_of(data, "a.rtf") == [Paragraph("seen")]


def test_rtf_under_another_name_is_read_as_what_it_is() -> None:
    assert blocks_of(rtf(rb"\pard seen\par"), "a.doc") == [Paragraph("seen")]


def test_truncated_and_deeply_nested_files_are_read_or_refused_with_a_code() -> None:
    assert blocks_of(HEAD + rb"\pard seen {\b un", "a.rtf") == [Paragraph("seen un")]
    assert blocks_of(rtf(rb"\pard seen " + b"{" * 100_000 + b"}" * 100_000), "a.rtf") == [Paragraph("seen")]
    assert code_of(rtf(b""), "a.rtf") == "DOCUMENT_EMPTY"
    assert code_of(bytes(range(256)), "a.rtf") == "DOCUMENT_MALFORMED"


SAMPLE = rtf(
    rb"{\info{\title T}{\creatim\yr2025}}\pard a{\v b}\par{\*\annotation c}{\pict\bin3 xyz}"
    rb"\trowd\cellx9\intbl d\cell\row\u233?\'e9{\footnote e}\par"
)


@given(st.integers(0, len(SAMPLE) - 1), st.binary(min_size=1, max_size=8))
@settings(deadline=None)
def test_flipped_bytes_never_raise_anything_but_a_coded_error(start: int, damage: bytes) -> None:
    read_or_refuse(SAMPLE[:start] + damage + SAMPLE[start + len(damage) :], "a.rtf")


def test_styles_that_have_only_the_name_of_a_heading_are_headings() -> None:
    body = (
        rb"{\stylesheet{\s0\fs24 Normal;}{\s1\sbasedon0 Heading 2;}{\s15\sbasedon0 Title;}{\s3 Heading 1 Char;}}"
        rb"\pard\plain\s15 Ponds\par\pard\plain\s1 Water\par\pard\plain\s3 Text\par"
    )
    assert blocks_of(rtf(body), "a.rtf") == [Heading(1, "Ponds"), Heading(2, "Water"), Paragraph("Text")]
