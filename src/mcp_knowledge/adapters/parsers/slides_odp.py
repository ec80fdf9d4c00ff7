"""OpenDocument presentations (odp): slides in their order, each with its notes and comments."""

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.packages import read_parts
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.slides import Comment, Slide, check_slide_count, presentation
from mcp_knowledge.adapters.parsers.slides_odp_shapes import Shapes
from mcp_knowledge.adapters.parsers.slides_odp_text import list_styles, paragraph_text
from mcp_knowledge.adapters.parsers.slides_xml import Package, children
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError


def parse(source: Source) -> NormalizedDocument:
    """The presentation's document. Raises KnowledgeError with a document failure code."""
    parts = read_parts(source.data, (".xml",), source.limits)
    if b"encryption-data" in parts.get("META-INF/manifest.xml", b""):
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    package = Package(parts)
    content = package.tree("content.xml")
    pages = list(children(content, "body", "presentation", "page"))
    check_slide_count(len(pages), source)
    reader = _Reader(package, content)
    document = presentation(source, map(reader.slide, range(1, len(pages) + 1), pages), {})
    if document.blocks:
        return document
    return presentation(source, reader.backgrounds(pages), {})


class _Reader:
    def __init__(self, package: Package, content: Element) -> None:
        self._styles = package.readable("styles.xml")
        roots = [root for root in (self._styles, content) if root is not None]
        self._shapes = Shapes(package, list_styles(roots))
        self._hidden = {
            style.get("name", "")
            for root in roots
            for style in root.iter("style")
            if any(item.get("visibility") == "hidden" for item in children(style, "drawing-page-properties"))
        }

    def slide(self, number: int, page: Element) -> Slide:
        """What a page holds."""
        slide = Slide(number, is_hidden=page.get("style-name", "") in self._hidden)
        if not slide.is_hidden:
            self._shapes.read(page, slide)
            for notes in page.iterfind("notes"):
                read = Slide(number)
                self._shapes.read(notes, read)
                slide.notes.extend(plain_text(block) for block in read.shown_blocks())
            slide.comments.extend(_comments(page))
        return slide

    def backgrounds(self, pages: Iterable[Element]) -> Iterator[Slide]:
        """For a file whose own slides have no text: what their masters show, at the first slide of each."""
        masters = {} if self._styles is None else {item.get("name"): item for item in self._styles.iter("master-page")}
        for number, page in enumerate(pages, 1):
            slide = Slide(number)
            master = masters.pop(page.get("master-page-name"), None)
            if master is not None:
                own = [shape for shape in master if shape.get("class") is None]
                self._shapes.read(own, slide)
            yield slide


def _comments(page: Element) -> Iterator[Comment]:
    for item in page.iterfind("annotation"):
        text = "\n".join(paragraph_text(paragraph) for paragraph in item.iter("p"))
        yield Comment((item.findtext("creator") or "").strip(), text)
