"""Passages like a given one."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import clamp, read_query
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.services.similar import SimilarPassage

operations = Operations("Search")


@operations.add(
    "GET",
    "/chunks/{chunk_id}/similar",
    "Find passages like a passage",
    Answer(200, "Passages of other documents, nearest in meaning first.", schemas.SimilarPassages),
    query=schemas.SimilarQuery,
    errors=("CHUNK_NOT_FOUND", "EMBEDDING_MISMATCH"),
    description="Compares stored vectors; nothing is embedded for it.",
)
async def find_similar(request: Request) -> Response:
    """Neighbours in meaning."""
    found = services(request)
    limit = clamp(read_query(request, schemas.SimilarQuery).limit, found.settings.max_search_limit_api)
    similar = await found.similar.to_passage(request.path_params["chunk_id"], limit)
    return json_response({"items": [_item(item) for item in similar.items]})


def _item(item: SimilarPassage) -> wire.Json:
    return {"score": item.score, "title": item.document.title, "chunk": wire.chunk(item.chunk)}
