from typing import Any

from docx_files import make_docx
from parser_support import blocks_of, read

from mcp_knowledge.domain.blocks import Heading, Paragraph

PROSE = "A text about ducks that is long enough to be one."


def document_of(*lines: str, heading: str = "") -> bytes:
    """A Word file with these paragraphs; those that begin with a star are bold."""

    def build(document: Any) -> None:
        if heading:
            document.add_heading(heading, 1)
        for line in lines:
            document.add_paragraph().add_run(line.removeprefix("*")).bold = line.startswith("*")

    return make_docx(build)


def test_bold_lines_are_the_headings_of_a_document_without_any() -> None:
    document = read(
        document_of("*Ponds", PROSE, PROSE, "*Water and reed", PROSE, PROSE, "*Food", PROSE, PROSE), "a.docx"
    )
    assert document.title == "Ponds"
    assert [block for block in document.blocks if isinstance(block, Heading)] == [
        Heading(1, "Ponds"),
        Heading(2, "Water and reed"),
        Heading(2, "Food"),
    ]


def test_bold_lines_beside_real_headings_are_text() -> None:
    blocks = blocks_of(document_of("*Ponds", PROSE, PROSE, "*Water", PROSE, PROSE, heading="Ducks"), "a.docx")
    assert [block for block in blocks if isinstance(block, Heading)] == [Heading(1, "Ducks")]


def test_sentences_labels_and_documents_set_in_bold_have_no_headings() -> None:
    for lines in (
        ("*This is important.", PROSE, PROSE, "*Name:", PROSE, PROSE, "*and more", PROSE),
        ("*Ann", "*Bob", "*Cyd", "*Dan", PROSE, "*Eve", PROSE),
        ("*Ponds", PROSE),
    ):
        assert not any(isinstance(block, Heading) for block in blocks_of(document_of(*lines), "a.docx"))
        assert all(type(block) is Paragraph for block in blocks_of(document_of(*lines), "a.docx"))
