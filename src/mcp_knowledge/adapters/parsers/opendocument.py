"""OpenDocument text: the package under limits, the text by anydoc."""

from mcp_knowledge.adapters.parsers.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.packages import read_parts, write_parts
from mcp_knowledge.adapters.parsers.properties import titled
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks."""
    parts = read_parts(source.data, (".xml", "mimetype"), source.limits)
    return titled(document_blocks(write_parts(parts.items()), "odt"), {}, source.filename)
