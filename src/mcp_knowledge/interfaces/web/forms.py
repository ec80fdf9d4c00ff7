"""What the pages' forms do, so that everything works without scripts. Each ends in a redirect."""

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.uploads import receive_upload
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.bulk import view_left
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import came_from, go
from mcp_knowledge.services.archives import ArchiveReceipt
from mcp_knowledge.services.library import Filing

router = APIRouter(include_in_schema=False)


@router.post("/upload")
async def upload(request: Request) -> RedirectResponse:
    """Take a file in, then show the list with a message."""
    services = services_of(request)
    try:
        form = await receive_upload(request, services.intake, services.settings.max_upload_bytes)
        receipt = await services.intake.add(form.file, Filing(form.collection_id, form.metadata))
    except KnowledgeError as error:
        return go(notices.refused(error.code, view_left(request).address()))
    if isinstance(receipt, ArchiveReceipt):
        return go(f"/imports/{quote(receipt.archive_id)}")
    tell = notices.known if receipt.duplicate else notices.added
    return go(tell(receipt.document_id, view_left(request).address()))


@router.post("/documents/{document_id}/reindex")
async def reindex_document(request: Request, document_id: str) -> RedirectResponse:
    """Read the original again, then show the page that asked for it: the list, or the document."""
    outcome = "again"
    try:
        await services_of(request).library.reindex_document(document_id)
    except KnowledgeError as error:
        if error.code != "DOCUMENT_BUSY":
            raise
        outcome = "busy"
    from_list = came_from(request).partition("?")[0] == "/" and "referer" in request.headers
    address = view_left(request).address() if from_list else f"/documents/{quote(document_id)}"
    return go(notices.told_at(address, outcome))
