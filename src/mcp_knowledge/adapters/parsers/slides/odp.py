"""OpenDocument presentations (odp): slides in their order, each with its notes and comments."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.slides.document import (
    Comment,
    Line,
    Slide,
    check_slide_count,
    first_with_text,
    text_blocks,
)
from mcp_knowledge.adapters.parsers.slides.odp_shapes import Shapes, points
from mcp_knowledge.adapters.parsers.slides.odp_text import list_styles, paragraph_text
from mcp_knowledge.adapters.parsers.slides.xml import Package, begun_tree, children, tree
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.word.odt import open_document_properties, read_open_document
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_ROOT_TAG = re.compile(rb"<((?:[\w.-]+:)?document-content)\b[^>]*>")
_PAGE_TAGS = re.compile(rb"<draw:page[\s>].*?(?:</draw:page>|(?=<draw:page[\s>])|\Z)", re.DOTALL)


def parse(source: Source) -> NormalizedDocument:
    """The presentation's document. Raises KnowledgeError with a document failure code."""
    parts = read_open_document(source)
    package = Package(parts, source.limits.max_archive_uncompressed_bytes)
    content = package.readable("content.xml")
    pages = [_Page(page) for page in children(content, "body", "presentation", "page")]
    if content is None:
        content = package.begun("content.xml")
        pages = list(_rescued(parts.get("content.xml", b"")))
        if content is None or not pages:
            raise KnowledgeError("DOCUMENT_MALFORMED")
    check_slide_count(len(pages), source)
    reader = _Reader(package, content)
    return first_with_text(
        source,
        open_document_properties(parts),
        lambda: reader.slides(pages),
        lambda: reader.slides(pages, keep_hidden=True),
        lambda: reader.backgrounds(pages),
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """A slide's element, and whether the file has lost a part of it."""

    element: Element
    is_damaged: bool = False


def _rescued(xml: bytes) -> Iterator[_Page]:
    """The slides of a damaged part, each read by itself, so that one does not lose those behind it."""
    root = _ROOT_TAG.search(xml)
    for found in _PAGE_TAGS.finditer(xml) if root else ():
        piece = b"%s%s</%s>" % (root[0], found[0], root[1]) if root else b""
        is_damaged = False
        try:
            whole: Element | None = tree(piece)
        except KnowledgeError:
            is_damaged, whole = True, begun_tree(piece)
        page = whole.find("page") if whole is not None else None
        yield _Page(Element("page") if page is None else page, is_damaged)


class _Reader:
    def __init__(self, package: Package, content: Element) -> None:
        self._styles = package.readable("styles.xml")
        roots = [root for root in (self._styles, content) if root is not None]
        self._footers = [
            "".join(item.itertext()) for name in ("header-decl", "footer-decl") for item in content.iter(name)
        ]
        self._shapes = Shapes(package, list_styles(roots))
        self._areas = _areas(self._styles)
        self._hidden = {
            style.get("name", "")
            for root in roots
            for style in root.iter("style")
            if any(item.get("visibility") == "hidden" for item in children(style, "drawing-page-properties"))
        }

    def slides(self, pages: Iterable[_Page], keep_hidden: bool = False) -> Iterator[Slide]:
        """The slides one by one."""
        for number, page in enumerate(pages, 1):
            is_hidden = page.element.get("style-name", "") in self._hidden and not keep_hidden
            yield self._slide(Slide(number, is_hidden=is_hidden, is_damaged=page.is_damaged), page.element)

    def _slide(self, slide: Slide, page: Element) -> Slide:
        if not slide.is_hidden:
            self._shapes.read(page, slide, self._areas.get(page.get("master-page-name"), 0.0))
            for notes in page.iterfind("notes"):
                read = Slide(slide.number)
                self._shapes.read(notes, read)
                slide.notes.extend(plain_text(block) for block in read.shown_blocks())
            slide.comments.extend(_comments(page))
        return slide

    def backgrounds(self, pages: Iterable[_Page]) -> Iterator[Slide]:
        """For a file whose own slides have no text: what their masters show, at the first slide of each; footers."""
        masters = {} if self._styles is None else {item.get("name"): item for item in self._styles.iter("master-page")}
        for number, page in enumerate(pages, 1):
            slide = Slide(number)
            if number == 1:
                slide.blocks.extend(text_blocks(map(Line, self._footers)))
            master = masters.pop(page.element.get("master-page-name"), None)
            if master is not None:
                own = [shape for shape in master if shape.get("class") is None]
                self._shapes.read(own, slide)
            yield slide


def _areas(styles: Element | None) -> dict[str | None, float]:
    """The area of the slides of each master page in square points."""
    layouts: dict[str | None, float] = {}
    for layout in () if styles is None else styles.iter("page-layout"):
        for item in children(layout, "page-layout-properties"):
            layouts[layout.get("name")] = (points(item.get("page-width")) or 0) * (points(item.get("page-height")) or 0)
    masters = () if styles is None else styles.iter("master-page")
    return {master.get("name"): layouts.get(master.get("page-layout-name"), 0.0) for master in masters}


def _comments(page: Element) -> Iterator[Comment]:
    for item in page.iterfind("annotation"):
        text = "\n".join(paragraph_text(paragraph) for paragraph in item.iter("p"))
        yield Comment((item.findtext("creator") or "").strip(), text)
