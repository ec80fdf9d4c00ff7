"""The shapes of a PowerPoint slide to blocks: text boxes, groups, pictures, and what `slides_graphics` reads."""

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.pictures import picture_blocks
from mcp_knowledge.adapters.parsers.slides.document import MAX_DEPTH, Line, Slide, text_blocks
from mcp_knowledge.adapters.parsers.slides.graphics import graphic_blocks
from mcp_knowledge.adapters.parsers.slides.layout import Item, fill, ordered
from mcp_knowledge.adapters.parsers.slides.styles import FURNITURE, TITLES, Template, place_type, placeholder
from mcp_knowledge.adapters.parsers.slides.text import body_text, paragraph_text
from mcp_knowledge.adapters.parsers.slides.xml import Package, alternatives, child, is_on, number
from mcp_knowledge.domain.blocks import Block


class Drawing:
    """Reads the shapes of one slide into it."""

    def __init__(self, package: Package, name: str, template: Template, slide: Slide, area: float = 0.0) -> None:
        self._package = package
        self._name = name
        self._template = template
        self._slide = slide
        self._area = area
        self._from_right = False

    def read(self, root: Element) -> None:
        """Add the slide's title and blocks."""
        shapes = child(root, "cSld", "spTree")
        if shapes is not None:
            self._from_right = sum(1 if is_on(item.get("rtl")) else -1 for item in shapes.iter("pPr")) > 0
            fill(self._slide, list(self._items(shapes, 0)), self._area, self._from_right)

    def background(self, root: Element) -> list[Block]:
        """What a layout or master shows on its slides: its shapes that are no placeholders."""
        shapes = child(root, "cSld", "spTree")
        own = [] if shapes is None else [shape for shape in shapes if placeholder(shape) is None]
        return [block for item in self._items(own, 0) for block in item.blocks]

    def _items(self, shapes: Iterable[Element], depth: int) -> Iterator[Item]:
        for shape in shapes:
            if depth > MAX_DEPTH:
                yield Item(None, text_blocks(Line(paragraph_text(item)) for item in shape.iter("p")))
            elif shape.tag == "AlternateContent":
                yield from self._alternative(shape, depth)
            elif not _is_hidden(shape) and place_type(placeholder(shape)) not in FURNITURE:
                box, blocks = self._template.box(shape), self._shape(shape, depth)
                yield Item(box, blocks, _points(shape), _is_picture(shape))

    def _alternative(self, shape: Element, depth: int) -> Iterator[Item]:
        for choice in alternatives(shape):
            items = list(self._items(choice, depth + 1))
            # The fallback of a chart tells that the program is too old for it.
            if any(item.blocks for item in items) or choice.find("graphicFrame") is not None:
                yield from items
                return

    def _shape(self, shape: Element, depth: int) -> list[Block]:
        match shape.tag:
            case "sp":
                return self._text_box(shape)
            case "grpSp":
                return ordered(list(self._items(shape, depth + 1)), self._from_right)
            case "graphicFrame":
                graphics = graphic_blocks(self._package, self._name, shape)
                return [*picture_blocks(_description(shape)), *graphics]
            case "pic" | "cxnSp":
                return picture_blocks(_description(shape))
        return []

    def _text_box(self, shape: Element) -> list[Block]:
        lines = list(self._lines(shape))
        if place_type(placeholder(shape)) in TITLES and lines:
            self._slide.add_title(" ".join(line.text for line in lines))
            return []
        return text_blocks(lines) or picture_blocks(_description(shape))

    def _lines(self, shape: Element) -> Iterator[Line]:
        ancestors = self._template.ancestors(shape)
        for paragraph in shape.iterfind("txBody/p"):
            if text := paragraph_text(paragraph).strip():
                properties = child(paragraph, "pPr")
                level = number(properties.get("lvl")) if properties is not None else 0
                level = min(max(level, 0), MAX_DEPTH)
                yield Line(text, level, self._template.marker(ancestors, paragraph, level))


def _is_picture(shape: Element) -> bool:
    """Whether a picture fills the shape; what a film shows before it runs is none."""
    if shape.tag == "pic":
        return next(shape.iter("videoFile"), None) is None
    return child(shape, "spPr", "blipFill") is not None


def _points(shape: Element) -> float:
    """The size of a text box's largest letters, when the text itself states it."""
    if shape.tag != "sp":
        return 0.0
    sizes = (number(item.get("sz")) for item in shape.iterfind("txBody/p/r/rPr"))
    return max(sizes, default=0) / 100


def furniture_texts(root: Element) -> Iterator[str]:
    """A slide's footer, header and date."""
    for shape in root.iter("sp"):
        if place_type(placeholder(shape)) in ("ftr", "hdr", "dt"):
            yield body_text(child(shape, "txBody"))


def shape_texts(root: Element) -> Iterator[str]:
    """The text of each shape of a notes page, without what belongs to every page."""
    for shape in root.iter("sp"):
        if place_type(placeholder(shape)) not in FURNITURE and not _is_hidden(shape):
            yield body_text(child(shape, "txBody"))


def _properties(shape: Element) -> Element | None:
    """The `p:cNvPr` of any kind of shape."""
    return next((child(item, "cNvPr") for item in shape if item.tag.startswith("nv")), None)


def _is_hidden(shape: Element) -> bool:
    properties = _properties(shape)
    return properties is not None and is_on(properties.get("hidden"))


def _description(shape: Element) -> str:
    properties = _properties(shape)
    return "" if properties is None else properties.get("descr") or properties.get("title") or ""
