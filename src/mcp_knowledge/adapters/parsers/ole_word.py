"""Word 97-2003 files: the container's properties by us, the text by anydoc."""

from mcp_knowledge.adapters.parsers.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.ole import Container
from mcp_knowledge.adapters.parsers.ole_properties import ole_properties
from mcp_knowledge.adapters.parsers.properties import titled
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks. They have no location: Word files do not state where their pages end."""
    blocks = document_blocks(source.data, "doc")
    return titled(blocks, ole_properties(Container(source.data)), source.filename)
