"""Pages of originals as pictures."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_query
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations

operations = Operations("Content")

_MAX_NUMBER_DIGITS = 9


@operations.add(
    "GET",
    "/documents/{document_id}/pages/{number}",
    "Show a page of the original",
    Answer(200, "A picture of the page.", media_type="image/png", headers=("ETag",)),
    Answer(
        304,
        "The picture that the client has (`If-None-Match`) is still the right one.",
        media_type=None,
        headers=("ETag",),
    ),
    query=schemas.PageImageQuery,
    headers=("If-None-Match",),
    errors=(
        *("DOCUMENT_NOT_FOUND", "CHUNK_NOT_FOUND", "PAGES_UNAVAILABLE", "PAGE_NOT_FOUND", "PAGE_UNREADABLE"),
        *("DOCUMENT_CONTENT_UNAVAILABLE", "SERVICE_UNAVAILABLE"),
    ),
    description="PDFs have pages, numbered from 1. The picture is drawn in a process that can reach nothing else.",
)
async def show_page(request: Request) -> Response:
    """A page as PNG."""
    query = read_query(request, schemas.PageImageQuery)
    number = request.path_params["number"]
    if not (number.isascii() and number.isdecimal() and len(number) <= _MAX_NUMBER_DIGITS):
        raise KnowledgeError("PAGE_NOT_FOUND")
    pages = services(request).pages
    view = await pages.view(request.path_params["document_id"], int(number), query.width, query.chunkId)
    etag = f'"{view.tag}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    known = [item.strip().removeprefix("W/") for item in request.headers.get("if-none-match", "").split(",")]
    if etag in known:
        return Response(status_code=304, headers=headers)
    image = await pages.draw(view)
    return Response(image.data, headers=headers, media_type=image.media_type)
