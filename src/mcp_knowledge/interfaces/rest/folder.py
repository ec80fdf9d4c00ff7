"""`/ingest`: the scan of the folder, and every file that was passed over or failed."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.domain.folder import PASSED_OVER
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest.arguments import read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.interfaces.rest.schemas.folder import ScanFilePage, ScanFilesQuery, ScanStatus

SHOWN_FILES = 100

operations = Operations("Folder")


@operations.add(
    "GET",
    "/ingest/scan-status",
    "Show how the scan of the folder stands",
    Answer(200, "The scan at work, or the last one.", ScanStatus),
)
async def scan_status(request: Request) -> Response:
    """The status, with the first files that were passed over or failed."""
    folders = services(request).folders
    status = await folders.status()
    files = [] if status.state == "disabled" else (await folders.files(SHOWN_FILES))[0]
    return json_response(wire.scan_status(status, files))


@operations.add(
    "GET",
    "/ingest/scan-files",
    "List the files of the folder that were passed over or failed",
    Answer(200, "A page, by path.", ScanFilePage),
    query=ScanFilesQuery,
    errors=("INVALID_CURSOR",),
)
async def scan_files(request: Request) -> Response:
    """A page of files with their reasons."""
    query = read_query(request, ScanFilesQuery)
    paging = Paging(request, "scan-files", query)
    after = paging.values()
    outcomes = PASSED_OVER if query.outcome is None else (query.outcome,)
    items, last = await services(request).folders.files(paging.limit, after[0] if after else None, outcomes)
    return json_response(
        wire.page([wire.scan_file(item) for item in items], None if last is None else paging.next(last))
    )
