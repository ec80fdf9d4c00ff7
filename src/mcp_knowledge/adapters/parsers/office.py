"""Word documents: the package under limits, hidden text and comments by us, everything else by anydoc."""

import re
from collections.abc import Iterator, Mapping
from email import message_from_bytes

from mcp_knowledge.adapters.parsers.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.packages import read_parts, write_parts
from mcp_knowledge.adapters.parsers.properties import package_properties, titled
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.wordml import edited, hidden_styles, read_comments
from mcp_knowledge.domain.blocks import NOWHERE, Block, NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

# Pictures and embedded objects are not inflated: nothing is read from them.
_TEXT_PARTS = (".xml", ".rels", ".mht", ".mhtml", ".htm", ".html", ".xhtml", ".txt", ".rtf")
_TEXT_STREAM = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks. They have no location: Word files do not state where their pages end."""
    parts = read_parts(source.data, _TEXT_PARTS, source.limits)
    _edit(parts)
    blocks = document_blocks(write_parts(parts.items()), "docx")
    blocks.extend(_alternative_chunks(parts))
    return titled(blocks, package_properties(parts), source.filename)


def _edit(parts: dict[str, bytes]) -> None:
    """Take hidden text out of the parts with running text, and write comments into them."""
    comments = read_comments(parts["word/comments.xml"]) if "word/comments.xml" in parts else {}
    hidden = _hidden_styles(parts)
    for name in parts:
        if _TEXT_STREAM.fullmatch(name.lower()):
            parts[name] = edited(parts[name], comments, hidden)


def _hidden_styles(parts: Mapping[str, bytes]) -> frozenset[str]:
    """Broken styles hide nothing: the text is readable without them."""
    try:
        return hidden_styles(parts.get("word/styles.xml", b""))
    except KnowledgeError:
        return frozenset()


def _alternative_chunks(parts: Mapping[str, bytes]) -> Iterator[Block]:
    """Whole HTML or MHTML documents that a Word file takes in (`w:altChunk`); they come last."""
    for name, part in sorted(parts.items()):
        suffix = name.lower().rpartition(".")[2]
        if not name.lower().startswith("word/") or suffix not in ("mht", "mhtml", "htm", "html", "xhtml"):
            continue
        from mcp_knowledge.adapters.parsers.html import fragment_blocks

        message = message_from_bytes(part) if suffix in ("mht", "mhtml") else None
        pages = (
            [part]
            if message is None
            else [
                payload
                for piece in message.walk()
                if piece.get_content_type() == "text/html"
                and isinstance(payload := piece.get_payload(decode=True), bytes)
            ]
        )
        for page in pages:
            yield from fragment_blocks(decode(page).text, NOWHERE)
