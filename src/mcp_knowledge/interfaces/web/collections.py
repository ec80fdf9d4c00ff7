"""Collections: the list, and the forms that make, change, empty and remove one."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import checked
from mcp_knowledge.interfaces.rest.schemas import CollectionCreate
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import Fields, form_fields, go
from mcp_knowledge.interfaces.web.paging import keyset_position, position_text
from mcp_knowledge.interfaces.web.templating import render

PAGE_COLLECTIONS = 50
OFFERED_COLLECTIONS = 200  # as places to move documents to
MAX_NAME_CHARS = 200
MAX_DESCRIPTION_CHARS = 2000
_AT_FAULT = ("INVALID_ARGUMENT", "COLLECTION_EXISTS")  # what the person at the form can put right

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a form was filled in with, and what was wrong with it; `collection_id` is None for a new collection."""

    collection_id: str | None
    name: str
    description: str
    fault: KnowledgeError

    @property
    def message(self) -> str:
        """The fault in a sentence."""
        if not self.name.strip():
            return "A collection needs a name."
        if len(self.name.strip()) > MAX_NAME_CHARS:
            return f"A name may have {MAX_NAME_CHARS} characters."
        if len(self.description) > MAX_DESCRIPTION_CHARS:
            return f"A description may have {MAX_DESCRIPTION_CHARS:,} characters."
        if self.fault.code == "COLLECTION_EXISTS":
            return "Another collection has this name. Choose a different one."
        return "There are characters in it that cannot be kept, such as control characters."


@router.get("/collections")
async def collections_page(request: Request) -> HTMLResponse:
    """Every collection, newest first; the place to make and change them."""
    return await _list(request, request.query_params.get("after", ""))


@router.post("/collections")
async def create(request: Request) -> Response:
    """Make one, then show the list; or the form again, with what was wrong."""
    fields = await form_fields(request)
    try:
        wanted = _wanted(fields)
        made = await services_of(request).collections.create(wanted.name, wanted.description or None)
    except KnowledgeError as error:
        return await _again(request, fields, None, error)
    return go(f"/collections?notice=collection-made#{made.id}")


@router.post("/collections/{collection_id}")
async def change(request: Request, collection_id: str) -> Response:
    """Rename or describe one, then show the list at the same place; or the form again, with what was wrong."""
    fields = await form_fields(request)
    try:
        wanted = _wanted(fields)
        await services_of(request).collections.update(collection_id, wanted.name, wanted.description or None)
    except KnowledgeError as error:
        return await _again(request, fields, collection_id, error)
    address = _address(after=fields.get("after"), notice="collection-changed")
    return go(f"{address}#{quote(collection_id, safe='')}")


@router.get("/collections/{collection_id}/delete")
async def delete_page(request: Request, collection_id: str) -> HTMLResponse:
    """Ask before one is deleted; of one that holds documents, ask where they belong."""
    return await _ask(request, collection_id)


@router.post("/collections/{collection_id}/delete")
async def delete(request: Request, collection_id: str) -> Response:
    """Delete one, its documents moved before if that was asked for; or ask again, with what keeps it."""
    fields = await form_fields(request)
    collections = services_of(request).collections
    moved = False
    try:
        if fields.get("documents") == "move":
            moved = await collections.move_documents(collection_id, fields.get("target") or None) > 0
        await collections.delete(collection_id)
    except KnowledgeError as error:
        if error.code != "COLLECTION_NOT_EMPTY":
            raise
        return await _ask(request, collection_id, error)
    return go(_address(notice="collection-emptied" if moved else "collection-deleted"))


def _address(**values: str) -> str:
    given = {name: value for name, value in values.items() if value}
    return f"/collections?{urlencode(given)}" if given else "/collections"


def _wanted(fields: Fields) -> CollectionCreate:
    """What the form asks for. Raises INVALID_ARGUMENT."""
    return checked(CollectionCreate, {"name": fields.get("name"), "description": _description(fields)})


def _description(fields: Fields) -> str:
    return fields.get("description").replace("\r\n", "\n").strip()


async def _again(request: Request, fields: Fields, collection_id: str | None, fault: KnowledgeError) -> HTMLResponse:
    if fault.code not in _AT_FAULT:
        raise fault
    draft = Draft(collection_id, fields.get("name"), _description(fields), fault)
    return await _list(request, fields.get("after"), draft)


async def _list(request: Request, after_text: str, draft: Draft | None = None) -> HTMLResponse:
    items, after = await services_of(request).collections.list(PAGE_COLLECTIONS, keyset_position(after_text, "col"))
    return render(
        request,
        "collections.html",
        200 if draft is None else draft.fault.status,
        items=items,
        draft=draft,
        after=after_text,
        next_address=after and _address(after=position_text(after)),
        notice=notices.read(request),
        max_name_chars=MAX_NAME_CHARS,
        max_description_chars=MAX_DESCRIPTION_CHARS,
    )


async def _ask(request: Request, collection_id: str, fault: KnowledgeError | None = None) -> HTMLResponse:
    collections = services_of(request).collections
    collection = await collections.get(collection_id)
    context: dict[str, Any] = {"others": [], "more": False}
    if collection.document_count:
        offered, after = await collections.list(OFFERED_COLLECTIONS + 1)
        context["others"] = sorted(
            (item for item in offered if item.id != collection_id), key=lambda item: item.name.casefold()
        )
        context["more"] = after is not None
    status = 200 if fault is None else fault.status
    return render(request, "collection_delete.html", status, collection=collection, fault=fault, **context)
