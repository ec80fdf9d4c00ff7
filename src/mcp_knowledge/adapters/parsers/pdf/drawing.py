"""A page of a PDF as a picture, with the words of a passage marked."""

import math
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium

from mcp_knowledge.adapters.parsers.pdf.finding import Rectangle, passage_rectangles
from mcp_knowledge.adapters.parsers.pdf.reader import open_pdf
from mcp_knowledge.adapters.parsers.png import Pixels, png
from mcp_knowledge.errors import KnowledgeError

MAX_PIXELS = 6_000_000  # of a picture; 18 MB while it is drawn
_MAX_SIDE = 12_000  # pixels, of a page as thin as a thread
_MARK = np.array((255, 226, 120), np.uint16)  # the paper's colour under a marked word
_MARK_MARGIN = 0.08  # of a line's height, on each side


def draw_page(path: Path, number: int, width: int, passage: str | None) -> tuple[bytes, int]:
    """A page as PNG, and how many pages there are.

    Args:
        number: of the page, from 1.
        width: of the picture in pixels; fewer where the page is so tall that it would have too many.
        passage: a text whose words are marked where they stand on the page.

    Raises:
        KnowledgeError: PAGE_NOT_FOUND, DOCUMENT_ENCRYPTED, DOCUMENT_MALFORMED.
    """
    with open_pdf(path) as document:
        total = len(document)
        if not 1 <= number <= total:
            raise KnowledgeError("PAGE_NOT_FOUND")
        try:
            page = document[number - 1]
        except pdfium.PdfiumError:
            raise KnowledgeError("DOCUMENT_MALFORMED") from None
        try:
            pixels = _draw(page, width)
            if passage:
                _mark(pixels, page, passage_rectangles(page, passage))
        finally:
            page.close()
    return png(pixels), total


def _draw(page: pdfium.PdfPage, width: int) -> Pixels:
    page_width, page_height = page.get_size()
    if not (page_width > 0 and page_height > 0 and math.isfinite(page_width * page_height)):
        raise KnowledgeError("DOCUMENT_MALFORMED")
    most = math.sqrt(MAX_PIXELS / (page_width * page_height))
    scale = min(width / page_width, most, _MAX_SIDE / max(page_width, page_height))
    bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=True)
    pixels: Pixels = np.array(bitmap.to_numpy()[:, :, :3])
    bitmap.close()
    return pixels


def _mark(pixels: Pixels, page: pdfium.PdfPage, rectangles: list[Rectangle]) -> None:
    """Colour the paper below the words: what is black stays black."""
    height, width, _ = pixels.shape
    marked = np.zeros((height, width), np.bool_)
    for left, top, right, bottom in rectangles:
        margin = _MARK_MARGIN * (bottom - top)
        rows = slice(max(0, math.floor((top - margin) * height)), max(0, math.ceil((bottom + margin) * height)))
        columns = slice(max(0, math.floor(left * width) - 1), max(0, math.ceil(right * width) + 1))
        marked[rows, columns] = True
    pixels[marked] = (pixels[marked].astype(np.uint16) * _MARK // 255).astype(np.uint8)
