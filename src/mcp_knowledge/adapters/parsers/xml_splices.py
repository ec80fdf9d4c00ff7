"""Edits of XML that leave all other bytes as they are: expat tells the places to cut at."""

import codecs
import re
from dataclasses import dataclass, field

from mcp_knowledge.adapters.parsers.xml_events import Handler, feed

_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


@dataclass(slots=True)
class Splices:
    """Byte ranges to replace."""

    items: list[tuple[int, int, bytes]] = field(default_factory=list)

    def cut(self, start: int, end: int) -> None:
        """Take a range out, with everything that is put into it."""
        self.items.append((start, end, b""))

    def replace(self, start: int, end: int, text: bytes) -> None:
        """Put text in a range's place."""
        self.items.append((start, end, text))

    def insert(self, at: int, text: bytes) -> None:
        """Put text in; what is inserted at one place keeps its order."""
        self.items.append((at, at, text))

    def apply(self, data: bytes) -> bytes:
        """The edited bytes."""
        parts, at = [], 0
        # At one place: first what is inserted, then the widest range.
        for start, end, text in sorted(self.items, key=lambda item: (item[0], item[1] > item[0], -item[1])):
            if start >= at:  # a range inside one that is gone already counts no more
                parts += [data[at:start], text]
                at = end
        return b"".join([*parts, data[at:]])


class Editor(Handler):
    """Collects splices while it hears a part's events."""

    def __init__(self, xml: bytes) -> None:
        self.xml = xml
        self.splices = Splices()

    def tag_end(self, index: int) -> int:
        """Where the tag ends that begins at a byte index."""
        tag = _TAG.match(self.xml, index)
        return tag.end() if tag else index

    def element_end(self, start: int, at: int) -> int:
        """Where the element ends that began at `start`, when the parser stands at `at` at its end.

        That is before the end tag, or, as expat has it, behind an empty element's only tag: then it is `at` itself.
        """
        if self.xml[at - 2 : at] == b"/>" and self.tag_end(start) == at:
            return at
        return self.tag_end(at)

    def edited(self) -> bytes:
        """The part with all edits. Raises DOCUMENT_MALFORMED for what is no XML."""
        feed(self.xml, self)
        return self.splices.apply(self.xml)


def in_utf8(xml: bytes) -> bytes:
    """A part whose byte positions can be cut at: XML in UTF-16 is rewritten in UTF-8."""
    if not xml.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return xml
    return _DECLARATION.sub("", xml.decode("utf-16", "replace")).encode()
