"""What pdfium says of a page: its text, and whether the page can only be read by OCR."""

import re
import unicodedata
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

_FEW_WORD_CHARACTERS = 20
_MAX_GARBAGE_SHARE = 0.20
_LARGE_IMAGE_SHARE = 0.30
_SMALL_IMAGE_SHARE = 0.03
_MANY_PATHS = 200  # text drawn as outlines
_MAX_OBJECTS = 20_000
_MANY_OBJECTS = 1_000
_WORD = re.compile(r"\w")
_HYPHEN_MARK = "\ufffe"  # pdfium's sign for a line end with the hyphen before it


@dataclass(frozen=True, slots=True)
class PageText:
    """A page (numbers from 1) as pdfium reads it; `paths` counts the lines and shapes of a page with very many."""

    number: int
    text: str
    blank: bool
    garbled: bool
    needs_ocr: bool
    paths: int = 0


def read_page(document: pdfium.PdfDocument, index: int) -> PageText:
    """Read a page (`index` from 0) and judge it. A page that pdfium cannot load counts as blank."""
    try:
        page = document[index]
    except pdfium.PdfiumError:
        return PageText(index + 1, "", blank=True, garbled=False, needs_ocr=False)
    try:
        textpage = page.get_textpage()
        raw = textpage.get_text_range()
        textpage.close()
        return _judged(index + 1, page, raw)
    except pdfium.PdfiumError:
        return PageText(index + 1, "", blank=True, garbled=False, needs_ocr=False)
    finally:
        page.close()


def word_characters(text: str) -> int:
    """How many letters and digits a text has."""
    return len(_WORD.findall(text))


def _judged(number: int, page: pdfium.PdfPage, raw: str) -> PageText:
    """The verdict needs pictures and paths only where text is scarce or garbled."""
    garbled = _garbage_share(raw) > _MAX_GARBAGE_SHARE
    text = raw.replace("\r\n", "\n").replace("\r", "\n").replace(_HYPHEN_MARK, "-\n")
    if word_characters(raw) >= _FEW_WORD_CHARACTERS and not garbled:
        return PageText(number, text, blank=False, garbled=False, needs_ocr=False, paths=_many_paths(page))
    image_share, paths = _pictures(page)
    no_text = not raw.strip()
    picture = image_share >= _LARGE_IMAGE_SHARE or (no_text and image_share >= _SMALL_IMAGE_SHARE)
    needs_ocr = garbled or picture or (no_text and paths > _MANY_PATHS)
    return PageText(number, text, no_text and not needs_ocr, garbled, needs_ocr, _many_paths(page))


def _garbage_share(text: str) -> float:
    """The share of control, private-use and replacement characters among all that are not blank."""
    visible = [c for c in text if not c.isspace() and c != _HYPHEN_MARK]
    if not visible:
        return 0.0
    garbage = sum(c == "\ufffd" or unicodedata.category(c) in ("Cc", "Co", "Cn", "Cs") for c in visible)
    return garbage / len(visible)


def _many_paths(page: pdfium.PdfPage) -> int:
    """How many paths a page draws, or 0 when it has too few objects for that to matter."""
    count = pdfium_c.FPDFPage_CountObjects(page)
    if count < _MANY_OBJECTS:
        return 0
    kinds = (pdfium_c.FPDFPageObj_GetType(pdfium_c.FPDFPage_GetObject(page, index)) for index in range(count))
    return sum(kind == pdfium_c.FPDF_PAGEOBJ_PATH for kind in kinds)


def _pictures(page: pdfium.PdfPage) -> tuple[float, int]:
    """The share of the page's area that pictures cover (a scan may be cut into strips), and how many paths it draws."""
    width, height = page.get_size()
    area = max(width * height, 1.0)
    covered, paths = 0.0, 0
    for number, item in enumerate(page.get_objects([pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_PATH])):
        if number >= _MAX_OBJECTS:
            break
        if item.type == pdfium_c.FPDF_PAGEOBJ_PATH:
            paths += 1
            continue
        left, bottom, right, top = item.get_bounds()
        covered += abs(right - left) * abs(top - bottom) / area
    return covered, paths
