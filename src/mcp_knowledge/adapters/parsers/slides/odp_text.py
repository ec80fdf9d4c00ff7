"""Text, lists and tables of OpenDocument presentations."""

from collections.abc import Iterable, Iterator, Mapping
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.grids import MAX_REPEATED_CHARS
from mcp_knowledge.adapters.parsers.slides.document import MAX_DEPTH, Line, Marker
from mcp_knowledge.adapters.parsers.slides.xml import number
from mcp_knowledge.adapters.parsers.source import MAX_CELLS
from mcp_knowledge.domain.blocks import Table
from mcp_knowledge.errors import KnowledgeError

# Fields that say the same on every slide, what is not shown, and what is read at another place.
_LEFT_OUT = frozenset(
    {"page-number", "page-count", "footer", "header", "date-time", "hidden-text", "annotation", "ruby-text", "frame"}
)
_MAX_BLANKS = 100  # a run of blanks is written as their number

ListStyles = Mapping[str, Mapping[int, Marker | None]]


def list_styles(roots: Iterable[Element]) -> dict[str, dict[int, Marker | None]]:
    """What stands before the items of each list style, by its name and level from 1."""
    styles: dict[str, dict[int, Marker | None]] = {}
    for root in roots:
        for style in root.iter("list-style"):
            styles[style.get("name", "")] = {number(level.get("level")): _marker(level) for level in style}
    return styles


def _marker(level: Element) -> Marker | None:
    if level.tag == "list-level-style-number":
        return "number" if level.get("num-format") else None
    return "bullet" if level.get("bullet-char", "•").strip() else None


def text_lines(container: Element, styles: ListStyles) -> Iterator[Line]:
    """The paragraphs of a text box, shape or cell."""
    for item in container:
        if item.tag in ("p", "h"):
            yield Line(paragraph_text(item))
        elif item.tag == "list":
            yield from _list_lines(item, styles, item.get("style-name", ""), 1)


def _list_lines(element: Element, styles: ListStyles, style: str, level: int) -> Iterator[Line]:
    if level > MAX_DEPTH:
        yield Line("".join(element.itertext()), level, "bullet")
        return
    marker = styles.get(style, {}).get(level, "bullet")
    for item in element:
        begun = item.tag == "list-header"
        for part in item:
            if part.tag == "list":
                yield from _list_lines(part, styles, part.get("style-name") or style, level + 1)
            elif part.tag in ("p", "h"):
                yield Line(paragraph_text(part), level - 1, None if begun else marker)
                begun = True


def paragraph_text(paragraph: Element) -> str:
    """A paragraph's text; white space counts once, blanks, tabs and line breaks are elements."""
    return "".join(_pieces(paragraph, 0))


def _pieces(element: Element, depth: int) -> Iterator[str]:
    yield _collapsed(element.text)
    for item in element:
        match item.tag:
            case "s":
                yield " " * min(max(number(item.get("c"), 1), 1), _MAX_BLANKS)
            case "tab":
                yield "\t"
            case "line-break":
                yield "\n"
            case tag if tag not in _LEFT_OUT:
                yield from _pieces(item, depth + 1) if depth < MAX_DEPTH else item.itertext()
        yield _collapsed(item.tail)


def _collapsed(text: str | None) -> str:
    if not text or not any(blank in text for blank in ("\n", "\t", "  ", "\r")):
        return text or ""
    return f"{' ' * text[0].isspace()}{' '.join(text.split())}{' ' * (text[-1].isspace() and not text.isspace())}"


def read_table(table: Element, styles: ListStyles) -> Table:
    """A table; each cell stands in its own column, since covered cells are stated too."""
    rows: list[tuple[str, ...]] = []
    head = 0
    cells = 0
    for row, is_head in _rows(table, False, 0):
        texts = _row_texts(row, rows[-1] if rows else (), styles)
        repeats = max(number(row.get("number-rows-repeated"), 1), 1) if any(texts) else 1
        cells += repeats * len(texts)
        if cells > MAX_CELLS:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        head += is_head
        rows.extend([texts] * repeats)
    if not head and table.get("use-first-row-styles") == "true":
        head = 1
    head = head if head < len(rows) else 0
    headers = tuple(" / ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[:head], strict=False))
    return Table(headers or None, tuple(rows[head:]))


def _rows(parent: Element, is_head: bool, depth: int) -> Iterator[tuple[Element, bool]]:
    for item in parent:
        if item.tag == "table-row":
            yield item, is_head
        elif item.tag in ("table-header-rows", "table-rows", "table-row-group") and depth < MAX_DEPTH:
            yield from _rows(item, is_head or item.tag == "table-header-rows", depth + 1)


def _row_texts(row: Element, above: tuple[str, ...], styles: ListStyles) -> tuple[str, ...]:
    texts: list[str] = []
    to_right = 0  # columns that the last cell still covers
    for cell in row:
        repeats = min(max(number(cell.get("number-columns-repeated"), 1), 1), MAX_CELLS + 1)
        if cell.tag == "table-cell":
            text = "\n".join(line.text.strip() for line in text_lines(cell, styles) if line.text.strip())
            to_right = number(cell.get("number-columns-spanned"), 1) - 1
            texts.extend([text] * repeats)
        elif cell.tag == "covered-table-cell":
            for _ in range(repeats):
                column = len(texts)
                source = texts[-1] if to_right > 0 and texts else above[column] if column < len(above) else ""
                texts.append(source if len(source) <= MAX_REPEATED_CHARS else "")
                to_right -= 1
        if len(texts) > MAX_CELLS:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)
