"""`/metadata-keys`: what conditions on metadata can be built from."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import clamp, read_query
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response

operations = Operations("Search")


@operations.add(
    "GET",
    "/metadata-keys",
    "List the keys of metadata",
    Answer(200, "Keys, those of most documents first.", schemas.MetadataKeys),
    query=schemas.MetadataQuery,
    description="The keys and dotted paths that `filters` can name, of searchable documents.",
)
async def list_keys(request: Request) -> Response:
    """Keys of metadata."""
    query = read_query(request, schemas.MetadataQuery)
    limit = clamp(query.limit, services(request).settings.max_list_limit)
    found = await services(request).metadata.keys(query.search, query.collectionId, limit + 1)
    items = [{"key": item.key, "documents": item.documents, "kinds": list(item.kinds)} for item in found[:limit]]
    return json_response({"items": items, "more": len(found) > limit})


@operations.add(
    "GET",
    "/metadata-keys/{key}/values",
    "List the values of a key of metadata",
    Answer(200, "Values, those of most documents first; none for a key that no document has.", schemas.KnownValues),
    query=schemas.MetadataQuery,
)
async def list_values(request: Request) -> Response:
    """Values of a key of metadata."""
    query = read_query(request, schemas.MetadataQuery)
    limit = clamp(query.limit, services(request).settings.max_list_limit)
    key = request.path_params["key"]
    found = await services(request).metadata.values(key, query.search, query.collectionId, limit + 1)
    items = [{"value": item.value, "documents": item.documents} for item in found[:limit]]
    return json_response({"items": items, "more": len(found) > limit})
