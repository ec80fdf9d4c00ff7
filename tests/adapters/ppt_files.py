"""Binary PowerPoint files made in code, record by record (MS-PPT)."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from ole_files import make_ole

DOCUMENT, SLIDE, NOTES, MASTER = 0x03E8, 0x03EE, 0x03F0, 0x03F8
_LIST, _PERSIST, _SLIDE_ATOM, _SHOW_INFO = 0x0FF0, 0x03F3, 0x03EF, 0x03F9
_DRAWING, _DRAWING_CONTAINER, GROUP, SHAPE = 0x040C, 0xF002, 0xF003, 0xF004
_SHAPE_ATOM, PROPERTIES, _ANCHOR, _CLIENT_DATA, _TEXT_BOX = 0xF00A, 0xF00B, 0xF010, 0xF011, 0xF00D
_FOOTER_PLACEHOLDER = 0x0420
_PLACEHOLDER, _TEXT_HEADER, _CHARS, _BYTES, _STYLES = 0x0BC3, 0x0F9F, 0x0FA0, 0x0FA8, 0x0FA1
_DIRECTORY, _USER_EDIT, _CURRENT_USER = 0x1772, 0x0FF5, 0x0FF6
TITLE, BODY, OTHER = 0, 1, 4  # types of text
PLAIN_TOKEN, ENCRYPTED_TOKEN = 0xE391C05F, 0xF3D1C4DF
_DOCUMENT_ATOM = 0x03E9
SLIDE_WIDTH, SLIDE_HEIGHT = 5760, 4320  # in 1/576 inch
_FIRST_SLIDE_ID = 256

Box = tuple[int, int, int, int]  # left, top, right, bottom


@dataclass(frozen=True)
class Page:
    """A slide: the shapes in its drawing, its flags, and the shapes of its notes."""

    shapes: bytes
    hidden: bool = False
    notes: bytes = b""
    outline: Sequence[bytes] = field(default_factory=tuple)


def record(kind: int, *content: bytes, instance: int = 0, atom: bool = False, size: int | None = None) -> bytes:
    """A record; `size` may lie."""
    inner = b"".join(content)
    version = 0 if atom else 0xF
    return struct.pack("<HHI", instance << 4 | version, kind, len(inner) if size is None else size) + inner


def atom(kind: int, content: bytes = b"", instance: int = 0) -> bytes:
    return record(kind, content, instance=instance, atom=True)


def text(characters: str, kind: int = OTHER, levels: Sequence[int] = (), narrow: bool = False) -> bytes:
    """A text's records; paragraphs are separated by carriage returns. `levels`: of each paragraph, with a bullet."""
    data = atom(_BYTES, characters.encode("latin-1")) if narrow else atom(_CHARS, characters.encode("utf-16-le"))
    styles = b"".join(
        struct.pack("<IHIH", len(paragraph) + 1, level, 1, 1)
        for paragraph, level in zip(characters.split("\r"), levels, strict=False)
    )
    return atom(_TEXT_HEADER, struct.pack("<I", kind)) + data + (atom(_STYLES, styles) if levels else b"")


def shape(
    *content: bytes,
    at: Box | None = None,
    place: int | None = None,
    footer_place: int | None = None,
    properties: bytes = b"",
) -> bytes:
    """A shape with a text box. `place`: its placeholder type, `footer_place`: the same as PowerPoint 2007 states it."""
    parts = [atom(_SHAPE_ATOM, bytes(8)), properties]
    if at is not None:
        left, top, right, bottom = at
        parts.append(atom(_ANCHOR, struct.pack("<hhhh", top, left, right, bottom)))
    if place is not None:
        parts.append(record(_CLIENT_DATA, atom(_PLACEHOLDER, struct.pack("<iBBH", 0, place, 0, 0))))
    if footer_place is not None:
        parts.append(record(_CLIENT_DATA, atom(_FOOTER_PLACEHOLDER, bytes([footer_place]))))
    return record(SHAPE, *parts, record(_TEXT_BOX, *content) if content else b"")


def group(*shapes: bytes) -> bytes:
    """A group; its first shape is the group itself."""
    return record(GROUP, shape(), *shapes)


def description(words: str) -> bytes:
    data = words.encode("utf-16-le") + b"\0\0"
    return atom(PROPERTIES, struct.pack("<HI", 0x0381 | 0xC000, len(data)) + data, instance=1)


def drawing(shapes: bytes) -> bytes:
    return record(_DRAWING, record(_DRAWING_CONTAINER, group(shapes)))


def _listing(instance: int, entries: Sequence[tuple[int, int, bytes]]) -> bytes:
    inner = b"".join(
        atom(_PERSIST, struct.pack("<IIiII", object_id, 0, 0, slide_id, 0)) + outline
        for object_id, slide_id, outline in entries
    )
    return record(_LIST, inner, instance=instance)


def document_stream(pages: Sequence[Page], order: Sequence[int] | None = None) -> bytes:
    """The main stream. Objects: 1 the document, then each slide and its notes. `order`: slides as listed, from 0."""
    objects: dict[int, bytes] = {}
    slides: list[tuple[int, int, bytes]] = []
    notes: list[tuple[int, int, bytes]] = []
    for index, page in enumerate(pages):
        slide_id, notes_id = _FIRST_SLIDE_ID + index, 1_000 + index if page.notes else 0
        info = atom(_SHOW_INFO, struct.pack("<iIBBHI", 0, 0, 0, 0, 4 if page.hidden else 0, 0))
        head = atom(_SLIDE_ATOM, struct.pack("<i8sIIHH", 0, bytes(8), 0x80000000, notes_id, 0, 0))
        objects[2 + 2 * index] = record(SLIDE, head, info, drawing(page.shapes))
        slides.append((2 + 2 * index, slide_id, b"".join(page.outline)))
        if page.notes:
            objects[3 + 2 * index] = record(NOTES, drawing(page.notes))
            notes.append((3 + 2 * index, notes_id, b""))
    listed = [slides[index] for index in (range(len(slides)) if order is None else order)]
    size = atom(_DOCUMENT_ATOM, struct.pack("<ii32x", SLIDE_WIDTH, SLIDE_HEIGHT))
    objects[1] = record(DOCUMENT, size, _listing(0, listed), _listing(2, notes))
    stream, offsets = b"", {}
    for object_id, data in objects.items():
        offsets[object_id] = len(stream)
        stream += data
    entries = b"".join(struct.pack("<II", object_id | 1 << 20, at) for object_id, at in offsets.items())
    edit = struct.pack("<IIIIII4x", 0, 0, 0, len(stream), 1, 0)
    return stream + atom(_DIRECTORY, entries) + atom(_USER_EDIT, edit)


def ppt_of(stream: bytes, token: int = PLAIN_TOKEN, last_edit: int | None = None) -> bytes:
    """A file of a main stream; `last_edit`: where the last edit stands, found from the end when not given."""
    at = len(stream) - 36 if last_edit is None else last_edit
    user = atom(_CURRENT_USER, struct.pack("<III", 20, token, at & 0xFFFFFFFF))
    return make_ole({"PowerPoint Document": stream, "Current User": user})


def make_ppt(*pages: Page | bytes, order: Sequence[int] | None = None) -> bytes:
    """A presentation of slides, each given as its shapes or as a page."""
    return ppt_of(document_stream([page if isinstance(page, Page) else Page(page) for page in pages], order))
