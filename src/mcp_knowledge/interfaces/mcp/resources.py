"""Documents and passages as resources."""

from typing import Any

import mcp_types as types

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.mcp.document_tools import page_json
from mcp_knowledge.interfaces.mcp.uris import (
    CHUNK_TEMPLATE,
    DOCUMENT_TEMPLATE,
    NORMALIZED_TEMPLATE,
    ResourceAddress,
    normalized_uri,
    parse_uri,
)
from mcp_knowledge.ports import DocumentQuery, Position
from mcp_knowledge.services import Services
from mcp_knowledge.services.reading import compact_json

_MIME_TYPE = "application/json"
_CURSOR_KIND = "mcp-resources"
_PAGE_ITEMS = 50

TEMPLATES = (
    types.ResourceTemplate(
        name="document",
        title="Document",
        uri_template=DOCUMENT_TEMPLATE,
        description="A document's fields: title, file, status, metadata.",
        mime_type=_MIME_TYPE,
    ),
    types.ResourceTemplate(
        name="normalized-document",
        title="Document text",
        uri_template=NORMALIZED_TEMPLATE,
        description="A document's text as blocks with their place in the source; of a long document its first page. "
        "The tool get_document reads on.",
        mime_type=_MIME_TYPE,
    ),
    types.ResourceTemplate(
        name="chunk",
        title="Passage",
        uri_template=CHUNK_TEMPLATE,
        description="One passage of a document, as a search hit's resourceUri names it.",
        mime_type=_MIME_TYPE,
    ),
)


async def list_resources(services: Services, cursor: str | None) -> types.ListResourcesResult:
    """One page of the ready documents, newest first. Raises INVALID_CURSOR."""
    after = None if cursor is None else Position(*services.cursors.read(_CURSOR_KIND, cursor))
    items, following = await services.library.list_documents(
        DocumentQuery(statuses=("ready",), limit=_PAGE_ITEMS, after=after)
    )
    more = None if following is None else services.cursors.make(_CURSOR_KIND, [following.value, following.id])
    return types.ListResourcesResult(resources=[_resource(item) for item in items], next_cursor=more)


def _resource(item: Document) -> types.Resource:
    return types.Resource(
        uri=normalized_uri(item.id),
        name=item.original_filename,
        title=item.title,
        mime_type=_MIME_TYPE,
        annotations=types.Annotations(last_modified=wire.timestamp(item.updated_at_ms)),
    )


async def read_resource(services: Services, uri: str) -> types.ReadResourceResult:
    """The resource at a URI. Raises NOT_FOUND for a URI of no known form, and what the services raise."""
    address = parse_uri(uri)
    if address is None:
        raise KnowledgeError(
            "NOT_FOUND", f"Resource URIs look like {DOCUMENT_TEMPLATE}, with /normalized or /chunks/…."
        )
    text, meta = await _content(services, address)
    if len(text) > services.settings.max_mcp_document_chars:
        raise KnowledgeError("DOCUMENT_BLOCK_TOO_LARGE", "This resource is larger than one answer may be.")
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=_MIME_TYPE, text=text, _meta=meta)]
    )


async def _content(services: Services, address: ResourceAddress) -> tuple[str, dict[str, Any] | None]:
    match address.kind:
        case "document":
            return compact_json(wire.document(await services.library.get_document(address.document_id))), None
        case "normalized":
            page = await services.reading.page(address.document_id)
            return page.body, page_json(page)
    return compact_json(wire.chunk(await services.reading.chunk(address.document_id, address.chunk_id))), None
