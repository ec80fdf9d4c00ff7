"""XML of presentations as trees whose names have no namespace, and the parts of a package with their relations."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.errors import KnowledgeError

# Characters that XML forbids and careless programs write, as bytes or as references to them.
_FORBIDDEN = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#(?:x0*(?:[0-8bcef]|1[0-9a-f])|0*(?:[0-8]|1[124-9]|2\d|3[01]));", re.I
)


class _TreeHandler(Handler):
    def __init__(self) -> None:
        self._builder = TreeBuilder()
        self._open: list[str] = []
        self._is_empty = True

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        self._builder.start(name, dict(attributes))
        self._open.append(name)
        self._is_empty = False

    def text(self, text: str) -> None:
        self._builder.data(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        self._builder.end(self._open.pop())

    def root(self) -> Element | None:
        """The tree of what has come so far."""
        while self._open:
            self._builder.end(self._open.pop())
        return None if self._is_empty else self._builder.close()


def tree(xml: bytes) -> Element:
    """A part as a tree. Raises DOCUMENT_MALFORMED for what is no XML, or declares a document type."""
    handler = _TreeHandler()
    feed(xml, handler)
    root = handler.root()
    if root is None:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    return root


def begun_tree(xml: bytes) -> Element | None:
    """What stands in a damaged part before the damage; characters that XML forbids are no damage."""
    handler = _TreeHandler()
    with suppress(KnowledgeError):
        feed(_FORBIDDEN.sub(b" ", xml), handler)
    return handler.root()


def child(element: Element | None, *names: str) -> Element | None:
    """The element at the end of a path of child names, or None."""
    for name in names:
        element = None if element is None else element.find(name)
    return element


def children(element: Element | None, *names: str) -> Iterator[Element]:
    """The children of the element at the end of the path but one, with the last name."""
    parent = child(element, *names[:-1])
    if parent is not None:
        yield from parent.iterfind(names[-1])


def alternatives(element: Element) -> list[Element]:
    """The choices of an `mc:AlternateContent`, the preferred one first."""
    return [*element.iterfind("Choice"), *element.iterfind("Fallback")]


def number(text: str | None, default: int = 0) -> int:
    """A whole number as XML states it; the default for anything else."""
    try:
        return int(float(text)) if text is not None and len(text) <= 20 else default
    except (ValueError, OverflowError):
        return default


def is_on(text: str | None) -> bool:
    """An XML boolean."""
    return text in ("1", "true", "on")


@dataclass(frozen=True, slots=True)
class Relation:
    """A part that another one refers to: its kind (the last word of the relation's type) and name."""

    kind: str
    target: str


class Package:
    """The parts of an Office file; names are compared in lower case, as Windows does.

    Args:
        max_bytes: of all that is read as trees. Each part is needed about once, but parts may refer to one another
            without end.
    """

    def __init__(self, parts: Mapping[str, bytes], max_bytes: int) -> None:
        self._parts = {name.lower(): part for name, part in parts.items()}
        self._left = max_bytes
        self._relations: dict[str, dict[str, Relation]] = {}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parts

    def names(self) -> list[str]:
        """All names, in lower case and in order."""
        return sorted(self._parts)

    def _part(self, name: str) -> bytes | None:
        part = self._parts.get(name.lower())
        self._left -= len(part or b"")
        if self._left < 0:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        return part

    def readable(self, name: str) -> Element | None:
        """A part as a tree, or None when it is missing or damaged. Raises DOCUMENT_RESOURCE_LIMIT."""
        part = self._part(name)
        with suppress(KnowledgeError):
            return tree(part) if part is not None else None
        return None

    def begun(self, name: str) -> Element | None:
        """What can be read of a damaged part, from its beginning; None when that is nothing."""
        part = self._part(name)
        return begun_tree(part) if part is not None else None

    def relations(self, name: str) -> dict[str, Relation]:
        """The parts within the package that a part ("" for the package itself) refers to, by id."""
        if name in self._relations:
            return self._relations[name]
        folder, base = posixpath.split(name)
        root = self.readable(posixpath.join(folder, "_rels", f"{base}.rels"))
        found: dict[str, Relation] = {}
        for item in children(root, "Relationship"):
            target = item.get("Target", "")
            if item.get("TargetMode") != "External" and target:
                path = posixpath.normpath(posixpath.join("/", folder, unquote(target.replace("\\", "/")))).lstrip("/")
                found[item.get("Id", "")] = Relation(item.get("Type", "").rpartition("/")[2], path)
        self._relations[name] = found
        return found

    def related(self, name: str, *kinds: str) -> list[str]:
        """Names of the parts of these kinds that a part refers to."""
        return [relation.target for relation in self.relations(name).values() if relation.kind in kinds]
