"""XML as a tree of elements with their places in the text, read by expat under limits of our own.

Nothing outside the text is ever opened. Entities that the document declares are expanded as long as they stay short;
names that only a document type would explain are read as HTML names them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.entities import html5
from itertools import pairwise
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.source import TextBudget
from mcp_knowledge.errors import KnowledgeError

_MAX_DEPTH = 200
_MAX_ELEMENTS = 1_000_000  # some seconds of work; their values with key paths would pass any sensible limit of text
_MAX_ENTITY_CHARS = 65_536  # of one entity with all that it refers to
_MAX_ENTITY_DEPTH = 16
_REFERENCE = re.compile(r"&([^#;&\s][^;&\s]*);")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # expat refuses them; the text is readable without
# Addresses in feeds often have them. A character without meaning holds their place, so that offsets stay.
_BARE_AMPERSAND = re.compile(r"&(?!#?\w+;)")
_AMPERSAND = "\ufdd0"
_DECLARATION = re.compile(rb"<\?xml\s[^>]*\?>")
_STEP_BYTES = 4096
# Error codes of expat.h: no memory, and entities that grow beyond what expat allows; text behind the outermost element.
_TOO_MUCH = (1, 43)
_JUNK_BEHIND = 9
_WRAPPER = b"<_>"


@dataclass(slots=True, eq=False)
class Node:
    """An element: its name and attributes without prefixes, its content, and its span in the text with both tags."""

    name: str
    attributes: dict[str, str]
    start: int
    end: int = 0
    parts: list["str | Node"] = field(default_factory=list)

    @property
    def children(self) -> list["Node"]:
        """The elements directly inside."""
        parts = self.parts
        if len(parts) < 2 and (not parts or isinstance(parts[0], str)):  # as nearly all elements of data
            return []
        return [part for part in parts if isinstance(part, Node)]

    def find(self, *names: str) -> Iterator["Node"]:
        """The elements of these names (of all, when none is given) anywhere inside, in reading order."""
        stack = self.children[::-1]
        while stack:
            node = stack.pop()
            if not names or node.name in names:
                yield node
            stack.extend(node.children[::-1])

    def text(self) -> str:
        """All text inside, as it stands."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return self.parts[0]
        pieces: list[str] = []
        stack: list[str | Node] = self.parts[::-1]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                pieces.append(part)
            else:
                stack.extend(part.parts[::-1])
        return "".join(pieces)


def parse_tree(text: str, max_text_bytes: int) -> Node:
    """The outermost element of a document; a nameless one around several that stand side by side.

    Args:
        text: the decoded document; its own declaration of a charset is not looked at.
        max_text_bytes: of character data and attribute values, in UTF-8.

    Raises:
        KnowledgeError: DOCUMENT_MALFORMED for what is no well-formed XML, DOCUMENT_RESOURCE_LIMIT for too much text,
            too deep nesting or entities that grow.
    """
    text = _NOT_XML.sub(" ", text)
    try:
        return _tree(text.encode("utf-8", "replace"), max_text_bytes)
    except KnowledgeError as error:
        if error.code != "DOCUMENT_MALFORMED" or not _BARE_AMPERSAND.search(text):
            raise
    return _tree(_BARE_AMPERSAND.sub(_AMPERSAND, text).encode("utf-8", "replace"), max_text_bytes)


def _tree(data: bytes, max_text_bytes: int) -> Node:
    first = len(data) - len(data.lstrip())
    builder = _Builder(data, max_text_bytes)
    try:
        builder.feed(first)
    except expat.ExpatError as error:
        if error.code in _TOO_MUCH:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT") from None
        if error.code != _JUNK_BEHIND or not builder.roots:
            raise KnowledgeError("DOCUMENT_MALFORMED") from None
        return _side_by_side(data, first, max_text_bytes) or builder.roots[0]
    return builder.roots[0]


def _side_by_side(data: bytes, first: int, max_text_bytes: int) -> Node | None:
    declaration = _DECLARATION.match(data, first)
    builder = _Builder(data, max_text_bytes)
    try:
        builder.feed(declaration.end() if declaration else first, wrapped=True)
    except expat.ExpatError:
        return None
    root = builder.roots[0]
    root.name = ""
    return root


class _Builder:
    """Expat's handlers. `roots` has the outermost element as soon as it is complete."""

    def __init__(self, data: bytes, max_text_bytes: int) -> None:
        self.roots: list[Node] = []
        self._data = data
        self._budget = TextBudget(max_text_bytes)
        self._offsets = _Offsets(data)
        self._stack: list[Node] = []
        self._elements = 0
        self._entities: dict[str, str] = {}
        self._base = 0

    def feed(self, first: int, wrapped: bool = False) -> None:
        """Read the data from `first` on, if asked for inside an element of no meaning. Raises ExpatError."""
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.buffer_size = _MAX_ENTITY_CHARS
        parser.UseForeignDTD(True)  # an unknown entity is skipped then, and does not end the document
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.SkippedEntityHandler = self._unknown_entity
        parser.EntityDeclHandler = self._declare
        parser.EndDoctypeDeclHandler = self._check_entities
        self._parser = parser
        self._base = first - len(_WRAPPER) * wrapped
        if wrapped:
            parser.Parse(_WRAPPER)
        parser.Parse(memoryview(self._data)[first:], not wrapped)
        if wrapped:
            parser.Parse(_WRAPPER.replace(b"<", b"</"), True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if len(self._stack) >= _MAX_DEPTH or self._elements > _MAX_ELEMENTS:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        if attributes:
            attributes = self._stated(attributes)
        node = Node(name.rpartition(":")[2], attributes, self._offsets.characters(self._at()))
        if self._stack:
            self._stack[-1].parts.append(node)
        self._stack.append(node)

    def _stated(self, attributes: dict[str, str]) -> dict[str, str]:
        for value in attributes.values():
            self._budget.take(value)
        return {
            key.rpartition(":")[2]: value.replace(_AMPERSAND, "&")
            for key, value in attributes.items()
            if key != "xmlns" and not key.startswith("xmlns:")
        }

    def _end(self, name: str) -> None:
        node = self._stack.pop()
        at = self._at()
        if node.parts or self._data[at - 2 : at] != b"/>":
            at = self._data.find(b">", at) + 1 or len(self._data)
        node.end = max(self._offsets.characters(at), node.start)
        if not self._stack:
            self.roots.append(node)

    def _text(self, text: str) -> None:
        self._budget.take(text.strip())
        if self._stack:
            self._stack[-1].parts.append(text.replace(_AMPERSAND, "&"))

    def _unknown_entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._text(html5.get(f"{name};", f"&{name};"))

    def _at(self) -> int:
        return min(max(self._base + self._parser.CurrentByteIndex, 0), len(self._data))

    def _declare(self, name: str, is_parameter: bool, value: str | None, *_: str | None) -> None:
        if value is not None and not is_parameter:
            self._entities.setdefault(name, value)

    def _check_entities(self) -> None:
        sizes: dict[str, int] = {}
        for name in self._entities:
            self._measure(name, sizes, 0)

    def _measure(self, name: str, sizes: dict[str, int], depth: int) -> int:
        if name not in sizes:
            if depth > _MAX_ENTITY_DEPTH:
                raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
            value = self._entities.get(name, "")
            size = len(value) + sum(self._measure(item, sizes, depth + 1) for item in _REFERENCE.findall(value))
            if size > _MAX_ENTITY_CHARS:
                raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
            sizes[name] = size
        return sizes[name]


class _Offsets:
    """Character offsets of byte offsets into UTF-8."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._steps: list[int] | None = None
        if not data.isascii():
            self._steps = [0]
            for start, end in pairwise([*range(0, len(data), _STEP_BYTES), len(data)]):
                self._steps.append(self._steps[-1] + _count(data[start:end]))

    def characters(self, at: int) -> int:
        """How many characters stand before a byte."""
        if self._steps is None:
            return at
        step = at // _STEP_BYTES
        return self._steps[step] + _count(self._data[step * _STEP_BYTES : at])


_CONTINUATION = bytes(range(0x80, 0xC0))


def _count(data: bytes) -> int:
    return len(data.translate(None, _CONTINUATION))
