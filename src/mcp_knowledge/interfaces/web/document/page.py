"""One document with its passages."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.documents import collection_names
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services

PAGE_PASSAGES = 50

router = APIRouter(include_in_schema=False)


async def _first_sequence(services: Services, request: Request) -> tuple[int, str | None]:
    """The first passage to show, and the id of the one that a link asked for."""
    chunk_id = request.query_params.get("passage")
    if chunk_id:
        try:
            found = (await services.contents.chunk_with_neighbours(chunk_id[:100]))[0]
        except KnowledgeError:
            return 0, None  # the document changed since the link was made: show it from its start
        return found.sequence // PAGE_PASSAGES * PAGE_PASSAGES, found.id
    text = request.query_params.get("from", "1")
    first = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
    return max(0, first - 1), None


@router.get("/documents/{document_id}")
async def document_page(request: Request, document_id: str) -> HTMLResponse:
    """One document: how it stands, where it came from, and the passages that search can find."""
    services = services_of(request)
    document = await services.library.get_document(document_id)
    revisions = await services.contents.revisions(document_id)
    first, wanted = await _first_sequence(services, request)
    chunks, after = await services.contents.chunks(document_id, PAGE_PASSAGES, first - 1)
    return render(
        request,
        "document.html",
        document=document,
        revision=next((item for item in revisions if item.current), revisions[0] if revisions else None),
        revisions=revisions,
        collections=await collection_names(services, [document.collection_id]),
        chunks=chunks,
        wanted=wanted,
        previous_from=max(1, first + 1 - PAGE_PASSAGES) if first else None,
        next_from=None if after is None else after + 2,
        notice=notices.read(request),
    )
