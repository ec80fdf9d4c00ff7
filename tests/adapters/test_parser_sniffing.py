import io
import zipfile

import pytest
from docx_files import make_docx
from hypothesis import given
from hypothesis import strategies as st
from parser_support import LIMITS, code_of, read
from pdf_files import make_pdf, text_page

from mcp_knowledge.adapters.parsers.registry import REGISTRY, accepted_extensions, mime_type_of
from mcp_knowledge.adapters.parsers.sniffing import detect
from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.errors import KnowledgeError

PDF = make_pdf([text_page("A page with enough text to be read.")])
DOCX = make_docx(lambda document: document.add_paragraph("Text"))
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def format_of(data: bytes, filename: str) -> str:
    return detect(Source(data, filename, Limits(**LIMITS)), REGISTRY).name


def package(*names: str, mimetype: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        if mimetype:
            file.writestr("mimetype", mimetype)
        for name in names:
            file.writestr(name, b"<x/>")
    return buffer.getvalue()


def test_bytes_decide_over_the_name() -> None:
    assert format_of(PDF, "notes.txt") == "pdf"
    assert format_of(b"\n" + PDF, "notes.md") == "pdf"
    assert format_of(b"junk before\n" + PDF, "a.pdf") == "pdf"
    assert format_of(DOCX, "a.pdf") == "docx"
    assert read(PDF, "notes.txt").metadata == {"pages": 1}


def test_text_that_only_mentions_a_header_stays_text() -> None:
    assert format_of(b"A file starts with %PDF-1.7 in its first line", "a.txt") == "text"
    assert format_of(b"PK is a zip's mark", "a.txt") == "text"


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (b"MZ\x90\x00" + bytes(300), "a.pdf", "DOCUMENT_MALFORMED"),
        (b"\x7fELF" + bytes(300), "a.docx", "DOCUMENT_MALFORMED"),
        (b"just text", "a.pdf", "DOCUMENT_MALFORMED"),
        (b"just text", "a.docx", "DOCUMENT_MALFORMED"),
        (b"", "a.pdf", "DOCUMENT_MALFORMED"),
        (package("readme.txt"), "a.docx", "DOCUMENT_MALFORMED"),
        (b"PK\x03\x04 no zip at all", "a.docx", "DOCUMENT_MALFORMED"),
        (package("xl/workbook.xml"), "a.docx", "DOCUMENT_MALFORMED"),
        (package("ppt/presentation.xml"), "a.docx", "DOCUMENT_MALFORMED"),
        (package(mimetype=b"application/epub+zip"), "a.docx", "DOCUMENT_UNSUPPORTED_FORMAT"),
        (b"text", "a.xyz", "DOCUMENT_UNSUPPORTED_FORMAT"),
        (b"text", "no-extension", "DOCUMENT_UNSUPPORTED_FORMAT"),
        (OLE + "WordDocument".encode("utf-16-le"), "a.docx", "DOCUMENT_MALFORMED"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "a.docx", "DOCUMENT_ENCRYPTED"),
        (OLE + "ENCRYPTEDPACKAGE".encode("utf-16-le"), "a.txt", "DOCUMENT_ENCRYPTED"),
        (OLE, "a.docx", "DOCUMENT_MALFORMED"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, name: str, code: str) -> None:
    assert code_of(data, name) == code


def test_extensions_are_told_in_any_case_and_with_their_media_type() -> None:
    assert {"pdf", "docx", "md", "txt", "html", "csv", "json", "tsv", "jsonl", "log", "rst"} <= accepted_extensions()
    assert format_of(b"# x", "README.MD") == "markdown"
    assert mime_type_of("md") == "text/markdown"
    assert mime_type_of(".TSV") == "text/tab-separated-values"


@given(st.sampled_from([PDF, DOCX, OLE + "EncryptedPackage".encode("utf-16-le")]), st.data())
def test_damaged_bytes_never_raise_anything_but_a_coded_error(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    damage = draw.draw(st.binary(max_size=40))
    name = draw.draw(st.sampled_from(["a.pdf", "a.docx", "a.txt"]))
    try:
        format_of(data[:start] + damage + data[start + len(damage) :], name)
    except KnowledgeError as error:
        assert error.code.startswith("DOCUMENT_")
