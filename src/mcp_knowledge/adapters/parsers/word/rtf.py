"""Rich Text Format: hidden text, comments, page furniture and properties by us, everything else by anydoc."""

from mcp_knowledge.adapters.parsers.properties import titled
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.word.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.word.rtf_edits import RtfEditor
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_BEGINNING = b"{\\rtf"


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks. They have no location: RTF does not state where pages end.

    A document of which all is hidden is read as if nothing were: that is what it has to say.
    """
    start = source.data.find(_BEGINNING)
    if start < 0:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    data = source.data[start:]
    editor = RtfEditor(data, keep_hidden=False)
    blocks = document_blocks(editor.edited(), "rtf")
    if not blocks:
        blocks = document_blocks(RtfEditor(data, keep_hidden=True).edited(), "rtf")
    return titled(blocks, editor.properties, source.filename)
