"""`/archives`: imports of archives and what became of their files."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import large_json_response

operations = Operations("Archives")


@operations.add(
    "GET",
    "/archives",
    "List imports of archives",
    Answer(200, "A page, newest first.", schemas.ArchivePage),
    query=schemas.PageQuery,
    errors=("INVALID_CURSOR",),
)
async def list_archives(request: Request) -> Response:
    """A page of imports."""
    archives = services(request).archives
    paging = Paging(request, "archives", read_query(request, schemas.PageQuery))
    items, after = await archives.list(paging.limit, paging.position())
    entries = await archives.entries([item.id for item in items])
    return await large_json_response(
        lambda: wire.page(
            [wire.archive_with_entries(item, entries[item.id]) for item in items], paging.next_after(after)
        )
    )


@operations.add(
    "GET",
    "/archives/{archive_id}",
    "Show the import of an archive",
    Answer(200, "The import, with what became of each file.", schemas.Archive),
    errors=("ARCHIVE_NOT_FOUND",),
)
async def get_archive(request: Request) -> Response:
    """One import."""
    archives = services(request).archives
    item = await archives.get(request.path_params["archive_id"])
    entries = (await archives.entries([item.id]))[item.id]
    return await large_json_response(lambda: wire.archive_with_entries(item, entries))
