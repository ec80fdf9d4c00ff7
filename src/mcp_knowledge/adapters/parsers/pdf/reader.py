"""PDF: pdfium opens the file and judges each page, liteparse finds headings, lists, tables and the reading order.

Where liteparse loses or scrambles the text of a page, pdfium's plain text of that page is taken instead.
"""

import ctypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from mcp_knowledge.adapters.parsers.pdf.extras import extra_blocks
from mcp_knowledge.adapters.parsers.pdf.fidelity import is_faithful
from mcp_knowledge.adapters.parsers.pdf.furniture import without_furniture
from mcp_knowledge.adapters.parsers.pdf.layout import LayoutPage, layout_pages, page_blocks, text_blocks
from mcp_knowledge.adapters.parsers.pdf.pages import PageText, read_page
from mcp_knowledge.adapters.parsers.pdf.text import join_broken_blocks
from mcp_knowledge.adapters.parsers.properties import titled
from mcp_knowledge.adapters.parsers.source import Source, TextBudget
from mcp_knowledge.domain.blocks import Block, NormalizedDocument, PageBreak, SourceLocation
from mcp_knowledge.errors import KnowledgeError

_ENCRYPT_ENTRY = re.compile(rb"/Encrypt\s*(?:\d+\s+\d+\s+R|<<)")
_DATE = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:(Z)|([+-]\d{2})'?(\d{2})?)?")
_MAX_LANGUAGE_BYTES = 256
_MAX_PATH_PAIRS = 200_000_000  # up to 6 s when all lines are long ones


def parse(source: Source) -> NormalizedDocument:
    """Blocks of all readable pages, each with its page; a page break stands between pages."""
    with open_pdf(source.data) as document:
        if len(document) > source.limits.max_document_pages:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        pages = _read_pages(document, source.limits.max_extract_bytes)
        properties = _properties(document)
        language = _language(document)
    filled = [page for page in pages if not page.blank]
    if filled and all(page.needs_ocr for page in filled):
        raise KnowledgeError("DOCUMENT_NEEDS_OCR")
    layouts = layout_pages(source.data, _laid_out(pages))
    if not filled and not any(layout.fields for layout in layouts.values()):
        raise KnowledgeError("DOCUMENT_EMPTY")
    blocks = _blocks(without_furniture(layouts), pages)
    metadata: dict[str, Any] = {"pages": len(pages)}
    if unread := [page.number for page in pages if page.needs_ocr]:
        metadata["pagesNeedingOcr"] = unread
    if language:
        metadata["language"] = language
    return titled(blocks, {**metadata, **properties}, source.filename)


def open_pdf(source: bytes | Path) -> pdfium.PdfDocument:
    """The opened document. A password that only restricts what may be done with the text does not matter.

    Raises:
        KnowledgeError: DOCUMENT_ENCRYPTED, DOCUMENT_MALFORMED.
    """
    try:
        return pdfium.PdfDocument(source)
    except pdfium.PdfiumError as error:
        code = error.err_code
    data = source if isinstance(source, bytes) else source.read_bytes()
    if code in (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY) or _ENCRYPT_ENTRY.search(data):
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    raise KnowledgeError("DOCUMENT_MALFORMED")


def _read_pages(document: pdfium.PdfDocument, max_bytes: int) -> list[PageText]:
    budget = TextBudget(max_bytes)
    pages = []
    for index in range(len(document)):
        page = read_page(document, index)
        budget.take(page.text)
        pages.append(page)
    return pages


def _laid_out(pages: list[PageText]) -> list[int] | None:
    """The numbers of the pages whose layout can be found in bounded time; None for all of them.

    liteparse compares the lines of a page with each other: drawings and maps have tens of thousands.
    """
    numbers, left = [], _MAX_PATH_PAIRS
    for page in pages:
        if page.paths**2 <= left:
            left -= page.paths**2
            numbers.append(page.number)
    return None if len(numbers) == len(pages) else numbers


def _blocks(layouts: Mapping[int, LayoutPage], pages: list[PageText]) -> list[Block]:
    vocabulary = _vocabulary(pages)
    blocks: list[Block] = []
    for page in pages:
        if page.garbled:
            continue
        location = SourceLocation(page_start=page.number, page_end=page.number)
        found = _page_blocks(layouts.get(page.number), page, location, vocabulary)
        if found and blocks:
            blocks.append(PageBreak(SourceLocation(page_start=page.number - 1, page_end=page.number - 1)))
        blocks.extend(found)
    return join_broken_blocks(blocks, vocabulary)


def _page_blocks(
    layout: LayoutPage | None, page: PageText, location: SourceLocation, vocabulary: frozenset[str]
) -> list[Block]:
    if layout is None:
        return text_blocks(page.text, location, vocabulary)
    faithful = is_faithful(layout, page.text)
    blocks = page_blocks(layout, location, vocabulary) if faithful else text_blocks(page.text, location, vocabulary)
    return blocks + extra_blocks(layout.fields, layout.notes, page.text, location)


def _vocabulary(pages: list[PageText]) -> frozenset[str]:
    """Every word of the document in lower case, hyphenated ones whole: it tells which hyphens at line ends are real."""
    return frozenset(word.lower() for page in pages for word in re.findall(r"\w+(?:-\w+)*", page.text))


def _properties(document: pdfium.PdfDocument) -> dict[str, Any]:
    info = document.get_metadata_dict(skip_empty=True)
    properties: dict[str, Any] = {}
    for key, name in {"Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords"}.items():
        if value := info.get(key, "").replace("\0", "").strip():
            properties[name] = value
    for key, name in {"CreationDate": "created", "ModDate": "modified"}.items():
        if value := _iso_date(info.get(key, "")):
            properties[name] = value
    return properties


def _iso_date(text: str) -> str | None:
    """A PDF date (ISO 32000-1, section 7.9.4) in ISO 8601, as exact as it is given."""
    match = _DATE.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, utc, offset_hours, offset_minutes = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    if hour is None:
        return date
    zone = "Z" if utc else f"{offset_hours}:{offset_minutes or '00'}" if offset_hours else ""
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"


def _language(document: pdfium.PdfDocument) -> str | None:
    buffer = (ctypes.c_ushort * (_MAX_LANGUAGE_BYTES // 2))()
    size = pdfium_c.FPDFCatalog_GetLanguage(document, buffer, _MAX_LANGUAGE_BYTES)
    if not 2 < size <= _MAX_LANGUAGE_BYTES:
        return None
    return bytes(buffer)[: size - 2].decode("utf-16-le", "ignore").strip() or None
