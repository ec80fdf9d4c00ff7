import io
import zipfile
from typing import Any

import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx_files import element, make_docx, part_of, with_parts
from hypothesis import given, settings
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, read, read_or_refuse

from mcp_knowledge.adapters.parsers.registry import mime_type_of
from mcp_knowledge.domain.blocks import Block, Code, Heading, Image, ListBlock, Paragraph, Table


def texts(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Heading | Paragraph)]


def simple(document: Any) -> None:
    document.add_heading("Heading", 1)
    document.add_paragraph("Some text.")


def test_headings_lists_tables_and_properties_are_read() -> None:
    def build(document: Any) -> None:
        document.core_properties.title = "Project Plan"
        document.core_properties.author = "Ann"
        document.core_properties.comments = ""
        document.add_heading("Goals", 1)
        document.add_heading("Details", 2)
        document.add_paragraph("Plain text.")
        document.add_paragraph("one", style="List Bullet")
        document.add_paragraph("two", style="List Bullet")
        document.add_paragraph("first", style="List Number")
        table = document.add_table(2, 2)
        for cell, text in zip(table._cells, ("Name", "Size", "duck", "1"), strict=True):
            cell.text = text
        document.sections[0].header.paragraphs[0].text = "Running header"

    document = read(make_docx(build), "plan.docx")
    assert document.title == "Project Plan"
    assert document.metadata["author"] == "Ann"
    assert list(document.blocks) == [
        Heading(1, "Goals"),
        Heading(2, "Details"),
        Paragraph("Plain text."),
        ListBlock(False, ("one", "two")),
        ListBlock(True, ("first",)),
        Table(("Name", "Size"), (("duck", "1"),)),
    ]


def test_merged_cells_are_repeated_and_never_shift_their_neighbours() -> None:
    def build(document: Any) -> None:
        table = document.add_table(3, 3)
        for index, cell in enumerate(table._cells):
            cell.text = f"c{index}"
        table.cell(1, 0).merge(table.cell(2, 0)).text = "tall"
        table.cell(0, 1).merge(table.cell(0, 2)).text = "wide"

    (table,) = blocks_of(make_docx(build), "a.docx")
    assert isinstance(table, Table)
    assert [*filter(None, [table.headers]), *table.rows] == [
        ("c0", "wide", "wide"),
        ("tall", "c4", "c5"),
        ("tall", "c7", "c8"),
    ]


def test_hidden_text_and_tracked_deletions_are_left_out_and_insertions_kept() -> None:
    def build(document: Any) -> None:
        paragraph = document.add_paragraph("Visible ")
        paragraph.add_run("SECRET").font.hidden = True
        paragraph.add_run("not hidden ").font.hidden = False
        paragraph._p.append(element('<w:del w:id="1" w:author="x"><w:r><w:delText>DELETED</w:delText></w:r></w:del>'))
        paragraph._p.append(element('<w:moveFrom w:id="2" w:author="x"><w:r><w:t>MOVED</w:t></w:r></w:moveFrom>'))
        paragraph._p.append(element('<w:ins w:id="3" w:author="x"><w:r><w:t>inserted</w:t></w:r></w:ins>'))
        style = document.styles.add_style("Ghost", 2)
        style.font.hidden = True
        document.add_paragraph("Seen ").add_run("GHOST", style="Ghost")

    assert texts(blocks_of(make_docx(build), "a.docx")) == ["Visible not hidden inserted", "Seen"]


def test_comments_come_after_their_paragraph() -> None:
    def build(document: Any) -> None:
        paragraph = document.add_paragraph("A bold claim.")
        document.add_comment(paragraph.runs, text="Is this <true> & proven?", author="Bob")
        document.add_paragraph("Next.")

    assert texts(blocks_of(make_docx(build), "a.docx")) == [
        "A bold claim.",
        "[Comment by Bob: Is this <true> & proven?]",
        "Next.",
    ]


def test_footnotes_come_after_their_paragraph() -> None:
    data = make_docx(simple)
    document = part_of(data, "word/document.xml").replace(
        b"Some text.</w:t></w:r>", b'Some text</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
    )
    space = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    notes = (
        b'<w:footnotes %s><w:footnote w:id="2"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>'
        % space
    )
    relations = part_of(data, "word/_rels/document.xml.rels").replace(
        b"</Relationships>",
        b'<Relationship Id="rId99" Target="footnotes.xml" '
        b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"/></Relationships>',
    )
    parts: dict[str, bytes | None] = {
        "word/document.xml": document,
        "word/footnotes.xml": notes,
        "word/_rels/document.xml.rels": relations,
    }
    assert texts(blocks_of(with_parts(data, parts), "a.docx")) == ["Heading", "Some text[1]", "[1] A note."]


def test_a_word_file_without_text_is_empty() -> None:
    assert code_of(make_docx(lambda document: None), "a.docx") == "DOCUMENT_EMPTY"


@pytest.mark.parametrize("name", ["word/document.xml", "word/media/bomb.png"])
def test_a_zip_bomb_in_a_word_file_hits_the_archive_limit(name: str) -> None:
    bomb = with_parts(make_docx(simple), {name: bytes(20 * 1024 * 1024)})
    assert len(bomb) < 100_000
    assert code_of(bomb, "a.docx", max_archive_uncompressed_bytes=10 * 1024 * 1024) == "DOCUMENT_RESOURCE_LIMIT"


def test_the_inflated_size_is_measured_not_believed() -> None:
    bomb = bytearray(with_parts(make_docx(simple), {"word/document.xml": b" " * 3_000_000}))
    size = (3_000_000).to_bytes(4, "little")
    while (at := bomb.find(size)) >= 0:  # the local header and the directory both declare the size
        bomb[at : at + 4] = (1000).to_bytes(4, "little")
    assert code_of(bytes(bomb), "a.docx", max_archive_uncompressed_bytes=1_000_000) in (
        "DOCUMENT_RESOURCE_LIMIT",
        "DOCUMENT_MALFORMED",
    )


def test_a_compression_ratio_that_no_document_has_is_refused() -> None:
    dense = with_parts(make_docx(simple), {"word/document.xml": b" " * 3_000_000})
    assert code_of(dense, "a.docx") == "DOCUMENT_RESOURCE_LIMIT"


def test_too_many_entries_are_refused() -> None:
    parts: dict[str, bytes | None] = {f"word/extra{n}.bin": b"x" for n in range(50)}
    assert code_of(with_parts(make_docx(simple), parts), "a.docx", max_archive_entries=40) == "DOCUMENT_RESOURCE_LIMIT"


def test_damaged_packages_are_malformed() -> None:
    data = make_docx(simple)
    assert code_of(data[: len(data) // 2], "a.docx") == "DOCUMENT_MALFORMED"
    assert code_of(with_parts(data, {"word/document.xml": b"<w:document"}), "a.docx") == "DOCUMENT_MALFORMED"
    assert code_of(with_parts(data, {"word/document.xml": None}), "a.docx") == "DOCUMENT_MALFORMED"
    assert code_of(b"", "a.docx") == "DOCUMENT_MALFORMED"


def test_a_damaged_part_beside_the_text_does_no_harm() -> None:
    data = with_parts(make_docx(simple), {"word/styles.xml": b"<broken", "docProps/core.xml": b"<broken"})
    assert "Some text." in texts(blocks_of(data, "a.docx"))


def test_entities_are_refused() -> None:
    laughs = (
        b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
        b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>'
        b"<w:rPr><w:vanish/></w:rPr><w:t>&b;</w:t></w:r></w:p></w:body></w:document>"
    )
    assert code_of(with_parts(make_docx(simple), {"word/document.xml": laughs}), "a.docx") == "DOCUMENT_MALFORMED"


def test_an_encrypted_zip_entry_is_encrypted() -> None:
    data = bytearray(make_docx(simple))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as package:
        offset = package.getinfo("word/document.xml").header_offset
    directory = data.rfind(b"PK\x01\x02")
    while directory >= 0:
        data[directory + 8] |= 1
        directory = data.rfind(b"PK\x01\x02", 0, directory)
    data[offset + 6] |= 1
    assert code_of(bytes(data), "a.docx") == "DOCUMENT_ENCRYPTED"


BLANK = make_docx(lambda document: None)


def with_body(body: str, **parts: bytes) -> bytes:
    """A Word file with this WordprocessingML in its body; `parts` stand in the folder word, dots as underscores."""
    spaces = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
        'xmlns:v="urn:schemas-microsoft-com:vml"'
    )
    document = f"<w:document {spaces}><w:body>{body}</w:body></w:document>".encode()
    others = {f"word/{name.replace('_', '.')}": part for name, part in parts.items()}
    return with_parts(BLANK, {"word/document.xml": document, **others})


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def cell(text: str) -> str:
    return f"<w:tc><w:p>{run(text)}</w:p></w:tc>"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<w:r><w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t></w:r>", "non-stop"),
        ("<w:r><w:t>sof</w:t><w:softHyphen/><w:t>ten</w:t></w:r>", "soften"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>' + run(" yes"), "☑ yes"),
        ('<w:r><w:sym w:font="Symbol" w:char="F061"></w:sym></w:r>' + run(" particle"), "α particle"),
        (run("\uf0b7 item"), "• item"),
        (
            "<w:r><w:ruby><w:rt><w:r><w:t>かん</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase>"
            "</w:ruby></w:r>" + run("字"),
            "漢字",
        ),
        (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/>'
            '</w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>' + run(" agreed"),
            "[x] agreed",
        ),
        (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/>'
            '<w:listEntry w:val="blue"/></w:ddList></w:ffData></w:fldChar></w:r>'
            '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
            "blue",
        ),
        (run("seen", '<w:rPrChange w:id="1"><w:rPr><w:vanish/></w:rPr></w:rPrChange>'), "seen"),
        (run("seen ") + run("SECRET", "<w:vanish/>") + run("twice", '<w:vanish w:val="0"/>'), "seen twice"),
        (
            "<w:r><w:pict><v:shape><v:textbox><w:txbxContent><w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>"
            "<w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>",
            "boxed",
        ),
        (
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "x" </w:instrText></w:r>'
            '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run("link") + "<w:r><w:fldChar "
            'w:fldCharType="end"/></w:r>',
            "link",
        ),
    ],
)
def test_signs_fields_and_properties_read_as_they_look(inside: str, expected: str) -> None:
    assert texts(blocks_of(with_body(f"<w:p>{inside}</w:p>"), "a.docx")) == [expected]


def test_wrapped_rows_are_kept_and_hidden_and_deleted_ones_left_out() -> None:
    body = (
        f"<w:tbl><w:tr>{cell('a')}{cell('b')}</w:tr>"
        f"<w:sdt><w:sdtPr/><w:sdtContent><w:tr>{cell('c')}{cell('d')}</w:tr></w:sdtContent></w:sdt>"
        f"<w:customXml><w:tr>{cell('e')}<w:sdt><w:sdtContent>{cell('f')}</w:sdtContent></w:sdt></w:tr></w:customXml>"
        f"<w:tr><w:trPr><w:hidden/></w:trPr>{cell('SECRET')}{cell('x')}</w:tr>"
        f'<w:tr><w:trPr><w:del w:id="1"/></w:trPr>{cell("DELETED")}{cell("x")}</w:tr></w:tbl>'
    )
    (table,) = blocks_of(with_body(body), "a.docx")
    assert isinstance(table, Table)
    assert [*filter(None, [table.headers]), *table.rows] == [("a", "b"), ("c", "d"), ("e", "f")]


def test_a_document_of_which_all_is_hidden_is_read_all_the_same() -> None:
    assert texts(blocks_of(with_body(f"<w:p>{run('Nothing else', '<w:vanish/>')}</w:p>"), "a.docx")) == ["Nothing else"]


def test_styles_hide_text_and_their_heirs_do_too() -> None:
    styles = (
        b'<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        b'<w:style w:type="paragraph" w:styleId="G"><w:rPr><w:vanish/></w:rPr></w:style>'
        b'<w:style w:type="paragraph" w:styleId="H"><w:basedOn w:val="G"/></w:style></w:styles>'
    )
    body = f'<w:p><w:pPr><w:pStyle w:val="H"/></w:pPr>{run("SECRET")}</w:p><w:p>{run("seen")}</w:p>'
    assert texts(blocks_of(with_body(body, styles_xml=styles), "a.docx")) == ["seen"]


def test_code_in_a_typewriter_face_keeps_its_lines_and_letters_in_one_stay_prose() -> None:
    face = '<w:rFonts w:ascii="Courier New"/>'
    lines = "".join(f"<w:p>{run(line, face)}</w:p>" for line in ("def f(x):", "    return x + 1;"))
    letter = f"<w:p>{run('Dear Ann, thank you for the ducks.', face)}</w:p>"
    mixed = f"<w:p>{run('Call ')}{run('f(1);', face)}</w:p>"
    assert blocks_of(with_body(lines + mixed + letter), "a.docx") == [
        Code("def f(x):\n    return x + 1;"),
        Paragraph("Call f(1);"),
        Paragraph("Dear Ann, thank you for the ducks."),
    ]


def test_numbers_that_do_not_follow_from_the_position_are_kept() -> None:
    def build(document: Any) -> None:
        document.add_paragraph("first", style="List Number")
        document.add_paragraph("Between.")
        document.add_paragraph("second", style="List Number")

    assert blocks_of(make_docx(build), "a.docx") == [
        ListBlock(True, ("first",)),
        Paragraph("Between."),
        ListBlock(True, ("2. second",)),
    ]


def test_documents_taken_in_stand_where_they_were_put() -> None:
    relations = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        b'<Relationship Id="c1" Target="/word/one.html" Type="x"/><Relationship Id="c2" Target="two.rtf" Type="x"/>'
        b"</Relationships>"
    )
    body = f'<w:p>{run("before")}</w:p><w:altChunk r:id="c1"/><w:p>{run("between")}</w:p><w:altChunk r:id="c2"/>'
    data = with_body(body, one_html="<p>of the web — ä</p>".encode(), two_rtf=rb"{\rtf1 rich\par}")
    data = with_parts(data, {"word/_rels/document.xml.rels": relations})
    assert texts(blocks_of(data, "a.docx")) == ["before", "of the web — ä", "between", "rich"]


def test_a_table_of_one_column_is_a_box_around_its_text() -> None:
    body = f"<w:tbl><w:tr>{cell('one')}</w:tr><w:tr>{cell('two')}</w:tr></w:tbl>"
    assert blocks_of(with_body(body), "a.docx") == [Paragraph("one"), Paragraph("two")]


def test_a_macro_enabled_document_is_read_and_has_its_own_media_type() -> None:
    assert texts(blocks_of(make_docx(simple), "a.docm")) == ["Heading", "Some text."]
    assert mime_type_of("docm") == "application/vnd.ms-word.document.macroEnabled.12"


SAMPLE = make_docx(simple)


@given(st.integers(0, len(SAMPLE) - 1), st.binary(min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_flipped_bytes_never_raise_anything_but_a_coded_error(start: int, damage: bytes) -> None:
    read_or_refuse(SAMPLE[:start] + damage + SAMPLE[start + len(damage) :], "a.docx")


@given(st.text(alphabet="<>/=\"' wprtvanishsdtTr:&;", max_size=60))
@settings(max_examples=100, deadline=None)
def test_broken_markup_never_raises_anything_but_a_coded_error(body: str) -> None:
    read_or_refuse(with_body(f"<w:p><w:r><w:vanish/></w:r></w:p>{body}"), "a.docx")


def test_letter_paper_gives_the_headers_that_are_all_it_has() -> None:
    def build(document: Any) -> None:
        document.sections[0].header.paragraphs[0].text = "Pond Society"
        document.sections[0].footer.paragraphs[0].text = "Reed Street 7"

    assert sorted(texts(blocks_of(make_docx(build), "a.docx"))) == ["Pond Society", "Reed Street 7"]


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc00000030101"
    "00c9fe92ef0000000049454e44ae426082"
)


def test_pictures_are_described_after_their_paragraph_unless_a_program_did_it() -> None:
    def build(document: Any) -> None:
        paragraph = document.add_paragraph("See ")
        for description in ("A red duck", "photo_17.png", "Picture 3"):
            picture = paragraph.add_run().add_picture(io.BytesIO(PIXEL))
            picture._inline.docPr.set("descr", description)

    assert blocks_of(make_docx(build), "a.docx") == [Paragraph("See"), Image("A red duck")]


def test_author_and_date_below_a_title_are_no_titles() -> None:
    def build(document: Any) -> None:
        document.add_paragraph("Report", style="Title")
        for name in ("Author", "Date"):
            style = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
            style.base_style = document.styles["Title"]
            document.add_paragraph(f"The {name}", style=style)

    assert blocks_of(make_docx(build), "a.docx") == [
        Heading(1, "Report"), Paragraph("The Author"), Paragraph("The Date"),
    ]  # fmt: skip
