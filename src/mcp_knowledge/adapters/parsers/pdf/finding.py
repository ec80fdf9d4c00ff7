"""Where the words of a passage stand on a page.

The passage's text was cleaned when the file was read (hyphens joined, columns put in order, tables set with bars), so
it is looked for word by word: runs of the same words in the passage and on the page.
"""

import ctypes
import re
from dataclasses import dataclass
from difflib import SequenceMatcher

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

Rectangle = tuple[float, float, float, float]  # left, top, right, bottom as shares of the page's width and height

_WORD = re.compile(r"\w+")
_MAX_PAGE_WORDS = 6_000
_MAX_PASSAGE_WORDS = 1_500
_MAX_RECTANGLES = 2_000
_RUN_WORDS = 3  # fewer words in a row stand on a page by chance


@dataclass(frozen=True, slots=True)
class _Words:
    """Words in lower case, and where each begins and ends in the text."""

    texts: list[str]
    spans: list[tuple[int, int]]


def passage_rectangles(page: pdfium.PdfPage, passage: str) -> list[Rectangle]:
    """The lines that the passage's words take; none when it is not on the page."""
    textpage = page.get_textpage()
    try:
        on_page = _words(textpage.get_text_range(), _MAX_PAGE_WORDS)
        wanted = _words(passage, _MAX_PASSAGE_WORDS)
        rectangles: list[Rectangle] = []
        for start, count in _runs(wanted.texts, on_page.texts):
            first = _character(textpage, on_page.spans[start][0])
            last = _character(textpage, on_page.spans[start + count - 1][1] - 1)
            rectangles += _lines(page, textpage, first, last + 1 - first)
        return rectangles[:_MAX_RECTANGLES]
    finally:
        textpage.close()


def _words(text: str, most: int) -> _Words:
    texts: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        if len(texts) == most:
            break
        texts.append(match.group().casefold())
        spans.append(match.span())
    return _Words(texts, spans)


def _runs(wanted: list[str], on_page: list[str]) -> list[tuple[int, int]]:
    """(first word on the page, words) of the runs that both have; a passage of fewer words must match as a whole."""
    least = min(_RUN_WORDS, len(wanted))
    blocks = SequenceMatcher(None, wanted, on_page, autojunk=False).get_matching_blocks()
    return [(block.b, block.size) for block in blocks if block.size >= least > 0]


def _character(textpage: pdfium.PdfTextPage, position: int) -> int:
    """pdfium's number of the character at a position of its text, which leaves out what cannot be shown."""
    return int(pdfium_c.FPDFText_GetCharIndexFromTextIndex(textpage, position))


def _lines(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage, first: int, count: int) -> list[Rectangle]:
    rectangles = []
    for index in range(min(textpage.count_rects(first, count), _MAX_RECTANGLES)):
        left, bottom, right, top = textpage.get_rect(index)
        corners = (_on_page(page, left, top), _on_page(page, right, bottom))
        xs, ys = sorted(x for x, _ in corners), sorted(y for _, y in corners)
        if 0 <= xs[0] < xs[1] <= 1 and 0 <= ys[0] < ys[1] <= 1:
            rectangles.append((xs[0], ys[0], xs[1], ys[1]))
    return rectangles


_GRID = 100_000  # pixels of the imaginary picture in which places are told


def _on_page(page: pdfium.PdfPage, x: float, y: float) -> tuple[float, float]:
    """A place of the page's own coordinates, which may be turned or cropped, as shares of what is seen."""
    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(page, 0, 0, _GRID, _GRID, 0, x, y, across, down)
    return across.value / _GRID, down.value / _GRID
