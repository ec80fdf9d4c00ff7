"""What the parts beside the text of a Word package say: comments, styles, relations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.errors import KnowledgeError

OFF = ("0", "false", "off", "none")
_PARTS_OF_TEXT = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_TYPEWRITER = re.compile(
    r"^(?:courier|consolas|menlo|monaco|lucida (?:console|sans typewriter)|inconsolata|cascadia|letter gothic)"
    r"|\bmono\b|\bcode\b",
    re.IGNORECASE,
)


def is_typewriter(font: str) -> bool:
    """Whether all letters of a font are equally wide, by its name."""
    return _TYPEWRITER.search(font) is not None


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment's author (may be empty) and text."""

    author: str
    text: str


def read_comments(xml: bytes) -> dict[str, Comment]:
    """The comments of a comments part, by id. A damaged part has those before the damage."""
    reader = _CommentReader()
    _feed_what_can_be_read(xml, reader)
    return reader.comments


class _CommentReader(Handler):
    def __init__(self) -> None:
        self.comments: dict[str, Comment] = {}
        self._id = ""
        self._author = ""
        self._texts: list[str] = []
        self._inside = False

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "comment":
            self._id, self._author, self._texts = attributes.get("id", ""), attributes.get("author", ""), []
        elif name == "t":
            self._inside = True
        elif name in _PARTS_OF_TEXT:
            self._texts.append(_PARTS_OF_TEXT[name])

    def text(self, text: str) -> None:
        if self._inside:
            self._texts.append(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name == "t":
            self._inside = False
        elif name == "p":
            self._texts.append(" ")
        elif name == "comment" and (text := " ".join("".join(self._texts).split())):
            self.comments[self._id] = Comment(self._author.strip(), text)


@dataclass(slots=True)
class _Style:
    based_on: str = ""
    hides: bool | None = None
    typewriter: bool | None = None


@dataclass(frozen=True, slots=True)
class Styles:
    """Ids of the styles that hide their text, and of those that set it in a typewriter face."""

    hiding: frozenset[str] = field(default_factory=frozenset)
    typewriter: frozenset[str] = field(default_factory=frozenset)


def read_styles(xml: bytes) -> Styles:
    """The styles of a styles part. Broken styles hide nothing: the text is readable without them."""
    reader = _StyleReader()
    _feed_what_can_be_read(xml, reader)
    return Styles(
        frozenset(name for name in reader.styles if reader.inherited(name, "hides")),
        frozenset(name for name in reader.styles if reader.inherited(name, "typewriter")),
    )


class _StyleReader(Handler):
    def __init__(self) -> None:
        self.styles: dict[str, _Style] = {}
        self._style: _Style | None = None

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "style":
            self._style = self.styles.setdefault(attributes.get("styleId", ""), _Style())
        elif self._style is None:
            return
        elif name == "basedOn":
            self._style.based_on = attributes.get("val", "")
        elif name == "vanish":
            self._style.hides = attributes.get("val") not in OFF
        elif name == "rFonts" and (font := attributes.get("ascii") or attributes.get("hAnsi")):
            self._style.typewriter = is_typewriter(font)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name == "style":
            self._style = None

    def inherited(self, name: str, what: str) -> bool:
        """A style's own property, or that of the nearest style it is based on."""
        seen: set[str] = set()
        while name in self.styles and name not in seen:
            seen.add(name)
            value = getattr(self.styles[name], what)
            if value is not None:
                return bool(value)
            name = self.styles[name].based_on
        return False


def read_relations(xml: bytes) -> dict[str, str]:
    """Targets of a part's relations, by id."""
    reader = _RelationReader()
    _feed_what_can_be_read(xml, reader)
    return reader.targets


class _RelationReader(Handler):
    def __init__(self) -> None:
        self.targets: dict[str, str] = {}

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "Relationship":
            self.targets[attributes.get("Id", "")] = attributes.get("Target", "")


def _feed_what_can_be_read(xml: bytes, reader: Handler) -> None:
    try:
        feed(xml or b"<none/>", reader)
    except KnowledgeError:
        return
