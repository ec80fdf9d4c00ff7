import io
import zipfile
from typing import Any

import pytest
from docx_files import element, make_docx, part_of, with_parts
from parser_support import blocks_of, code_of, read

from mcp_knowledge.domain.blocks import Block, Heading, ListBlock, Paragraph, Table


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
