"""Adding a document from the web: a form, which works without scripts, and what became of it."""

from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from mcp_knowledge.domain.urls import MAX_URL_CHARS
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import body_pieces
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.documents import services_of
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import NEXT_STEPS
from mcp_knowledge.services.archives import ArchiveReceipt

_MAX_FORM_BYTES = 16 * 1024  # each character of the longest address may take up to nine

router = APIRouter(include_in_schema=False)


@router.get("/documents/from-url")
async def from_url_page(request: Request) -> HTMLResponse:
    """The form by itself."""
    return _form(request, "")


@router.post("/documents/from-url")
async def add_from_url(request: Request) -> Response:
    """Fetch, then show the list with a message; or the form again, with what went wrong."""
    url = await _read_url(request)
    try:
        receipt = await services_of(request).urls.add(url)
    except KnowledgeError as error:
        return _form(request, url, error)
    if isinstance(receipt, ArchiveReceipt):
        address = f"/imports/{quote(receipt.archive_id)}"
    else:
        address = (notices.known if receipt.duplicate else notices.added)(receipt.document_id)
    return RedirectResponse(address, status_code=303)


async def _read_url(request: Request) -> str:
    body = bytearray()
    async for piece in body_pieces(request):
        body += piece
        if len(body) > _MAX_FORM_BYTES:
            raise KnowledgeError("PAYLOAD_TOO_LARGE", f"An address may have {MAX_URL_CHARS:,} characters.")
    try:
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=10))
    except ValueError:
        raise KnowledgeError("INVALID_REQUEST", "The form has too many fields.") from None
    return fields.get("url", "").strip()


def _form(request: Request, url: str, error: KnowledgeError | None = None) -> HTMLResponse:
    max_bytes = services_of(request).settings.max_upload_bytes
    if error is None:
        return render(request, "from_url.html", url=url, notice=None, max_bytes=max_bytes)
    reason = error.message.removeprefix("url: ")
    notice = notices.Notice(f"{reason} {NEXT_STEPS.get(error.code, '')}".strip(), bad=True)
    return render(request, "from_url.html", error.status, url=url, notice=notice, max_bytes=max_bytes)
