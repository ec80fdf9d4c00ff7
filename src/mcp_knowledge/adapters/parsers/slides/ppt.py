"""Binary PowerPoint presentations (ppt, pps), slide by slide: MS-PPT 2.1.2 tells how the parts are found."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp_knowledge.adapters.parsers.ole import Container
from mcp_knowledge.adapters.parsers.ole_properties import ole_properties
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.slides.document import (
    Comment,
    Line,
    Slide,
    check_slide_count,
    first_with_text,
    text_blocks,
)
from mcp_knowledge.adapters.parsers.slides.layout import fill, ordered
from mcp_knowledge.adapters.parsers.slides.ppt_records import Record, utf16
from mcp_knowledge.adapters.parsers.slides.ppt_shapes import Diagrams, Shapes
from mcp_knowledge.adapters.parsers.slides.ppt_storage import Storage
from mcp_knowledge.adapters.parsers.slides.ppt_text import Text, master_bullets, texts
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument

_SLIDE, _NOTES_PAGE, _MASTER = 0x03EE, 0x03F0, 0x03F8
_SLIDE_LIST, _SLIDE_PERSIST = 0x0FF0, 0x03F3
_SLIDES, _MASTERS, _NOTES = 0, 1, 2  # instances of slide lists
_DOCUMENT_ATOM = 0x03E9  # begins with the slides' width and height
_SLIDE_ATOM, _SHOW_INFO, _HIDDEN = 0x03EF, 0x03F9, 0x4
_DRAWING, _DRAWING_CONTAINER, _GROUP = 0x040C, 0xF002, 0xF003
_COMMENT, _STRING, _FOOTERS = 0x2EE0, 0x0FBA, 0x0FD9
_COMMENT_AUTHOR, _COMMENT_TEXT = 0, 1


def parse(source: Source) -> NormalizedDocument:
    """The presentation's document. Raises KnowledgeError with a document failure code."""
    container = Container(source.data)
    reader = _Reader(Storage(container), Diagrams(source.limits))
    check_slide_count(len(reader.entries), source)
    return first_with_text(
        source,
        ole_properties(container),
        reader.slides,
        lambda: reader.slides(keep_hidden=True),
        reader.backgrounds,
    )


@dataclass(slots=True)
class _Entry:
    """A slide as the document lists it: the id of its object, its own id, and its texts in the outline."""

    object_id: int
    slide_id: int
    records: list[Record] = field(default_factory=list)

    @property
    def outline(self) -> list[Text]:
        return texts(self.records)


class _Reader:
    def __init__(self, storage: Storage, diagrams: Diagrams) -> None:
        self._storage = storage
        self._diagrams = diagrams
        self.entries = self._listed(_SLIDES)
        size = storage.document.child(_DOCUMENT_ATOM)
        width, height = (size.unpack("ii") if size is not None else None) or (0, 0)
        self._area = float(width * height)
        self._masters = {entry.slide_id: entry for entry in self._listed(_MASTERS)}
        self._notes = {entry.slide_id: entry for entry in self._listed(_NOTES)}

    def _listed(self, instance: int) -> list[_Entry]:
        entries: list[_Entry] = []
        for item in self._storage.document.children():
            if item.kind != _SLIDE_LIST or item.instance != instance:
                continue
            for record in item.children():
                if record.kind == _SLIDE_PERSIST:
                    object_id, _, _, slide_id = record.unpack("IIiI") or (0, 0, 0, 0)
                    entries.append(_Entry(object_id, slide_id))
                elif entries:
                    entries[-1].records.append(record)
        return entries

    def slides(self, keep_hidden: bool = False) -> Iterator[Slide]:
        """The slides one by one. One that stands twice in the list has its text at the first place only."""
        read: set[int] = set()
        for number, entry in enumerate(self.entries, 1):
            slide = Slide(number)
            record = self._storage.get(entry.object_id, _SLIDE)
            place = -entry.object_id if record is None else record.start
            if place not in read:
                self._read_slide(slide, entry, record, keep_hidden)
            read.add(place)
            yield slide

    def _read_slide(self, slide: Slide, entry: _Entry, record: Record | None, keep_hidden: bool) -> None:
        if record is None:
            self._read_outline(slide, entry)
            return
        info = record.child(_SHOW_INFO)
        (flags,) = (info.unpack("H", 10) if info is not None else None) or (0,)
        slide.is_hidden = bool(flags & _HIDDEN) and not keep_hidden
        if slide.is_hidden:
            return
        atom = record.child(_SLIDE_ATOM)
        master_id, notes_id = (atom.unpack("II", 12) if atom is not None else None) or (0, 0)
        master = self._master(master_id)
        bullets = master_bullets(master) if master is not None else {}
        shapes = Shapes(slide, entry.outline, bullets, self._diagrams)
        for group in _groups(record):
            fill(slide, list(shapes.items(group)), self._area)
        if (
            notes_id in self._notes
            and (notes := self._storage.get(self._notes[notes_id].object_id, _NOTES_PAGE)) is not None
        ):
            slide.notes.extend(self._note_texts(notes, self._notes[notes_id]))
        slide.comments.extend(_comments(record))

    def _note_texts(self, notes: Record, entry: _Entry) -> Iterator[str]:
        shapes = Shapes(Slide(1), entry.outline, {}, self._diagrams)
        for group in _groups(notes):
            for block in ordered(list(shapes.items(group))):
                yield plain_text(block)

    def _read_outline(self, slide: Slide, entry: _Entry) -> None:
        """A slide whose drawing is lost: what the outline keeps of it."""
        for text in entry.outline:
            lines = [line for line in text.lines({}) if line.text]
            if text.is_title and lines:
                slide.add_title(" ".join(line.text for line in lines))
            else:
                slide.blocks.extend(text_blocks(lines))
        slide.is_damaged = True

    def _master(self, master_id: int) -> Record | None:
        return (
            self._storage.get(self._masters[master_id].object_id, _MASTER, _SLIDE)
            if master_id in self._masters
            else None
        )

    def backgrounds(self) -> Iterator[Slide]:
        """For a file whose own slides have no text: what their masters show, at the first slide of each; footers."""
        shown: set[int] = set()
        for number, entry in enumerate(self.entries, 1):
            slide = Slide(number)
            record = self._storage.get(entry.object_id, _SLIDE)
            atom = record.child(_SLIDE_ATOM) if record is not None else None
            (master_id,) = (atom.unpack("I", 12) if atom is not None else None) or (0,)
            master = self._master(master_id)
            if master is not None and master_id not in shown:
                shapes = Shapes(slide, (), {}, self._diagrams)
                shapes.is_master = True
                slide.blocks.extend(block for group in _groups(master) for block in ordered(list(shapes.items(group))))
            shown.add(master_id)
            footers = record.child(_FOOTERS) if record is not None else None
            if footers is not None:
                strings = [utf16(item.content) for item in footers.children() if item.kind == _STRING]
                slide.blocks.extend(text_blocks(map(Line, strings)))
            yield slide


def _groups(slide: Record) -> list[Record]:
    """The outermost group of a slide's drawing."""
    group = slide.child(_DRAWING, _DRAWING_CONTAINER, _GROUP)
    return [group] if group is not None else []


def _comments(slide: Record) -> Iterator[Comment]:
    for item in slide.find(_COMMENT):
        strings = {record.instance: utf16(record.content) for record in item.children() if record.kind == _STRING}
        yield Comment(strings.get(_COMMENT_AUTHOR, "").strip(), strings.get(_COMMENT_TEXT, ""))
