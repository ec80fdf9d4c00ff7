"""What a shape of a PowerPoint slide takes over from its layout and master: its place, and the bullets of its text.

The order of inheritance is that of ECMA-376 part 1, 19.3.1.36 (placeholders) and 21.1.2.4 (text list styles).
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.slides.document import Marker
from mcp_knowledge.adapters.parsers.slides.order import Box
from mcp_knowledge.adapters.parsers.slides.xml import child, number

FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})
TITLES = frozenset({"title", "ctrTitle"})
_MARKERS: dict[str, Marker | None] = {"buNone": None, "buChar": "bullet", "buBlip": "bullet", "buAutoNum": "number"}
_MAX_LEVEL = 8  # levels are 0 to 8


def placeholder(shape: Element) -> Element | None:
    """The `p:ph` of a shape: it stands in a place that the layout provides."""
    for properties in shape:
        if properties.tag.startswith("nv"):
            return child(properties, "nvPr", "ph")
    return None


def place_type(place: Element | None) -> str:
    """The type of a placeholder; empty for other shapes."""
    return "" if place is None else place.get("type", "obj")


class Template:
    """A slide's layout and master; either may be missing."""

    def __init__(self, layout: Element | None, master: Element | None) -> None:
        self._layout = _Places(layout)
        self._master = _Places(master)
        self._text_styles = child(master, "txStyles")

    def ancestors(self, shape: Element) -> list[Element]:
        """The shape itself, then the placeholders it takes over from, nearest first."""
        place = placeholder(shape)
        found = [shape]
        for places in (self._layout, self._master) if place is not None else ():
            if place is not None and (source := places.source(place, by_index=places is self._layout)) is not None:
                place = source[0]
                found.append(source[1])
        return found

    def box(self, shape: Element) -> Box | None:
        """Where a shape stands, in EMU; None when nothing says so."""
        for source in self.ancestors(shape):
            for properties in ("spPr", "grpSpPr", None):
                frame = child(source, properties, "xfrm") if properties else child(source, "xfrm")
                if (box := _frame_box(frame)) is not None:
                    return box
        return None

    def marker(self, ancestors: list[Element], paragraph: Element, level: int) -> Marker | None:
        """The bullet or number before a paragraph of a shape, given what the shape takes over from."""
        for style in self._list_styles(ancestors, paragraph, min(level, _MAX_LEVEL) + 1):
            for item in style:
                if item.tag in _MARKERS:
                    return _MARKERS[item.tag]
        return None

    def _list_styles(self, ancestors: list[Element], paragraph: Element, level: int) -> Iterator[Element]:
        place = placeholder(ancestors[0])
        family = "other" if place is None else {"title": "title", "body": "body"}.get(_family(place), "other")
        styles = [child(paragraph, "pPr")]
        styles += [child(source, "txBody", "lstStyle", f"lvl{level}pPr") for source in ancestors]
        styles.append(child(self._text_styles, f"{family}Style", f"lvl{level}pPr"))
        yield from (style for style in styles if style is not None)


class _Places:
    """Placeholders of a layout or master with their shapes, by index and by family; the first of each counts."""

    def __init__(self, root: Element | None) -> None:
        self._by_index: dict[str, tuple[Element, Element]] = {}
        self._by_family: dict[str, tuple[Element, Element]] = {}
        shapes = child(root, "cSld", "spTree")
        for shape in () if shapes is None else shapes:
            if (place := placeholder(shape)) is not None:
                self._by_index.setdefault(place.get("idx", "0"), (place, shape))
                self._by_family.setdefault(_family(place), (place, shape))

    def source(self, place: Element, by_index: bool) -> tuple[Element, Element] | None:
        """The placeholder that another one takes over from."""
        same = self._by_index.get(place.get("idx", "0")) if by_index else None
        return same or self._by_family.get(_family(place))


def _family(place: Element) -> str:
    """Titles take over from the title, everything with content from the body, the rest from its like."""
    kind = place_type(place)
    if kind in TITLES:
        return "title"
    return kind if kind in FURNITURE else "body"


def _frame_box(frame: Element | None) -> Box | None:
    start, size = child(frame, "off"), child(frame, "ext")
    if start is None or size is None:
        return None
    return Box(number(start.get("x")), number(start.get("y")), number(size.get("cx")), number(size.get("cy")))
