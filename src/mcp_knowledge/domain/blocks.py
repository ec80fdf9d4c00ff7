"""The normalized document: what every parser makes of a file, and what chunks are cut from."""

import re
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where a block or chunk stands in its source. Pages and slides count from 1; characters are offsets into the
    decoded text.
    """

    page_start: int | None = None
    page_end: int | None = None
    slide: int | None = None
    sheet: str | None = None
    cell_range: str | None = None
    section: str | None = None
    char_start: int | None = None
    char_end: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The known parts, in camelCase."""
        return {_CAMEL[f.name]: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SourceLocation":
        """The reverse of `to_json`; unknown keys are passed over."""
        return cls(**{name: data[camel] for name, camel in _CAMEL.items() if camel in data})


_CAMEL = {
    "page_start": "pageStart",
    "page_end": "pageEnd",
    "slide": "slide",
    "sheet": "sheet",
    "cell_range": "cellRange",
    "section": "section",
    "char_start": "charStart",
    "char_end": "charEnd",
}
NOWHERE = SourceLocation()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, level 1 (highest) to 6."""

    type: ClassVar[str] = "heading"
    level: int
    text: str
    location: SourceLocation = NOWHERE


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    type: ClassVar[str] = "paragraph"
    text: str
    location: SourceLocation = NOWHERE


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list; nested items carry their indentation as leading spaces (two per level).

    An item whose number is not its position (3. after a break, b), 2.1), or that is marked otherwise than the list
    around it, begins with its own marker (`has_own_marker`).
    """

    type: ClassVar[str] = "list"
    ordered: bool
    items: tuple[str, ...]
    location: SourceLocation = NOWHERE


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as the widest."""

    type: ClassVar[str] = "table"
    headers: tuple[str, ...] | None
    rows: tuple[tuple[str, ...], ...]
    location: SourceLocation = NOWHERE


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted text with its line breaks and indentation."""

    type: ClassVar[str] = "code"
    text: str
    language: str | None = None
    location: SourceLocation = NOWHERE


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation."""

    type: ClassVar[str] = "quote"
    text: str
    location: SourceLocation = NOWHERE


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, known by its alternative text."""

    type: ClassVar[str] = "image"
    alt: str
    location: SourceLocation = NOWHERE


@dataclass(frozen=True, slots=True)
class PageBreak:
    """The end of a page."""

    type: ClassVar[str] = "pageBreak"
    location: SourceLocation = NOWHERE


_OWN_MARKER = re.compile(
    r" *(?:-|[(\[]?(?:\d{1,4}|[A-Za-z]|[ivxlcdm]{2,9}|[IVXLCDM]{2,9})(?:[.\-](?:\d{1,4}|[A-Za-z]))*[.)\]]+"
    r"|\d{1,4}(?:\.\d{1,4})+)\s"
)


def has_own_marker(item: str) -> bool:
    """Whether a list's item begins with its number or dash itself."""
    return _OWN_MARKER.match(item) is not None


Block = Heading | Paragraph | ListBlock | Table | Code | Quote | Image | PageBreak
_BLOCK_TYPES: dict[str, type[Any]] = {
    kind.type: kind for kind in (Heading, Paragraph, ListBlock, Table, Code, Quote, Image, PageBreak)
}


@dataclass(frozen=True, slots=True)
class NormalizedDocument:
    """A parsed file: its own title if it states one, document properties, and its blocks in reading order."""

    title: str | None
    metadata: dict[str, Any] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()


def block_to_json(block: Block) -> dict[str, Any]:
    """One block in the contract's JSON shape: `type`, its own fields without the unset ones, and `location` if
    known.
    """
    data: dict[str, Any] = {"type": block.type}
    for item in fields(block):
        value = getattr(block, item.name)
        if item.name == "location":
            value = value.to_json() or None
        if value is not None:
            data[item.name] = value
    return data


def block_from_json(data: dict[str, Any]) -> Block:
    """The reverse of `block_to_json`."""
    kind = _BLOCK_TYPES[data["type"]]
    values = {item.name: data[item.name] for item in fields(kind) if item.name in data and item.name != "location"}
    if kind is ListBlock:
        values["items"] = tuple(values["items"])
    if kind is Table:
        values["rows"] = tuple(tuple(row) for row in values["rows"])
        values["headers"] = tuple(values["headers"]) if "headers" in values else None
    block: Block = kind(**values, location=SourceLocation.from_json(data.get("location", {})))
    return block
