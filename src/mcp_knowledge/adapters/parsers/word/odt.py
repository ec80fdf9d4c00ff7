"""OpenDocument text: the package under limits, hidden text, comments and shapes by us, everything else by anydoc."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.packages import read_parts, write_parts
from mcp_knowledge.adapters.parsers.properties import stated_properties, titled
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.word.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.word.flat_office import flat_open_document_parts
from mcp_knowledge.adapters.parsers.word.odt_edits import edited_content
from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.adapters.parsers.xml_splices import in_utf8
from mcp_knowledge.domain.blocks import Block, NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_ENCRYPTED = re.compile(rb"<(?:\w+:)?encryption-data[\s/>]")
_PROPERTIES = {
    "title": "title",
    "initial-creator": "author",
    "creator": "lastAuthor",
    "subject": "subject",
    "keyword": "keywords",
    "description": "description",
    "language": "language",
    "creation-date": "created",
    "date": "modified",
}


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks. They have no location: the file does not state where pages end."""
    parts = flat_open_document_parts(source.data) or read_open_document(source)
    blocks = _blocks(parts, keep_hidden=False) or _blocks(parts, keep_hidden=True)
    return titled(blocks, open_document_properties(parts), source.filename)


def read_open_document(source: Source) -> dict[str, bytes]:
    """The XML parts of an OpenDocument package, under the archive limits.

    Raises:
        KnowledgeError: DOCUMENT_ENCRYPTED for a password, and what `read_parts` raises.
    """
    parts = read_parts(source.data, (".xml", "mimetype"), source.limits)
    if _ENCRYPTED.search(parts.get("META-INF/manifest.xml", b"")):
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    return parts


def open_document_properties(parts: Mapping[str, bytes]) -> dict[str, Any]:
    """What an OpenDocument package says about itself, title included. A damaged part says nothing."""
    reader = _PropertyReader()
    with suppress(KnowledgeError):
        feed(parts.get("meta.xml", b"<none/>"), reader)
    stated = dict(reader.properties)
    last_author = stated.pop("lastAuthor", "")
    return stated_properties({"author": last_author, **stated, "pages": reader.pages})


def _blocks(parts: Mapping[str, bytes], keep_hidden: bool) -> list[Block]:
    """A document of which all is hidden is read as if nothing were: that is what it has to say."""
    content = in_utf8(parts.get("content.xml", b""))
    styles = in_utf8(parts.get("styles.xml", b""))
    edited = {**parts, "content.xml": edited_content(content, styles, keep_hidden)}
    return document_blocks(write_parts(edited.items()), "odt")


class _PropertyReader(Handler):
    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.pages = ""
        self._name = ""

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        self._name = _PROPERTIES.get(name, "")
        if name == "document-statistic":
            self.pages = attributes.get("page-count", "")
        elif self._name == "keywords" and "keywords" in self.properties:
            self.properties["keywords"] += ", "

    def text(self, text: str) -> None:
        if self._name:
            self.properties[self._name] = self.properties.get(self._name, "") + text

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        self._name = ""
