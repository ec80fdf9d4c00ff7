"""Paragraphs of DrawingML, the text of everything on a PowerPoint slide."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.slides.document import MAX_DEPTH
from mcp_knowledge.adapters.parsers.slides.math import latex
from mcp_knowledge.adapters.parsers.slides.xml import alternatives


def paragraph_text(paragraph: Element) -> str:
    """A paragraph's text; line breaks within it are line ends, formulas are LaTeX."""
    return "".join(_pieces(paragraph, 0))


def _pieces(element: Element, depth: int) -> Iterator[str]:
    for item in element:
        match item.tag:
            case "r":
                yield item.findtext("t") or ""
            case "br":
                yield "\n"
            case "fld" if item.get("type", "").lower() != "slidenum":
                yield item.findtext("t") or ""
            case "m":
                yield latex(item)
            case "AlternateContent" if depth < MAX_DEPTH:
                yield next((text for part in alternatives(item) if (text := "".join(_pieces(part, depth + 1)))), "")


def body_text(body: Element | None) -> str:
    """All paragraphs of a text body, one a line."""
    paragraphs = () if body is None else body.iterfind("p")
    return "\n".join(text for item in paragraphs if (text := paragraph_text(item).strip()))
