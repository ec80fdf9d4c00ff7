"""A presentation, whatever program made it: slides with a title, blocks, notes and comments become one document."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.source import Source, TextBudget
from mcp_knowledge.domain.blocks import Block, Heading, Image, ListBlock, NormalizedDocument, Paragraph, SourceLocation
from mcp_knowledge.errors import KnowledgeError

Marker = Literal["bullet", "number"]

_OCR_SHARE = 0.3  # a picture over so much of a slide without text may be all that it says; as for pages of a PDF
NOTES_MARK = "Notes: "
MAX_DEPTH = 32  # of groups in groups and of list levels; no presentation program lets a user go as deep
_MAX_TITLE_CHARS = 300  # a "title" beyond that is a text that somebody put into the title's place


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph of a text box: its list level from 0, and its bullet or number if it has one."""

    text: str
    level: int = 0
    marker: Marker | None = None


@dataclass(frozen=True, slots=True)
class Comment:
    """A remark that somebody pinned to a slide; the author may be unknown."""

    author: str
    text: str


@dataclass(slots=True)
class Slide:
    """What a slide holds, in reading order. `number` counts from 1 in the order of presentation, hidden slides too;
    `is_damaged`: the file has lost a part of it, or all. `picture_share`: how much of it the largest picture covers."""

    number: int
    title: str = ""
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    is_hidden: bool = False
    is_damaged: bool = False
    picture_share: float = 0.0

    def add_title(self, text: str) -> None:
        """The slide's title; a second one, or a whole text, is a paragraph."""
        text = " ".join(text.split())
        if self.title or len(text) > _MAX_TITLE_CHARS:
            self.blocks.append(Paragraph(text))
        else:
            self.title = text

    def shown_blocks(self) -> Iterator[Block]:
        """Title and text."""
        if self.title:
            yield Heading(1, self.title)
        yield from self.blocks

    def all_blocks(self) -> Iterator[Block]:
        """Title, text, notes and comments, each with the slide's number."""
        location = SourceLocation(slide=self.number)
        for block in self.shown_blocks():
            yield replace(block, location=location)
        if notes := "\n".join(text for note in self.notes if (text := note.strip())):
            yield Paragraph(NOTES_MARK + notes, location)
        for comment in self.comments:
            if text := " ".join(comment.text.split()):
                label = f"Comment by {comment.author}" if comment.author else "Comment"
                yield Paragraph(f"[{label}: {text}]", location)


def presentation(source: Source, slides: Iterable[Slide], properties: Mapping[str, Any]) -> NormalizedDocument:
    """The document of all slides that are shown.

    Args:
        slides: every slide of the file, hidden and damaged ones too; read one by one.
        properties: what the file says about itself, its title included.

    Raises:
        KnowledgeError: DOCUMENT_RESOURCE_LIMIT beyond the limits of slides or text, DOCUMENT_MALFORMED when no slide
            can be read, DOCUMENT_NEEDS_OCR when there is no text but in pictures.
    """
    budget = TextBudget(source.limits.max_extract_bytes)
    blocks: list[Block] = []
    count, hidden, damaged, pictured = 0, list[int](), list[int](), list[int]()
    for slide in slides:
        count += 1
        check_slide_count(count, source)
        if slide.is_hidden:
            hidden.append(slide.number)
            continue
        if slide.is_damaged:
            damaged.append(slide.number)
        own = list(slide.all_blocks())
        if slide.picture_share >= _OCR_SHARE and all(isinstance(block, Image) for block in own):
            pictured.append(slide.number)
        for block in own:
            budget.take(plain_text(block))
            blocks.append(block)
    if damaged and not blocks and len(damaged) + len(hidden) == count:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    if pictured and not blocks:
        raise KnowledgeError("DOCUMENT_NEEDS_OCR")
    stated: dict[str, Any] = {**properties, "slides": count}
    stated |= {"hiddenSlides": hidden} if hidden else {}
    stated |= {"damagedSlides": damaged} if damaged else {}
    stated |= {"slidesNeedingOcr": pictured} if pictured else {}
    title = good_title(stated.pop("title", None), source.filename)
    if title is None and blocks and isinstance(blocks[0], Heading):  # a later slide's title says less than the name
        title = blocks[0].text
    return NormalizedDocument(title, stated, tuple(blocks))


def first_with_text(
    source: Source, properties: Mapping[str, Any], *readings: Callable[[], Iterable[Slide]]
) -> NormalizedDocument:
    """The first reading of a presentation that finds any text: what is shown, else what is hidden, else what stands
    around it. Raises as `presentation` does.
    """
    for reading in readings[:-1]:
        document = presentation(source, reading(), properties)
        if document.blocks:
            return document
    return presentation(source, readings[-1](), properties)


def check_slide_count(count: int, source: Source) -> None:
    """Raises DOCUMENT_RESOURCE_LIMIT for more slides than a document may have pages."""
    if count > source.limits.max_document_pages:
        raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")


def text_blocks(lines: Iterable[Line]) -> list[Block]:
    """A text box's blocks: neighbouring lines with bullets or numbers are one list, every other is a paragraph."""
    blocks: list[Block] = []
    items: list[Line] = []
    for line in lines:
        if not line.text.strip():
            continue
        if line.marker is None:
            blocks.extend(_lists(items))
            items = []
            blocks.append(Paragraph(line.text.strip()))
        else:
            items.append(line)
    return [*blocks, *_lists(items)]


def _lists(items: Sequence[Line]) -> Iterator[ListBlock]:
    """Lists of items whose top level has one kind of marker; deeper items are indented."""
    if not items:
        return
    top = min(item.level for item in items)
    marker, texts = items[0].marker, list[str]()
    for item in items:
        if item.level == top and item.marker != marker and texts:
            yield ListBlock(marker == "number", tuple(texts))
            texts = []
        marker = item.marker if item.level == top else marker
        indent = "  " * min(item.level - top, MAX_DEPTH)
        texts.append(indent + item.text.strip().replace("\n", "\n" + indent))
    yield ListBlock(marker == "number", tuple(texts))


def described_pictures(descriptions: Iterable[str]) -> list[Block]:
    """Pictures by whatever is said of them, names of files too: all there is to find in a file without any text."""
    texts = dict.fromkeys(" ".join(text.split()) for text in descriptions)
    return [Image(text) for text in texts if any(map(str.isalpha, text))]
