import io
import zipfile
from dataclasses import replace

import pytest
from docx_files import make_docx
from hypothesis import given
from hypothesis import strategies as st
from parser_support import LIMITS, code_of, read
from pdf_files import make_pdf, text_page

from mcp_knowledge.adapters.parsers.registry import REGISTRY, accepted_extensions, mime_type_of
from mcp_knowledge.adapters.parsers.sniffing import detect
from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.domain.blocks import NOWHERE, Heading, Paragraph
from mcp_knowledge.errors import KnowledgeError

PDF = make_pdf([text_page("A page with enough text to be read.")])
DOCX = make_docx(lambda document: document.add_paragraph("Text"))
DOCX_PAGE = make_docx(lambda document: document.add_paragraph("A page about ponds."))
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


PAGE = b"<!DOCTYPE html><html><head><title>Ponds</title></head><body><p>A page about ponds.</p></body></html>"
ARCHIVE = (
    b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\n"
    b"Content-Type: text/html; charset=utf-8\r\n\r\n<p>A page about ponds.</p>\r\n--b--\r\n"
)
FLAT_PACKAGE = b"""<?xml version="1.0"?><?mso-application progid="Word.Document"?>
<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage"><pkg:part pkg:name="/word/document.xml"
pkg:contentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"><pkg:xmlData>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>
<w:t>A page about ponds.</w:t></w:r></w:p></w:body></w:document></pkg:xmlData></pkg:part></pkg:package>"""
WORD_2003 = b"""<?xml version="1.0"?><?mso-application progid="Word.Document"?>
<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml" xmlns:o="urn:schemas-microsoft-com:o"
xmlns:wx="http://schemas.microsoft.com/office/word/2003/auxHint"><o:DocumentProperties><o:Title>Ponds</o:Title>
<o:Author>Ann</o:Author></o:DocumentProperties><w:styles><w:style w:type="paragraph" w:styleId="H"><w:name
w:val="heading 1"/></w:style></w:styles><w:body><wx:sect><w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>Water</w:t>
</w:r></w:p><w:p><w:r><w:t>A page about ponds.</w:t></w:r></w:p></wx:sect></w:body></w:wordDocument>"""
FLAT_ODT = b"""<?xml version="1.0"?><office:document office:mimetype="application/vnd.oasis.opendocument.text"
xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
<office:body><office:text><text:p>A page about ponds.</text:p></office:text></office:body></office:document>"""


@pytest.mark.parametrize("data", [PAGE, ARCHIVE, FLAT_PACKAGE, WORD_2003, FLAT_ODT, b"A page about ponds.", DOCX_PAGE])
def test_what_offices_save_under_the_name_of_a_word_file_is_read_as_what_it_is(data: bytes) -> None:
    assert Paragraph("A page about ponds.") in [
        replace(block, location=NOWHERE) for block in read(data, "a.doc").blocks
    ]


def test_word_2003_files_have_headings_and_properties() -> None:
    document = read(WORD_2003, "a.xml")
    assert (document.title, document.metadata["author"]) == ("Ponds", "Ann")
    assert document.blocks[0] == Heading(1, "Water")


def test_a_web_page_named_like_a_modern_file_or_a_pdf_is_read_as_a_web_page() -> None:
    assert format_of(PAGE, "a.docx") == format_of(PAGE, "a.pdf") == "html"
