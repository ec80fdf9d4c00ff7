"""Edits of WordprocessingML that anydoc does not make: hidden text goes, comments come after their paragraph.

The XML is not parsed into a tree and written again: expat tells positions, and all other bytes stay as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

from mcp_knowledge.adapters.parsers.xml_events import Handler, feed

_OFF = ("0", "false", "off", "none")
_PARTS_OF_TEXT = {"tab": "\t", "br": "\n", "cr": "\n"}


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment's author (may be empty) and text."""

    author: str
    text: str


@dataclass(slots=True)
class _Run:
    start: int
    hidden: bool = False


@dataclass(slots=True)
class _Splices:
    """Byte ranges to replace, in order of their starts."""

    items: list[tuple[int, int, bytes]] = field(default_factory=list)

    def apply(self, data: bytes) -> bytes:
        parts, at = [], 0
        for start, end, text in sorted(self.items):
            if start >= at:  # a range inside one that is gone already counts no more
                parts += [data[at:start], text]
                at = end
        return b"".join([*parts, data[at:]])


def edited(xml: bytes, comments: Mapping[str, Comment], hidden: frozenset[str]) -> bytes:
    """A part without hidden runs, and with the comments it refers to as paragraphs of their own.

    Args:
        xml: a document part in UTF-8.
        comments: the document's comments by id.
        hidden: ids of styles that hide their text.
    """
    if not comments and not hidden and b"vanish" not in xml:
        return xml
    editor = _Editor(xml, comments, hidden)
    feed(xml, editor)
    return editor.splices.apply(xml)


class _Editor(Handler):
    def __init__(self, xml: bytes, comments: Mapping[str, Comment], hidden: frozenset[str]) -> None:
        self.splices = _Splices()
        self._xml = xml
        self._comments = comments
        self._hidden = hidden
        self._runs: list[_Run] = []
        self._paragraphs: list[list[str]] = []

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        match name:
            case "r":
                self._runs.append(_Run(parser.CurrentByteIndex))
            case "p":
                self._paragraphs.append([])
            case "vanish" if self._runs and attributes.get("val") not in _OFF:
                self._runs[-1].hidden = True
            case "rStyle" if self._runs and attributes.get("val") in self._hidden:
                self._runs[-1].hidden = True
            case "commentReference" if self._paragraphs:
                self._paragraphs[-1].append(attributes.get("id", ""))

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name == "r" and self._runs:
            run = self._runs.pop()
            if run.hidden:
                self.splices.items.append((run.start, self._tag_end(parser), b""))
        elif name == "p" and self._paragraphs:
            end = self._tag_end(parser)
            for comment_id in self._paragraphs.pop():
                if comment := self._comments.get(comment_id):
                    self.splices.items.append((end, end, _paragraph(comment)))

    def _tag_end(self, parser: expat.XMLParserType) -> int:
        return self._xml.index(b">", parser.CurrentByteIndex) + 1


def _paragraph(comment: Comment) -> bytes:
    label = f"Comment by {comment.author}" if comment.author else "Comment"
    text = escape(f"[{label}: {comment.text}]")
    return (
        '<w:p xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    ).encode()


def read_comments(xml: bytes) -> dict[str, Comment]:
    """The comments of a comments part, by id."""
    reader = _CommentReader()
    feed(xml, reader)
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


def hidden_styles(xml: bytes) -> frozenset[str]:
    """Ids of the styles of a styles part that hide their text."""
    if b"vanish" not in xml:
        return frozenset()
    reader = _StyleReader()
    feed(xml, reader)
    return frozenset(reader.hidden)


class _StyleReader(Handler):
    def __init__(self) -> None:
        self.hidden: set[str] = set()
        self._style = ""

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "style":
            self._style = attributes.get("styleId", "")
        elif name == "vanish" and self._style and attributes.get("val") not in _OFF:
            self.hidden.add(self._style)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name == "style":
            self._style = ""
