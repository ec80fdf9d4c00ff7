"""The parts of an Office Open XML package by their relations (ECMA-376, part 2); names are compared in lower case."""

import posixpath
from collections.abc import Mapping
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.errors import KnowledgeError


class Parts:
    """A package's parts. A damaged list of relations relates nothing."""

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        self._parts = {name.lower(): part for name, part in parts.items()}

    def __contains__(self, path: str) -> bool:
        return path.lower() in self._parts

    def content(self, path: str) -> bytes:
        """A part's bytes; none for a part that is missing."""
        return self._parts.get(path.lower(), b"")

    def main(self) -> str:
        """The path of the workbook itself. Raises DOCUMENT_MALFORMED when there is none."""
        found = [path for path in self.related("", "officeDocument") if path in self]
        found += [path for path in ("xl/workbook.xml", "xl/workbook.bin") if path in self]
        if not found:
            raise KnowledgeError("DOCUMENT_MALFORMED")
        return found[0]

    def related(self, path: str, kind: str) -> list[str]:
        """The parts that a part has this kind of relation to."""
        return [target for relation, target in self.targets(path).values() if relation == kind]

    def targets(self, path: str) -> dict[str, tuple[str, str]]:
        """(kind, path) by relation id of everything inside the package that a part refers to."""
        folder, _, name = path.rpartition("/")
        reader = _Relations(folder)
        xml = self.content(posixpath.join(folder, "_rels", f"{name}.rels"))
        feed_leniently(xml, reader)
        return reader.targets


def feed_leniently(xml: bytes, handler: Handler) -> None:
    """Take what stands before a part's first error: a damaged workbook still has most of its cells."""
    try:
        feed(xml, handler)
    except KnowledgeError as error:
        if error.code != "DOCUMENT_MALFORMED":
            raise


class _Relations(Handler):
    def __init__(self, folder: str) -> None:
        self.targets: dict[str, tuple[str, str]] = {}
        self._folder = folder

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "Relationship" and attributes.get("TargetMode", "Internal").lower() != "external":
            kind = attributes.get("Type", "").rpartition("/")[2]
            target = attributes.get("Target", "").replace("\\", "/")
            path = posixpath.normpath(posixpath.join("/", self._folder, target)).lstrip("/")
            self.targets[attributes.get("Id", "")] = (kind, path)
