"""What a shape of a PowerPoint slide takes over from its layout and master: its place, and the bullets of its text.

The order of inheritance is that of ECMA-376 part 1, 19.3.1.36 (placeholders) and 21.1.2.4 (text list styles).
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.slides import Marker
from mcp_knowledge.adapters.parsers.slides_order import Box
from mcp_knowledge.adapters.parsers.slides_xml import child, number

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
        self._layout = _places(layout)
        self._master = _places(master)
        self._text_styles = child(master, "txStyles")

    def ancestors(self, shape: Element) -> list[Element]:
        """The shape itself, then the placeholders it takes over from, nearest first."""
        place = placeholder(shape)
        if place is None:
            return [shape]
        found = [shape]
        layout = next((item for item in self._layout if item[0].get("idx", "0") == place.get("idx", "0")), None)
        layout = layout or self._by_type(self._layout, place)
        if layout is not None:
            found.append(layout[1])
            place = layout[0]
        master = self._by_type(self._master, place)
        return [*found, master[1]] if master is not None else found

    @staticmethod
    def _by_type(places: list[tuple[Element, Element]], place: Element) -> tuple[Element, Element] | None:
        wanted = _family(place)
        return next((item for item in places if _family(item[0]) == wanted), None)

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


def _places(root: Element | None) -> list[tuple[Element, Element]]:
    """Placeholders of a layout or master with their shapes."""
    shapes = child(root, "cSld", "spTree")
    found = [(placeholder(shape), shape) for shape in (() if shapes is None else shapes)]
    return [(place, shape) for place, shape in found if place is not None]


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
