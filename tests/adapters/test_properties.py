from datetime import datetime

import pytest

from mcp_knowledge.adapters.parsers.properties import good_title, stated_properties, titled
from mcp_knowledge.domain.blocks import Block, Heading, Paragraph


@pytest.mark.parametrize(
    "junk",
    [
        "Microsoft Word - Dokument1", "Microsoft Word - report_v3.doc", "Dokument1", "Document 2", "untitled",
        "Untitled document", "Unbenanntes Dokument", "PowerPoint Presentation", "PowerPoint-Präsentation", "Slide 1",
        "[Document title]", "<Title>", "C:\\Users\\ann\\report", "report.docx", "  ", "-", "Word Document", "plan",
    ],
)  # fmt: skip
def test_titles_that_programs_make_up_are_none(junk: str) -> None:
    assert good_title(junk, "plan.docx") is None


@pytest.mark.parametrize(
    "title", ["Ponds", "Document retention policy", "Title IX rules", "New ponds", "1984", "Word 2003"]
)
def test_titles_that_people_gave_stay(title: str) -> None:
    assert good_title(title, "a.docx") == title


def test_without_a_stated_title_it_is_the_first_heading_that_names_something() -> None:
    blocks: list[Block] = [Paragraph("x"), Heading(1, "Table of Contents"), Heading(1, "***"), Heading(2, "Ponds")]
    assert titled(blocks, {"title": "Dokument1", "author": "Ann"}, "a.docx").title == "Ponds"
    assert titled(blocks[:2], {}, "a.docx").title is None


def test_properties_are_stated_in_one_form() -> None:
    raw: dict[str, str | int | datetime | None] = {
        "author": "  Ann \0 B ",
        "subject": " ",
        "created": datetime(2025, 1, 2, 3, 4, 5),
        "modified": "2025-01-02T03:04:05.678Z",
        "pages": "12",
        "slides": -1,
    }
    assert stated_properties(raw) == {
        "author": "Ann B",
        "created": "2025-01-02T03:04:05Z",
        "modified": "2025-01-02T03:04:05Z",
        "pages": 12,
    }
    assert stated_properties({"pages": 0, "title": None}) == {}
