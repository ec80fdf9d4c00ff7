"""What the pages' forms do, so that everything works without scripts. Each ends in a redirect."""

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.uploads import receive_upload
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import go
from mcp_knowledge.interfaces.web.templating import render
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
        return go(notices.refused(error.code))
    if isinstance(receipt, ArchiveReceipt):
        return go(f"/imports/{quote(receipt.archive_id)}")
    if receipt.duplicate:
        return go(notices.known(receipt.document_id))
    return go(notices.added(receipt.document_id))


@router.get("/documents/{document_id}/delete")
async def delete_page(request: Request, document_id: str) -> HTMLResponse:
    """Ask before a document is deleted."""
    document = await services_of(request).library.get_document(document_id)
    return render(request, "delete.html", document=document)


@router.post("/documents/{document_id}/delete")
async def delete_document(request: Request, document_id: str) -> RedirectResponse:
    """Delete, then show the list."""
    library = services_of(request).library
    await library.delete_document(document_id)
    return go("/?notice=deleted")


@router.post("/documents/{document_id}/reindex")
async def reindex_document(request: Request, document_id: str) -> RedirectResponse:
    """Read the original again, then show the document."""
    outcome = "again"
    try:
        await services_of(request).library.reindex_document(document_id)
    except KnowledgeError as error:
        if error.code != "DOCUMENT_BUSY":
            raise
        outcome = "busy"
    return go(f"/documents/{quote(document_id)}?notice={outcome}")
