"""OpenDocument presentations (odp): slides in their order, each with its notes and comments."""

from collections.abc import Iterable, Iterator, Sequence
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.opendocument import open_document_properties, read_open_document
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.slides import Comment, Line, Slide, check_slide_count, first_with_text, text_blocks
from mcp_knowledge.adapters.parsers.slides_odp_shapes import Shapes
from mcp_knowledge.adapters.parsers.slides_odp_text import list_styles, paragraph_text
from mcp_knowledge.adapters.parsers.slides_xml import Package, children
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError


def parse(source: Source) -> NormalizedDocument:
    """The presentation's document. Raises KnowledgeError with a document failure code."""
    parts = read_open_document(source)
    package = Package(parts, source.limits.max_archive_uncompressed_bytes)
    content = package.readable("content.xml")
    is_damaged = content is None
    if content is None and (content := package.begun("content.xml")) is None:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    pages = list(children(content, "body", "presentation", "page"))
    if is_damaged and not pages:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    check_slide_count(len(pages), source)
    reader = _Reader(package, content, is_damaged)
    return first_with_text(
        source,
        open_document_properties(parts),
        lambda: reader.slides(pages),
        lambda: reader.slides(pages, keep_hidden=True),
        lambda: reader.backgrounds(pages),
    )


class _Reader:
    def __init__(self, package: Package, content: Element, is_damaged: bool) -> None:
        self._is_damaged = is_damaged
        self._styles = package.readable("styles.xml")
        roots = [root for root in (self._styles, content) if root is not None]
        self._footers = [
            "".join(item.itertext()) for name in ("header-decl", "footer-decl") for item in content.iter(name)
        ]
        self._shapes = Shapes(package, list_styles(roots))
        self._hidden = {
            style.get("name", "")
            for root in roots
            for style in root.iter("style")
            if any(item.get("visibility") == "hidden" for item in children(style, "drawing-page-properties"))
        }

    def slides(self, pages: Sequence[Element], keep_hidden: bool = False) -> Iterator[Slide]:
        """The slides one by one."""
        for number, page in enumerate(pages, 1):
            slide = Slide(number, is_hidden=page.get("style-name", "") in self._hidden and not keep_hidden)
            slide.is_damaged = self._is_damaged and page is pages[-1]
            yield self._slide(slide, page)

    def _slide(self, slide: Slide, page: Element) -> Slide:
        if not slide.is_hidden:
            self._shapes.read(page, slide)
            for notes in page.iterfind("notes"):
                read = Slide(slide.number)
                self._shapes.read(notes, read)
                slide.notes.extend(plain_text(block) for block in read.shown_blocks())
            slide.comments.extend(_comments(page))
        return slide

    def backgrounds(self, pages: Iterable[Element]) -> Iterator[Slide]:
        """For a file whose own slides have no text: what their masters show, at the first slide of each; footers."""
        masters = {} if self._styles is None else {item.get("name"): item for item in self._styles.iter("master-page")}
        for number, page in enumerate(pages, 1):
            slide = Slide(number)
            if number == 1:
                slide.blocks.extend(text_blocks(map(Line, self._footers)))
            master = masters.pop(page.get("master-page-name"), None)
            if master is not None:
                own = [shape for shape in master if shape.get("class") is None]
                self._shapes.read(own, slide)
            yield slide


def _comments(page: Element) -> Iterator[Comment]:
    for item in page.iterfind("annotation"):
        text = "\n".join(paragraph_text(paragraph) for paragraph in item.iter("p"))
        yield Comment((item.findtext("creator") or "").strip(), text)
