"""Adding a document from the web: a form, which works without scripts, and what became of it."""

from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import form_fields, go
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import NEXT_STEPS
from mcp_knowledge.services.archives import ArchiveReceipt

router = APIRouter(include_in_schema=False)


@router.get("/documents/from-url")
async def from_url_page(request: Request) -> HTMLResponse:
    """The form by itself."""
    return _form(request, "")


@router.post("/documents/from-url")
async def add_from_url(request: Request) -> Response:
    """Fetch, then show the list with a message; or the form again, with what went wrong."""
    fields = await form_fields(request)
    url, collection_id = fields.get("url").strip(), fields.get("collection") or None
    try:
        receipt = await services_of(request).urls.add(url, collection_id)
    except KnowledgeError as error:
        return _form(request, url, error, collection_id)
    if isinstance(receipt, ArchiveReceipt):
        address = f"/imports/{quote(receipt.archive_id)}"
    else:
        tell = notices.known if receipt.duplicate else notices.added
        address = tell(receipt.document_id, f"/?{urlencode({'collection': collection_id})}" if collection_id else "/")
    return go(address)


def _form(
    request: Request, url: str, error: KnowledgeError | None = None, collection_id: str | None = None
) -> HTMLResponse:
    max_bytes = services_of(request).settings.max_upload_bytes
    values: dict[str, Any] = {"url": url, "collection": collection_id, "max_bytes": max_bytes}
    if error is None:
        return render(request, "from_url.html", notice=None, **values)
    reason = error.message.removeprefix("url: ")
    notice = notices.Notice(f"{reason} {NEXT_STEPS.get(error.code, '')}".strip(), bad=True)
    return render(request, "from_url.html", error.status, notice=notice, **values)
