"""`/search` and `/search/explain`."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.domain.search import SearchRequest, SearchResult
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import clamp, read_json, shown
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response, large_json_response
from mcp_knowledge.interfaces.search_wire import search_result
from mcp_knowledge.services import Services
from mcp_knowledge.services.search_request import search_request, whole_number
from mcp_knowledge.settings import Settings

operations = Operations("Search")

SEARCH_ERRORS = (
    "INVALID_QUERY",
    "INVALID_FILTER",
    "SEARCH_MODE_UNSUPPORTED",
    "SEARCH_COLLAPSE_UNSUPPORTED",
    "EMBEDDING_MISMATCH",
)
_ARGUMENTS = {
    "query": "query",
    "mode": "mode",
    "collectionIds": "collection_ids",
    "documentIds": "document_ids",
    "filters": "filters",
    "fusion": "fusion",
    "expand": "expand",
    "collapse": "collapse",
    "explain": "explain",
}


@operations.add(
    "POST",
    "/search",
    "Search",
    Answer(200, "Hits, best first; with `explain` also how they came about.", schemas.SearchAnswer),
    body=schemas.SearchRequest,
    errors=SEARCH_ERRORS,
)
async def search(request: Request) -> Response:
    """Hits for a query."""
    result = await _run(services(request), await read_json(request))
    return await _answer(result, result.request.explain)


@operations.add(
    "POST",
    "/search/explain",
    "Search, and say how the hits came about",
    Answer(200, "Hits with both sides' candidates, timings and the query as it was read.", schemas.Explanation),
    body=schemas.SearchRequest,
    errors=SEARCH_ERRORS,
)
async def explain(request: Request) -> Response:
    """Hits for a query, with all reasons."""
    result = await _run(services(request), await read_json(request), explain=True)
    return await _answer(result, explain=True)


async def _answer(result: SearchResult, explain: bool) -> Response:
    if result.request.expand.type in ("section", "document"):  # every hit may bring a whole document
        return await large_json_response(lambda: search_result(result, explain))
    return json_response(search_result(result, explain))


async def _run(found: Services, body: dict[str, Any], explain: bool = False) -> SearchResult:
    asked = asked_of(found.settings, body)
    return await found.search.search(replace(asked, explain=asked.explain or explain))


def asked_of(settings: Settings, body: dict[str, Any]) -> SearchRequest:
    """The search that a body asks for.

    Raises:
        KnowledgeError: what `search_request` raises, and INVALID_ARGUMENT for an argument that is not known.
    """
    given, limit = body.pop("limit", None), None
    if given is not None:
        limit = whole_number(given)
        if limit is None:
            raise KnowledgeError("INVALID_ARGUMENT", "limit: must be an integer.")
        limit = clamp(limit, settings.max_search_limit_api)
    unknown = sorted(set(body) - set(_ARGUMENTS))
    if unknown:
        raise KnowledgeError("INVALID_ARGUMENT", f"{shown(unknown[0])}: is not a known argument.")
    arguments = {_ARGUMENTS[name]: value for name, value in body.items()}
    return search_request(settings, query=arguments.pop("query", None), limit=limit, **arguments)
