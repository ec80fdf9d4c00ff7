"""Text of binary PowerPoint files: characters, the level of each paragraph, and whether a bullet stands before it.

Sources: MS-PPT 2.9.44 (StyleTextPropAtom), 2.9.20 (TextPFException), 2.9.13 (TextCFException), 2.9.35
(TextMasterStyleAtom).
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mcp_knowledge.adapters.parsers.slides.document import Line
from mcp_knowledge.adapters.parsers.slides.ppt_records import Record, utf16

TEXT_HEADER, _CHARS, _BYTES, _STYLES, _MASTER_STYLES = 0x0F9F, 0x0FA0, 0x0FA8, 0x0FA1, 0x0FA3
# Characters that stand for the slide's number, date, header or footer: each record tells the place of one.
_FIELDS = frozenset({0x0FD8, 0x0FF7, 0x0FF8, 0x0FF9, 0x0FFA, 0x1015})
TITLE_TYPES = frozenset({0, 6})
_BODY_TYPES = frozenset({1, 7, 8})
_BASE_TYPES = {5: 1, 7: 1, 8: 1, 6: 0}  # a centred or smaller text takes over from the whole one
_OTHER_TYPE = 4
_HAS_BULLET = 0x1
# A paragraph's properties in the order in which they stand behind their mask; sizes in bytes.
_PARAGRAPH_FIELDS = (
    (0x0000000F, 2),
    (0x00000080, 2),
    (0x00000010, 2),
    (0x00000040, 2),
    (0x00000020, 4),
    (0x00000800, 2),
    (0x00001000, 2),
    (0x00002000, 2),
    (0x00004000, 2),
    (0x00000100, 2),
    (0x00000400, 2),
    (0x00008000, 2),
    (0x00100000, 0),  # tab stops: their number, then 4 bytes each
    (0x00010000, 2),
    (0x000E0000, 2),
    (0x00200000, 2),
)
_TAB_STOPS = 0x00100000
_CHARACTER_FIELDS = (
    (0x0000FFFF, 2),
    (0x00010000, 2),
    (0x00200000, 2),
    (0x00400000, 2),
    (0x00800000, 2),
    (0x00020000, 2),
    (0x00040000, 4),
    (0x00080000, 2),
)
_MAX_LEVEL = 4  # levels are 0 to 4

Bullets = Mapping[int, Mapping[int, bool]]


@dataclass(slots=True)
class Text:
    """A text box's text as stored, with the records that belong to it."""

    kind: int = _OTHER_TYPE
    characters: str = ""
    styles: bytes = b""
    fields: list[int] = field(default_factory=list)

    @property
    def is_title(self) -> bool:
        """Whether it is a slide's title."""
        return self.kind in TITLE_TYPES

    def add(self, record: Record) -> None:
        """Take in a record that follows the text's header."""
        if record.kind == _CHARS:
            self.characters += utf16(record.content)
        elif record.kind == _BYTES:
            self.characters += record.content.decode("latin-1")
        elif record.kind == _STYLES:
            self.styles = record.content
        elif record.kind in _FIELDS and (place := record.unpack("i")):
            self.fields.append(place[0])

    def lines(self, bullets: Bullets) -> Iterator[Line]:
        """The paragraphs. `bullets` has what the slide's master says, by type of text and level."""
        hidden = set(self.fields)
        runs = _paragraph_runs(self.styles, len(self.characters) + 1)
        run_end, level, stated = 0, 0, None
        start = 0
        for paragraph in self.characters.split("\r"):
            while run_end <= start and (run := next(runs, None)):
                run_end, level, stated = run_end + run[0], run[1], run[2]
            end = start + len(paragraph)
            if hidden:
                paragraph = "".join(char for at, char in enumerate(paragraph, start) if at not in hidden)
            bulleted = default_bullet(bullets, self.kind, level) if stated is None else stated
            yield Line(paragraph.replace("\v", "\n").strip(), level, "bullet" if bulleted else None)
            start = end + 1


def texts(items: Iterable[Record]) -> list[Text]:
    """The texts among records that stand one after the other, each from its header on."""
    found: list[Text] = []
    for record in items:
        if record.kind == TEXT_HEADER:
            found.append(Text((record.unpack("I") or (_OTHER_TYPE,))[0]))
        elif found:
            found[-1].add(record)
    return found


def _paragraph_runs(styles: bytes, count: int) -> Iterator[tuple[int, int, bool | None]]:
    """Runs of paragraphs: number of characters, level, and whether bullets are stated."""
    at, covered = 0, 0
    while covered < count and at + 10 <= len(styles):
        size, level = struct.unpack_from("<IH", styles, at)
        at, bullet = _paragraph_properties(styles, at + 6)
        covered += size
        yield size, min(level, _MAX_LEVEL), bullet


def _paragraph_properties(data: bytes, at: int) -> tuple[int, bool | None]:
    """Where the next thing stands, and whether bullets are stated."""
    mask = int.from_bytes(data[at : at + 4], "little")
    bullet = bool(data[at + 4] & _HAS_BULLET) if mask & _HAS_BULLET and at + 4 < len(data) else None
    at += 4
    for bits, size in _PARAGRAPH_FIELDS:
        if mask & bits:
            at += 2 + 4 * int.from_bytes(data[at : at + 2], "little") if bits == _TAB_STOPS else size
    return at, bullet


def master_bullets(master: Record) -> dict[int, dict[int, bool]]:
    """Which levels of which type of text have bullets on a master slide."""
    found: dict[int, dict[int, bool]] = {}
    for record in master.children():
        if record.kind == _MASTER_STYLES:
            found[record.instance] = dict(_levels(record.content, numbered=record.instance >= 5))
    return found


def _levels(data: bytes, numbered: bool) -> Iterator[tuple[int, bool]]:
    at = 2
    for index in range(min(int.from_bytes(data[:2], "little"), _MAX_LEVEL + 1)):
        level = index
        if numbered:
            level = int.from_bytes(data[at : at + 2], "little")
            at += 2
        at, bullet = _paragraph_properties(data, at)
        mask = int.from_bytes(data[at : at + 4], "little")
        at += 4 + sum(size for bits, size in _CHARACTER_FIELDS if mask & bits)
        if bullet is not None:
            yield level, bullet


def default_bullet(bullets: Bullets, kind: int, level: int) -> bool:
    """Whether paragraphs of a type and level have bullets when they say nothing themselves."""
    for source in (kind, _BASE_TYPES.get(kind)):
        levels = bullets.get(source, {}) if source is not None else {}
        stated = [levels[item] for item in range(level, -1, -1) if item in levels]
        if stated:
            return stated[0]
    return kind in _BODY_TYPES
