"""The page of one document, in five views: each is an address."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.documents import StoredChunk
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.document.form import DetailsForm, form_of
from mcp_knowledge.interfaces.web.document.outline import outline_of
from mcp_knowledge.interfaces.web.document.pieces import read_place
from mcp_knowledge.interfaces.web.document.place import find_passage
from mcp_knowledge.interfaces.web.document.reading import ReadingPage, read_page
from mcp_knowledge.interfaces.web.document.view import VIEWS, DocumentView
from mcp_knowledge.interfaces.web.document.viewer import Viewer, page_number, viewer
from mcp_knowledge.interfaces.web.documents import collection_names
from mcp_knowledge.interfaces.web.paging import offset
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services

PAGE_PASSAGES = 50
_MAX_ID_CHARS = 100

router = APIRouter(include_in_schema=False)


@router.get("/documents/{document_id}")
async def document_page(request: Request, document_id: str) -> HTMLResponse:
    """One document: what search can find in it, what it was made of, and what is known of it."""
    return await show(request, document_id)


async def show(
    request: Request, document_id: str, form: DetailsForm | None = None, status_code: int = 200
) -> HTMLResponse:
    """The page, in the view that the address names; with a form that was filled in, the details."""
    services = services_of(request)
    view = await _view(services, request, document_id, "details" if form else None)
    more: dict[str, Any] = {"passages": None, "reading": None, "viewer": None, "form": form, "outline": None}
    if view.name == "passages":
        more["passages"] = passages = await _passages(services, request, view)
        more["outline"] = await outline_of(services.contents, view.document.current_revision_id)
        begins = passages.chunks[0].location.page_start if passages.chunks else None
        more["viewer"] = await _viewer(services, request, view, begins)
    elif view.name == "reading" and view.document.current_revision_id:
        more["reading"], shown_page = await _reading(services, request, view)
        more["outline"] = await outline_of(services.contents, view.document.current_revision_id)
        more["viewer"] = await _viewer(services, request, view, shown_page)
    elif view.name == "original":
        more["viewer"] = await _viewer(services, request, view, None)
    elif view.name == "details" and form is None and "edit" in request.query_params:
        more["form"] = await form_of(services, document_id)
    details = await services.editing.details(document_id)
    return render(
        request,
        "document.html",
        status_code,
        view=view,
        views=VIEWS,
        document=view.document,
        details=details,
        collections=await collection_names(services, [view.document.collection_id]),
        notice=notices.read(request),
        accept=",".join(f".{item}" for item in sorted(services.library.accepted_extensions)),
        max_bytes=services.settings.max_upload_bytes,
        **more,
    )


async def _view(services: Services, request: Request, document_id: str, name: str | None) -> DocumentView:
    document = await services.library.get_document(document_id)
    revisions = await services.contents.revisions(document_id)
    shown = [item for item in revisions if item.id == document.current_revision_id] or revisions[:1]
    name = name or request.query_params.get("view", "passages")
    wanted = request.query_params.get("passage", "")
    passage = await _passage(services, document_id, wanted) if wanted else None
    return DocumentView(
        name=name if name in VIEWS else "passages",
        document=document,
        revisions=revisions,
        revision=shown[0] if shown else None,
        paged=bool(shown) and services.pages.drawable(shown[0]),
        passage=passage,
        lost=bool(wanted) and passage is None,
    )


async def _passage(services: Services, document_id: str, chunk_id: str) -> StoredChunk | None:
    try:
        return await services.reading.chunk(document_id, chunk_id[:_MAX_ID_CHARS].replace("\0", ""))
    except KnowledgeError:
        return None  # the document changed since the link was made


@dataclass(frozen=True, slots=True)
class Passages:
    """A page of the list of passages; the numbers count from 1."""

    chunks: list[StoredChunk]
    previous_from: int | None
    next_from: int | None


async def _passages(services: Services, request: Request, view: DocumentView) -> Passages:
    first = await _first_sequence(services, request, view)
    chunks, after = await services.contents.chunks(view.document.id, PAGE_PASSAGES, first - 1)
    return Passages(chunks, max(1, first + 1 - PAGE_PASSAGES) if first else None, None if after is None else after + 2)


async def _first_sequence(services: Services, request: Request, view: DocumentView) -> int:
    """The first passage to show: of the page that holds the one asked for, or of a section."""
    if view.passage is not None:
        return view.passage.sequence // PAGE_PASSAGES * PAGE_PASSAGES
    section = request.query_params.get("section", "")
    if section and view.document.current_revision_id:
        path = (await outline_of(services.contents, view.document.current_revision_id)).path_of(section)
        return (path and await services.contents.section_start(view.document.id, path)) or 0
    return offset(request.query_params.get("from", ""))


async def _reading(services: Services, request: Request, view: DocumentView) -> tuple[ReadingPage | None, int | None]:
    """The page of the text, and the original's page that it begins on."""
    contents, revision_id, chunk = services.contents, view.document.current_revision_id, view.passage
    assert revision_id is not None
    try:
        place = None
        if chunk is not None:
            place = await find_passage(contents, chunk, (await outline_of(contents, revision_id)).entries)
        page = await read_page(contents, revision_id, read_place(request.query_params.get("from", "")), chunk, place)
    except KnowledgeError:
        return None, None  # it was replaced at this moment
    located = (block.location.page_start for block in page.blocks if block.location)
    return page, next((number for number in located if number is not None), None)


async def _viewer(services: Services, request: Request, view: DocumentView, shown_page: int | None) -> Viewer | None:
    """The original's page beside the text: the one asked for, else the passage's, else where the text begins."""
    if view.revision is None:
        return None
    asked = page_number(request.query_params.get("page", ""))
    of_passage = view.passage.location.page_start if view.passage else None
    number = asked or of_passage or shown_page or 1
    return await viewer(services, view, view.revision, number)
