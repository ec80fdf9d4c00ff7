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
    names = _Names()
    start, end = handler.start, handler.end
    parser.StartElementHandler = lambda name, attributes: start(
        names[name], {names[key]: value for key, value in attributes.items()}, parser
    )
    parser.EndElementHandler = lambda name: end(names[name], parser)
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(xml, True)
    except (expat.ExpatError, ValueError, LookupError):
        raise KnowledgeError("DOCUMENT_MALFORMED") from None


class _Names(dict[str, str]):
    """Short names by full ones, each made once: a sheet has a million elements of three names."""

    def __missing__(self, full: str) -> str:
        space, _, name = full.rpartition(" ")
        # Not the namespace of lists of relations, which has such an end too.
        self[full] = short = f"r:{name}" if "/officeDocument/" in space and space.endswith("/relationships") else name
        return short


def _refuse_doctype(*_: object) -> NoReturn:
    raise KnowledgeError("DOCUMENT_MALFORMED")
