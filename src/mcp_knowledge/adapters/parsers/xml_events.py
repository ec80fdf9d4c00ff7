"""XML of Office parts as events, without entity declarations: no part of an Office file has any reason for them."""

from collections.abc import Mapping
from typing import NoReturn
from xml.parsers import expat

from mcp_knowledge.errors import KnowledgeError


class Handler:
    """Receives a part's events. Names and attributes come without their namespace.

    References to other parts keep theirs as `r:`, since `r:id` often stands beside a plain `id`.
    """

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        """An element begins."""

    def text(self, text: str) -> None:
        """Character data."""

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        """An element ends."""


def feed(xml: bytes, handler: Handler) -> None:
    """Send a part's events to a handler. Raises DOCUMENT_MALFORMED for what is no XML, or declares a document type."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: handler.start(
        name.rpartition(" ")[2], {_attribute(key): value for key, value in attributes.items()}, parser
    )
    parser.EndElementHandler = lambda name: handler.end(name.rpartition(" ")[2], parser)
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(xml, True)
    except (expat.ExpatError, ValueError, LookupError):
        raise KnowledgeError("DOCUMENT_MALFORMED") from None


def _attribute(key: str) -> str:
    space, _, name = key.rpartition(" ")
    return f"r:{name}" if space.endswith("/relationships") else name


def _refuse_doctype(*_: object) -> NoReturn:
    raise KnowledgeError("DOCUMENT_MALFORMED")
