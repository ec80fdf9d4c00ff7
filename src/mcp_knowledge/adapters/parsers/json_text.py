"""JSON and JSON Lines as readable text: one line a value, with its path (`customer.address.city: Berlin`).

In JSON Lines, one damaged line (a log that was cut off, say) costs nobody the others: it stays as the text that it is.

A scanner of our own walks the text because offsets are needed; without recursion, and with numbers as written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecoder

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.key_paths import Leaf, leaf_paragraphs
from mcp_knowledge.adapters.parsers.source import Source, TextBudget
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_MAX_DEPTH = 200
_TOLD_LINES = 100
_STRINGS = JSONDecoder(strict=False)
_BLANKS = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])|(?:true|false|null|NaN|-?Infinity)(?!\w)")


@dataclass(slots=True)
class _Frame:
    """An open container: its path, its record, and where it stands."""

    is_object: bool
    path: str
    group: str
    fixed: bool  # the record is an array's element: what is inside belongs to it
    start: int  # of its key, else of itself
    index: int = 0
    key: str = ""
    key_start: int = 0

    @property
    def member_path(self) -> str:
        if self.is_object:
            return f"{self.path}.{self.key}" if self.path else self.key
        return f"{self.path}[{self.index}]"


def parse(source: Source) -> NormalizedDocument:
    """Paragraphs of `path: value` lines, record (element of the first array, top-level object) by record.

    `damagedLines` in the metadata has the numbers of the first lines of a `.jsonl` file that are no JSON.
    """
    decoded = decode(source.data)
    damaged: list[int] = []
    leaves = scan_lines(decoded.text, damaged) if source.extension == "jsonl" else scan(decoded.text)
    blocks = tuple(leaf_paragraphs(leaves, TextBudget(source.limits.max_extract_bytes)))
    told = {"damagedLines": damaged[:_TOLD_LINES]} if damaged else {}
    return NormalizedDocument(None, decoded.metadata | told, blocks)


def scan(text: str) -> Iterator[Leaf]:
    """The leaves of one JSON value, or of several one after the other.

    Raises:
        KnowledgeError: DOCUMENT_MALFORMED for what is no JSON, DOCUMENT_RESOURCE_LIMIT for too deep nesting.
    """
    at = _skip(text, 0)
    number = 0
    while at < len(text):
        scanner = _Scanner(text, at, number)
        yield from scanner.leaves()
        at = _skip(text, scanner.at)
        number += 1


def scan_lines(text: str, damaged: list[int]) -> Iterator[Leaf]:
    """The leaves of values that follow each other; a line that is no JSON is one leaf, and its number, counted from 1,
    goes into `damaged`.

    Raises:
        KnowledgeError: DOCUMENT_MALFORMED when more lines are damaged than not, DOCUMENT_RESOURCE_LIMIT for too deep
            nesting.
    """
    at = _skip(text, 0)
    number, line, counted_to = 0, 1, 0
    while at < len(text):
        scanner = _Scanner(text, at, number)
        try:
            yield from list(scanner.leaves())
            at = _skip(text, scanner.at)
        except KnowledgeError as error:
            if error.code != "DOCUMENT_MALFORMED":
                raise
            line, counted_to = line + text.count("\n", counted_to, at), at
            damaged.append(line)
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            yield Leaf((number, ""), "", text[at:end].rstrip(), False, at, end)
            at = _skip(text, end)
        number += 1
    if len(damaged) * 2 > number:
        raise KnowledgeError("DOCUMENT_MALFORMED")


def _skip(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match is not None  # it matches nothing, too
    return match.end()


class _Scanner:
    """Scans one value. `at` is the next character."""

    def __init__(self, text: str, at: int, number: int) -> None:
        self.at = at
        self._text = text
        self._number = number
        self._stack: list[_Frame] = []

    def leaves(self) -> Iterator[Leaf]:
        """The leaves of the value at `at`, which then stands behind it."""
        while True:
            if (leaf := self._value()) is not None:
                yield leaf
            elif self._opened():
                continue
            if not self._next_member():
                return

    def _value(self) -> Leaf | None:
        """Read a scalar, or open a container and return None."""
        start = self.at
        character = self._text[start : start + 1]
        if character in ("{", "["):
            self._open(character == "{")
            return None
        if character == '"':
            value = self._string()
        elif match := _SCALAR.match(self._text, start):
            value, self.at = match[0], match.end()
        else:
            raise KnowledgeError("DOCUMENT_MALFORMED")
        if not self._stack:
            return Leaf((self._number, ""), "", value, False, start, self.at)
        frame = self._stack[-1]
        path = frame.member_path if frame.is_object else frame.path
        begin = frame.key_start if frame.is_object else start if frame.index else frame.start
        return Leaf((self._number, frame.group), path, value, not frame.is_object, begin, self.at)

    def _open(self, is_object: bool) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        start = self.at
        self.at += 1
        if not self._stack:
            self._stack.append(_Frame(is_object, "", "", False, start))
            return
        parent = self._stack[-1]
        if parent.is_object:
            start = parent.key_start
        top_array = len(self._stack) == 1 and not parent.is_object
        path = "" if top_array else parent.member_path
        group, fixed = parent.group, parent.fixed
        if not fixed and (len(self._stack) == 1 or not parent.is_object):
            group, fixed = parent.member_path, not parent.is_object
        self._stack.append(_Frame(is_object, path, group, fixed, start))

    def _opened(self) -> bool:
        """Behind an opening bracket: go to the first member; False when there is none and the container is closed."""
        self.at = _skip(self._text, self.at)
        frame = self._stack[-1]
        if self._text.startswith("}" if frame.is_object else "]", self.at):
            self.at += 1
            self._stack.pop()
            return False
        if frame.is_object:
            self._key(frame)
        return True

    def _next_member(self) -> bool:
        """Behind a value: go to the next member, closing what ends; False at the end of the outermost value."""
        while self._stack:
            frame = self._stack[-1]
            self.at = _skip(self._text, self.at)
            character = self._text[self.at : self.at + 1]
            self.at += 1
            if character == ",":
                self.at = _skip(self._text, self.at)
                frame.index += 1
                if frame.is_object:
                    self._key(frame)
                return True
            if character != ("}" if frame.is_object else "]"):
                raise KnowledgeError("DOCUMENT_MALFORMED")
            self._stack.pop()
        return False

    def _key(self, frame: _Frame) -> None:
        frame.key_start = self.at
        if not self._text.startswith('"', self.at):
            raise KnowledgeError("DOCUMENT_MALFORMED")
        frame.key = self._string()
        self.at = _skip(self._text, self.at)
        if not self._text.startswith(":", self.at):
            raise KnowledgeError("DOCUMENT_MALFORMED")
        self.at = _skip(self._text, self.at + 1)

    def _string(self) -> str:
        """Read the string at `at`. Line breaks and tabs inside it are let pass."""
        try:
            value, self.at = _STRINGS.raw_decode(self._text, self.at)
        except ValueError:
            raise KnowledgeError("DOCUMENT_MALFORMED") from None
        assert isinstance(value, str)
        return value
