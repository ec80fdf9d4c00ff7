from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.downloads import Download, Formats, charset, filename_of, media_type
from mcp_knowledge.domain.urls import read_url

OFFICE = "application/vnd.openxmlformats-officedocument"
OPEN = "application/vnd.oasis.opendocument"
TYPES = {
    **{"pdf": "application/pdf", "rtf": "application/rtf", "eml": "message/rfc822", "epub": "application/epub+zip"},
    **{
        "docx": f"{OFFICE}.wordprocessingml.document",
        "xlsx": f"{OFFICE}.spreadsheetml.sheet",
        "xml": "application/xml",
    },
    **{
        "doc": "application/msword",
        "xls": "application/vnd.ms-excel",
        "odt": f"{OPEN}.text",
    },
    **{"ods": f"{OPEN}.spreadsheet", "html": "text/html", "htm": "text/html", "xml": "application/xml"},
    **{"txt": "text/plain", "log": "text/plain", "md": "text/markdown", "markdown": "text/markdown"},
    **{"csv": "text/csv", "tsv": "text/tab-separated-values", "json": "application/json", "jsonl": "application/jsonl"},
}
ACCEPTED = frozenset(TYPES) | {"zip"}
FORMATS = Formats(ACCEPTED, TYPES.__getitem__)
PAGE = b"<!DOCTYPE html><html><head><title>The  title &amp; more/less</title></head><body><p>x</p>"
PDF = b"%PDF-1.7\n%\xe2\xe3"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def package(name: bytes) -> bytes:
    return b"PK\x03\x04" + b"\x14\0" * 13 + name + b"\0\1\2"


DOCX, ARCHIVE = package(b"[Content_Types].xml") + package(b"word/document.xml"), package(b"folder/a.txt")
EPUB = package(b"mimetypeapplication/epub+zip")
ODS = package(b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet")


def named(path: str, content_type: str, head: bytes, disposition: bytes = b"") -> str | None:
    return filename_of(Download(read_url(f"https://files.example{path}"), content_type, disposition, head), FORMATS)


CASES = [
    # what name and type agree on
    ("/report.pdf", "application/pdf", PDF, "report.pdf"),
    ("/a/notes.txt", "text/plain; charset=utf-8", b"text", "notes.txt"),
    ("/index.htm", "text/html", PAGE, "index.htm"),
    ("/data.csv", "text/csv", b"a,b\n", "data.csv"),
    ("/x.docx", "application/octet-stream", DOCX, "x.docx"),
    ("/x.zip", "application/zip", ARCHIVE, "x.zip"),
    # the type tells what the name does not
    ("/download?id=3", "application/pdf", PDF, "download.pdf"),
    ("/v1.2", "text/plain", b"text", "v1.2.txt"),
    ("/docs/intro/", "text/html", PAGE, "intro.html"),
    ("/abs/2301.00001", "text/html; charset=UTF-8", PAGE, "2301.00001.html"),
    ("/feed", "application/rss+xml", b"<?xml version='1.0'?><rss/>", "feed.xml"),
    ("/api/items", "application/vnd.api+json", b"{}", "items.json"),
    ("/old", "application/vnd.ms-excel", OLE, "old.xls"),
    ("/book", "application/epub+zip", EPUB, "book.epub"),
    ("/mail", "message/rfc822", b"From: a@example.com\n\n", "mail.eml"),
    ("/main.py", "text/x-python", b"import os\n", "main.py.txt"),
    # the type says more than the name: a page around a file
    ("/blob/README.md", "text/html", PAGE, "README.md.html"),
    ("/paper.pdf", "text/html", PAGE, "paper.pdf.html"),
    ("/page.php", "text/html", PAGE, "page.php.html"),
    # the name says more than the type
    ("/README.md", "text/plain", b"# Title\n", "README.md"),
    ("/README.md", "text/html", b"# Title\n", "README.md"),
    ("/README.md", "application/octet-stream", b"# Title\n", "README.md"),
    ("/page.html", "text/plain", PAGE, "page.html"),
    ("/table.tsv", "text/csv", b"a\tb\n", "table.tsv"),
    ("/lines.jsonl", "application/json", b"{}\n{}\n", "lines.jsonl"),
    ("/table.csv", "application/vnd.ms-excel", b"a;b\n", "table.csv"),
    ("/x.odt", "application/zip", package(b"mimetypeapplication/vnd.oasis.opendocument.text"), "x.odt"),
    # the bytes say more than both
    ("/report.txt", "text/plain", PDF, "report.txt.pdf"),
    ("/report", "text/html", PDF, "report.pdf"),
    ("/x", "application/zip", DOCX, "x.docx"),
    ("/x", "", ODS, "x.ods"),
    ("/x", "application/octet-stream", EPUB, "x.epub"),
    ("/x", "application/octet-stream", ARCHIVE, "x.zip"),
    ("/x", "text/plain", b"{\\rtf1 x}", "x.rtf"),
    ("/x.pdf", "", b"\n\nHTTP junk\n" + PDF, "x.pdf"),
    ("/x", "", PAGE, "x.html"),
    ("/x", "application/octet-stream", PAGE, "x.html"),
    ("/x", "", b"plain words\n", "x.txt"),
    ("/x", "nonsense", b"plain words\n", "x.txt"),
    ("/export", "application/vnd.ms-excel", b"<html><table><tr><td>1</td></tr></table>", "export.xls"),
    ("/export.xls", "", b"<html><table><tr><td>1</td></tr></table>", "export.xls"),
    ("/export.xls", "text/html", PAGE, "export.xls.html"),
    # nothing that is read
    ("/photo.png", "image/png", PNG, None),
    ("/photo.txt", "image/png", PNG, None),
    ("/x", "application/octet-stream", PNG, None),
    ("/x", "", b"\x7fELF\2\1\1\0", None),
    ("/x", "application/octet-stream", b"plain words\n", None),
    ("/x", "application/octet-stream", OLE, None),
    ("/x.pdf", "application/pdf", PAGE, None),
    ("/x.pdf", "application/octet-stream", b"no PDF", None),
    ("/x.docx", "application/octet-stream", b"no package", None),
    ("/x", "application/msword", PAGE, None),
    ("/film.mp4", "video/mp4", b"\0\0\0\x18ftyp", None),
]


@pytest.mark.parametrize(("path", "content_type", "head", "expected"), CASES)
def test_the_name_tells_what_a_file_is(path: str, content_type: str, head: bytes, expected: str | None) -> None:
    assert named(path, content_type, head) == expected


@pytest.mark.parametrize(
    ("disposition", "expected"),
    [
        (b'attachment; filename="Report 2026.pdf"', "Report 2026.pdf"),
        (b"attachment; filename=report.pdf", "report.pdf"),
        (b"inline; filename=\"x.pdf\"; filename*=UTF-8''%E2%82%AC%20rates.pdf", "€ rates.pdf"),
        ('attachment; filename="Übersicht.pdf"'.encode(), "Übersicht.pdf"),
        (b'attachment; filename="../../etc/passwd.pdf"', "passwd.pdf"),
        (b'attachment; filename="C:\\Temp\\report.pdf"', "report.pdf"),
        (b"attachment; filename*=UTF-8''..%2F..%2Freport.pdf", "report.pdf"),
        (b'attachment; filename="report"', "report.pdf"),
        (b'attachment; filename="report.exe"', "report.exe.pdf"),
        (b'attachment; filename="\x00\x01"', "file.pdf"),
        (b'attachment; filename=""', "file.pdf"),
        (b"attachment", "file.pdf"),
        (b"\xff\xfe;;;=", "file.pdf"),
    ],
)
def test_the_name_in_the_header_goes_before_the_path(disposition: bytes, expected: str) -> None:
    assert named("/file.pdf", "application/pdf", PDF, disposition) == expected


@pytest.mark.parametrize(
    ("path", "head", "expected"),
    [
        ("/", PAGE, "The title & more-less.html"),
        ("/?q=1", PAGE, "The title & more-less.html"),
        ("//", b"<html><title> </title>", "files.example.html"),
        ("/", b"<html><body>", "files.example.html"),
        ("/", b"<html><title>" + b"long " * 100 + b"</title>", "long " * 23 + "long.html"),
        ("/a%2Fb%00.html", PAGE, "a-b.html"),
        ("/%2e%2e", PAGE, "The title & more-less.html"),
        ("/caf%C3%A9", PAGE, "café.html"),
        ("/caf%E9", PAGE, "caf\ufffd.html"),
    ],
)
def test_a_page_without_a_name_is_called_after_its_title_or_its_host(path: str, head: bytes, expected: str) -> None:
    assert named(path, "text/html", head) == expected


def test_a_header_is_taken_apart() -> None:
    assert media_type(' Text/HTML ; charset="UTF-8"') == "text/html"
    assert media_type("nonsense") == media_type("") == media_type("a/b<script>") == ""
    assert charset('text/html; charset="koi8-r"') == "koi8-r"
    assert charset("text/html;Charset=UTF-8;x=y") == "UTF-8"
    assert charset("text/html") is None


@given(st.text(max_size=40), st.text(max_size=40), st.binary(max_size=60), st.binary(max_size=60))
def test_whatever_a_server_sends_gives_a_usable_name_or_none(
    path: str, content_type: str, disposition: bytes, head: bytes
) -> None:
    name = named("/" + quote(path, errors="replace"), content_type, head, disposition)
    if name is not None:
        assert name.rpartition(".")[2].lower() in ACCEPTED
        assert "/" not in name
        assert "\0" not in name
