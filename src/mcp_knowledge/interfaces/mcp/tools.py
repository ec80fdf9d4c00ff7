"""The tools that the server offers, in the order in which clients list them."""

from mcp_knowledge.interfaces.mcp.document_tools import get_chunk, get_document
from mcp_knowledge.interfaces.mcp.list_tools import list_collections, list_document_catalog, list_documents
from mcp_knowledge.interfaces.mcp.search_tool import search_documents
from mcp_knowledge.interfaces.mcp.tool import KnowledgeTool
from mcp_knowledge.settings import Settings

_MAKERS = (search_documents, get_document, get_chunk, list_documents, list_collections, list_document_catalog)


def tools_for(settings: Settings) -> dict[str, KnowledgeTool]:
    """Every tool by its name, with the limits of these settings."""
    return {tool.name: tool for tool in (make(settings) for make in _MAKERS)}
