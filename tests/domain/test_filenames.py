import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.filenames import MAX_FILENAME_CHARS, extension_of, safe_name, title_of


@pytest.mark.parametrize(
    ("given_name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("C:\\Users\\me\\résumé.docx", "résumé.docx"),
        ("a\r\nSet-Cookie: x.txt", "aSet-Cookie: x.txt"),
        ("tab\tand\0nul.txt", "tabandnul.txt"),
        ("photo\u202egpj.txt", "photogpj.txt"),
        ("  spaced.txt ", "spaced.txt"),
        ("..", "document"),
        ("", "document"),
        ("///", "document"),
        ("\ud800.txt", ".txt"),
        ("文書.txt", "文書.txt"),
    ],
)
def test_names_lose_folders_and_control_characters(given_name: str, safe: str) -> None:
    assert safe_name(given_name) == safe


def test_a_long_name_keeps_its_extension() -> None:
    name = safe_name("x" * 400 + ".docx")
    assert len(name) == MAX_FILENAME_CHARS
    assert name.endswith("x.docx")


@given(st.text())
def test_every_name_becomes_safe_and_stays_so(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe) <= MAX_FILENAME_CHARS
    assert not {"/", "\\", "\0", "\r", "\n"} & set(safe)
    assert safe.encode()
    assert safe_name(safe) == safe


@pytest.mark.parametrize(
    ("name", "extension", "title"),
    [
        ("Report.PDF", "pdf", "Report"),
        ("archive.tar.gz", "gz", "archive.tar"),
        ("README", "", "README"),
        (".profile", "", ".profile"),
        ("ends.", "", "ends."),
    ],
)
def test_extension_and_first_title_come_from_the_name(name: str, extension: str, title: str) -> None:
    assert extension_of(name) == extension
    assert title_of(name) == title
