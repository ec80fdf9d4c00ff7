"""Diagrams (SmartArt): the texts of the data model as an outline (ECMA-376 part 1, 21.4.3)."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.slides.document import MAX_DEPTH, Line
from mcp_knowledge.adapters.parsers.slides.text import body_text
from mcp_knowledge.adapters.parsers.slides.xml import child, children, number

_CONTENT = frozenset({"node", "asst", "doc"})  # the others are the layout's own points


def diagram_lines(root: Element) -> Iterator[Line]:
    """The texts of a diagram as a bulleted outline; what hangs on nothing comes last."""
    points = {
        point.get("modelId", ""): body_text(child(point, "t"))
        for point in children(root, "ptLst", "pt")
        if point.get("type", "node") in _CONTENT
    }
    below: dict[str, list[tuple[int, str]]] = {}
    has_parent = set()
    for link in children(root, "cxnLst", "cxn"):
        target = link.get("destId", "")
        if link.get("type", "parOf") == "parOf" and target in points:
            below.setdefault(link.get("srcId", ""), []).append((number(link.get("srcOrd")), target))
            has_parent.add(target)
    waiting = [(0, name) for name in reversed(points)]
    waiting.extend((0, name) for name in reversed(points) if name not in has_parent)
    seen = set()
    while waiting:
        level, name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if text := points[name]:
            yield Line(text, level, "bullet")
        deeper = min(level + bool(text), MAX_DEPTH)
        waiting.extend((deeper, target) for _, target in sorted(below.get(name, ()), reverse=True))
