"""The shapes of an OpenDocument slide to blocks: text boxes, groups, tables, charts, pictures."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.pictures import picture_blocks
from mcp_knowledge.adapters.parsers.slides.document import MAX_DEPTH, Line, Slide, text_blocks
from mcp_knowledge.adapters.parsers.slides.layout import Item, fill, ordered
from mcp_knowledge.adapters.parsers.slides.odp_text import ListStyles, paragraph_text, read_table, text_lines
from mcp_knowledge.adapters.parsers.slides.order import Box, around
from mcp_knowledge.adapters.parsers.slides.xml import Package, child
from mcp_knowledge.domain.blocks import Block, Paragraph

_FURNITURE = frozenset({"footer", "header", "date-time", "page-number", "page", "handout"})
_FURNITURE_NAME = re.compile(r"(?:Header|Footer|Date|Slide Number) Placeholder \d+")  # PowerPoint's, in converted files
_GROUPS = frozenset({"g", "a"})
_SHAPES = frozenset(
    {"frame", "custom-shape", "rect", "ellipse", "circle", "caption", "line", "connector", "polyline", "polygon"}
    | {"path", "regular-polygon", "measure"}
)
_DOCUMENTS = frozenset({"document", "document-content", "math"})
_POINTS = {"cm": 28.3465, "mm": 2.83465, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}
_LENGTH = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)(cm|mm|in|pt|pc|px)")
_MOVED = re.compile(r"translate\s*\(\s*([^\s,()]+)[\s,]+([^\s,()]+)\s*\)")


class Shapes:
    """Reads shapes of one presentation."""

    def __init__(self, package: Package, lists: ListStyles) -> None:
        self._package = package
        self._lists = lists

    def read(self, page: Iterable[Element], slide: Slide, area: float = 0.0) -> None:
        """Add a page's title and blocks to the slide. `area`: the page's, in square points."""
        fill(slide, list(self._items(page, slide, 0)), area)

    def _items(self, shapes: Iterable[Element], slide: Slide, depth: int) -> Iterator[Item]:
        for shape in shapes:
            if _is_furniture(shape):
                continue
            if shape.tag in _GROUPS and depth >= MAX_DEPTH:
                yield Item(None, text_blocks(Line(paragraph_text(item)) for item in shape.iter("p")))
            elif shape.tag in _GROUPS:
                items = list(self._items(shape, slide, depth + 1))
                yield Item(around(item.box for item in items), ordered(items))
            elif shape.tag in _SHAPES:
                is_picture = shape.find("image") is not None and shape.find("object") is None
                yield Item(_box(shape), self._shape(shape, slide), is_picture=is_picture)

    def _shape(self, shape: Element, slide: Slide) -> list[Block]:
        described = picture_blocks(" ".join(shape.findtext(tag) or "" for tag in ("title", "desc")))
        if shape.tag != "frame":
            return text_blocks(text_lines(shape, self._lists)) or described
        for content in shape:
            if content.tag == "text-box":
                return self._text_box(content, slide, shape.get("class") == "title") or described
            if content.tag == "table":
                return [*described, read_table(content, self._lists)]
            if content.tag == "object" and (blocks := self._object(content)):
                return [*described, *blocks]
        return described

    def _text_box(self, box: Element, slide: Slide, is_title: bool) -> list[Block]:
        lines = [line for line in text_lines(box, self._lists) if line.text.strip()]
        if is_title and lines:
            slide.add_title(" ".join(line.text for line in lines))
            return []
        return text_blocks(lines)

    def _object(self, item: Element) -> list[Block]:
        """An embedded chart, sheet or formula."""
        folder = posixpath.normpath(item.get("href", "").removeprefix("./"))
        inline = next((part for part in item if part.tag in _DOCUMENTS), None)
        root = inline if inline is not None else self._package.readable(f"{folder}/content.xml")
        if root is None:
            return []
        formula = root.findtext(".//annotation") if root.tag in ("math", "document-content") else None
        chart = child(root, "body", "chart", "chart")
        blocks: list[Block] = []
        for name in ("title", "subtitle"):
            title = child(chart, name)
            lines = () if title is None else text_lines(title, self._lists)
            blocks.extend(Paragraph(line.text) for line in lines)
        table = next(root.iter("table"), None)
        if table is not None:
            found = read_table(table, self._lists)
            blocks.append(replace(found, rows=tuple(tuple(map(_known, row)) for row in found.rows)))
        return [Paragraph(formula)] if formula and not blocks else blocks


def _known(value: str) -> str:
    """A value of a chart; LibreOffice writes a missing one as no number."""
    return "" if value == "NaN" else value


def _box(shape: Element) -> Box | None:
    """Where a shape stands, in points."""
    left, top = shape.get("x"), shape.get("y")
    if left is None and (moved := _MOVED.search(shape.get("transform", ""))):
        left, top = moved[1], moved[2]
    sides = [points(text) for text in (left, top, shape.get("width"), shape.get("height"))]
    known = [side for side in sides if side is not None]
    return Box(*known) if len(known) == len(sides) else None


def points(length: str | None) -> float | None:
    """A length of an OpenDocument file in points."""
    found = _LENGTH.fullmatch(length or "")
    return float(found[1]) * _POINTS[found[2]] if found else None


def _is_furniture(shape: Element) -> bool:
    """Whether a shape is a prompt, or what all slides have: footer, date, number."""
    if shape.get("class") in _FURNITURE or shape.get("placeholder") == "true":
        return True
    return shape.get("class") is None and _FURNITURE_NAME.fullmatch(shape.get("name", "")) is not None
