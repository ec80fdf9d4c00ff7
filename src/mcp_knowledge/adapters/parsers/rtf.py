"""Rich Text Format: the text by anydoc, the properties by us."""

from mcp_knowledge.adapters.parsers.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.properties import titled
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks. They have no location: RTF does not state where pages end."""
    return titled(document_blocks(source.data, "rtf"), {}, source.filename)
