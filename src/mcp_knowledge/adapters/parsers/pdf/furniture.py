"""Running headers, footers and page numbers of a PDF: what stands at the same place page after page is no content."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mcp_knowledge.adapters.parsers.pdf.layout import LayoutPage, Piece

_BAND_SHARE = 0.16  # of the page's height, at its top and bottom
_NUMBER_BAND_SHARE = 0.12  # a lone number further inside may be content
_SAME_PLACE_POINTS = 4.0
_MAX_CHARS = 200
_LARGER = 1.15
_MIN_PAGES = 3
_AROUND_NUMBERS = " -–—|·•[]()./"
_NUMBER = re.compile(r"\d+")
_BARE_NUMBER = re.compile(
    r"[\W_]*(?:page|seite|página|pagina|pág|pag|p|стр)?[\W_]*(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|/|von|de|di|из)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A short piece in a page's top or bottom band; `place` is its distance from that edge in points."""

    page: int
    index: int
    text: str
    numbers: tuple[int, ...]
    top: bool
    place: float
    at_edge: bool
    counts: bool  # it may hold a page number: at one of its ends, and it is not what heads the page


def without_furniture(pages: Mapping[int, LayoutPage]) -> dict[int, LayoutPage]:
    """The pages without page numbers and without what repeats in their top and bottom bands.

    A repeated line stays where it first stands: it may be the only place that names the document.
    """
    lines = [line for page in pages.values() for line in _band_lines(page)]
    dropped = {(line.page, line.index) for line in lines if _is_page_number(line)} | _repeated(lines, len(pages))
    if sum(len(page.pieces) for page in pages.values()) == len(dropped):
        return dict(pages)  # nothing else is there: then this is the content
    result = {}
    for number, page in pages.items():
        kept = tuple(piece for index, piece in enumerate(page.pieces) if (number, index) not in dropped)
        result[number] = replace(page, pieces=kept)
    return result


def _band_lines(page: LayoutPage) -> list[_Line]:
    lines = []
    band = page.height * _BAND_SHARE
    for index, piece in enumerate(page.pieces):
        box = piece.box
        if box is None or piece.kind == "table" or len(piece.text) > _MAX_CHARS:
            continue
        above, below = box.y + box.height, page.height - box.y
        if min(above, below) <= band:
            lines.append(_line(page, index, above <= band, min(above, below)))
    return lines


def _line(page: LayoutPage, index: int, top: bool, place: float) -> _Line:
    piece = page.pieces[index]
    text = " ".join(f"{piece.marker} {piece.text}".casefold().split())
    numbers = tuple(int(number) for number in _NUMBER.findall(text) if len(number) < 9)
    at_edge = place <= page.height * _NUMBER_BAND_SHARE
    mask = _NUMBER.sub("#", text)
    ends_in_number = bool(numbers) and (
        mask.strip(_AROUND_NUMBERS)[:1] == "#" or mask.strip(_AROUND_NUMBERS)[-1:] == "#"
    )
    counts = ends_in_number and (piece.kind != "heading" or _is_below_another(piece, page))
    return _Line(page.number, index, mask, numbers, top, place, at_edge, counts)


def _is_below_another(heading: Piece, page: LayoutPage) -> bool:
    """Whether the page has a heading in clearly larger type."""
    return any(piece.line_height > _LARGER * heading.line_height > 0 for piece in page.pieces)


def _is_page_number(line: _Line) -> bool:
    text = line.text.replace("#", "1")
    return line.at_edge and _BARE_NUMBER.fullmatch(text) is not None and any(map(str.isalnum, text))


def _repeated(lines: list[_Line], page_count: int) -> set[tuple[int, int]]:
    """Lines alike on enough pages, at the same height, whose numbers stay the same or count along with the pages."""
    groups: defaultdict[tuple[str, bool, tuple[int, ...]], list[_Line]] = defaultdict(list)
    for line in lines:
        fixed = groups[(line.text, line.top, line.numbers)]
        fixed.append(line)
        if line.counts:
            for end in {line.numbers[0], line.numbers[-1]}:
                groups[(line.text + "#", line.top, (end - line.page,))].append(line)
    dropped: set[tuple[int, int]] = set()
    for group in groups.values():
        group.sort(key=lambda line: line.page)
        alike = [line for line in group if abs(line.place - group[-1].place) <= _SAME_PLACE_POINTS]
        if len({line.page for line in alike}) >= min(_MIN_PAGES, max(page_count, 2)):
            dropped.update((line.page, line.index) for line in alike if line is not group[0])
    return dropped
