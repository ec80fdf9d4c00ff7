"""PowerPoint presentations (pptx, pptm, ppsx): slides in the order of presentation, with their notes and comments."""

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.packages import read_parts
from mcp_knowledge.adapters.parsers.properties import package_properties
from mcp_knowledge.adapters.parsers.slides.document import (
    Comment,
    Line,
    Slide,
    check_slide_count,
    described_pictures,
    first_with_text,
    text_blocks,
)
from mcp_knowledge.adapters.parsers.slides.drawing import Drawing, furniture_texts, shape_texts
from mcp_knowledge.adapters.parsers.slides.styles import Template
from mcp_knowledge.adapters.parsers.slides.text import body_text
from mcp_knowledge.adapters.parsers.slides.xml import Package, child, children, number
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_TEXT_PARTS = (".xml", ".rels")  # pictures, sounds and embedded files are not inflated: nothing is read from them
_DEFAULT_AREA = 9_144_000.0 * 6_858_000  # 10 by 7.5 inches in EMU
_SLIDE_PART = re.compile(r"ppt/slides/slide(\d+)\.xml")


def parse(source: Source) -> NormalizedDocument:
    """The presentation's document. Raises KnowledgeError with a document failure code."""
    parts = read_parts(source.data, _TEXT_PARTS, source.limits)
    package = Package(parts, source.limits.max_archive_uncompressed_bytes)
    reader = _Reader(package)
    names = reader.slide_names()
    check_slide_count(len(names), source)
    return first_with_text(
        source,
        package_properties(parts),
        lambda: reader.slides(names),
        lambda: reader.slides(names, keep_hidden=True),
        lambda: reader.backgrounds(names),
    )


class _Reader:
    def __init__(self, package: Package) -> None:
        self._package = package
        main = [*package.related("", "officeDocument"), "ppt/presentation.xml"]
        self._main = next((name for name in main if name in package), "")
        self._templates: dict[str, Template] = {}
        self._masters: dict[str, Element | None] = {}
        self._authors = self._read_authors()
        self._area = _DEFAULT_AREA

    def slide_names(self) -> list[str]:
        """The slides' parts in the order of presentation; by their own numbers when the file has lost that order."""
        relations = self._package.relations(self._main)
        root = self._package.readable(self._main)
        if (size := child(root, "sldSz")) is not None:
            self._area = float(number(size.get("cx"))) * number(size.get("cy"))
        listed = children(root, "sldIdLst", "sldId")
        names = [relations[key].target if (key := item.get("r:id", "")) in relations else "" for item in listed]
        if any(name in self._package for name in names):
            return names
        numbered = [(int(found[1]), name) for name in self._package.names() if (found := _SLIDE_PART.fullmatch(name))]
        if not numbered and (root is None or root.tag != "presentation"):
            raise KnowledgeError("DOCUMENT_MALFORMED")
        return [name for _, name in sorted(numbered)]

    def slides(self, names: Iterable[str], keep_hidden: bool = False) -> Iterator[Slide]:
        """The slides one by one. One that stands twice in the list has its text at the first place only."""
        read: set[str] = set()
        for place, name in enumerate(names, 1):
            slide = Slide(place)
            if name not in read:
                self._read_slide(slide, name, keep_hidden)
            read.add(name)
            yield slide

    def backgrounds(self, names: Iterable[str]) -> Iterator[Slide]:
        """For a file whose own slides have no text: what their layouts and masters show, at the first slide of each,
        their footers, and how their pictures are described.
        """
        shown: set[str] = set()
        for place, name in enumerate(names, 1):
            slide = Slide(place)
            layouts = self._package.related(name, "slideLayout")
            masters = [master for layout in layouts for master in self._package.related(layout, "slideMaster")]
            for part in [*masters, *layouts]:
                root = self._package.readable(part)
                if part not in shown and root is not None:
                    slide.blocks.extend(Drawing(self._package, part, Template(None, None), slide).background(root))
                shown.add(part)
            if (own := self._package.readable(name)) is not None:
                slide.blocks.extend(text_blocks(Line(text) for text in furniture_texts(own)))
                slide.blocks.extend(described_pictures(item.get("descr", "") for item in own.iter("cNvPr")))
            yield slide

    def _read_slide(self, slide: Slide, name: str, keep_hidden: bool) -> None:
        root = self._package.readable(name)
        if root is None:
            slide.is_damaged = True
            root = self._package.begun(name)
        if root is None:
            return
        slide.is_hidden = root.get("show") in ("0", "false", "off") and not keep_hidden
        if slide.is_hidden:
            return
        Drawing(self._package, name, self._template(name), slide, self._area).read(root)
        for notes in self._package.related(name, "notesSlide"):
            page = self._package.readable(notes)
            slide.notes.extend(() if page is None else shape_texts(page))
        for comments in self._package.related(name, "comments"):
            page = self._package.readable(comments)
            slide.comments.extend(() if page is None else self._comments(page))

    def _template(self, name: str) -> Template:
        layout = next(iter(self._package.related(name, "slideLayout")), "")
        if layout not in self._templates:
            master = next(iter(self._package.related(layout, "slideMaster")), "")
            if master not in self._masters:
                self._masters[master] = self._package.readable(master)
            self._templates[layout] = Template(self._package.readable(layout), self._masters[master])
        return self._templates[layout]

    def _read_authors(self) -> dict[str, str]:
        authors: dict[str, str] = {}
        for part in self._package.related(self._main, "commentAuthors", "authors"):
            root = self._package.readable(part)
            authors |= {item.get("id", ""): item.get("name", "") for item in (() if root is None else root)}
        return authors

    def _comments(self, root: Element) -> Iterator[Comment]:
        """Comments with their answers, in the older and the newer form."""
        for item in root.iter():
            if item.tag in ("cm", "reply"):
                text = item.findtext("text") or body_text(item.find("txBody"))
                yield Comment(self._authors.get(item.get("authorId", ""), "").strip(), text)
