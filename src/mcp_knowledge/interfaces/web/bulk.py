"""Many documents at once: move, tag, read again, delete, and taking a deletion back."""

import re
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import checked
from mcp_knowledge.interfaces.rest.schemas import CollectionCreate
from mcp_knowledge.interfaces.web import outcomes
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import Fields, came_from, form_fields, go, whole_number
from mcp_knowledge.interfaces.web.list_view import PAGE_DOCUMENTS, UNFILED, ListView, list_view
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.ports import Change, Move, Reindex, Tag, Untag
from mcp_knowledge.services import Services
from mcp_knowledge.services.errands import Work

PATIENCE_S = 1.5  # a change that takes longer shows its progress
NEW_COLLECTION = "new"
_MOST_FIELDS = PAGE_DOCUMENTS + 30
_MAX_KEY_CHARS = 100
_MAX_VALUE_CHARS = 2000
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_NAMES: dict[type[Change], str] = {Move: "moved", Tag: "tagged", Untag: "untagged", Reindex: "reread"}

router = APIRouter(include_in_schema=False)


class _Fault(Exception):
    """What was wrong with a form, by its name in `outcomes`."""


@router.post("/documents/bulk")
async def change_documents(request: Request) -> RedirectResponse:
    """Change those that are ticked, or all that fit; then show the list with numbers, or how far it has come."""
    services = services_of(request)
    fields = await form_fields(request, max_fields=_MOST_FIELDS)
    view = list_view(fields)
    try:
        ids = await _chosen(services, fields, view)
        if fields.get("do") == "delete":
            return await _run(services, len(ids), view, "removed", lambda told: services.bulk.delete(ids, told=told))
        change = await _change(services, fields)
    except _Fault as fault:
        return go(outcomes.fault_at(view.address(), str(fault)))
    return await _run(services, len(ids), view, _NAMES[type(change)], partial(services.bulk.change, ids, change))


async def _run(services: Services, total: int, view: ListView, name: str, work: Work) -> RedirectResponse:
    errand = await services.errands.run(name, total, work, PATIENCE_S)
    if errand.outcome is not None:
        return go(outcomes.told_at(view.address(), name, errand.outcome))
    return go(f"/documents/bulk/{errand.id}{view.address()[1:]}")


@router.get("/documents/bulk/{errand_id}")
async def progress_page(request: Request, errand_id: str) -> Response:
    """How far a change has come; the list, with what became of it, when it has ended."""
    errand = services_of(request).errands.get(errand_id)
    address = list_view(request.query_params).address()
    if errand is None:
        return go(outcomes.fault_at(address, "under-way"))
    if errand.outcome is not None:
        return go(outcomes.told_at(address, errand.name, errand.outcome))
    if errand.broken_off:
        return go(outcomes.fault_at(address, "broken-off", errand.done))
    return render(request, "bulk.html", errand=errand)


@router.post("/documents/restore")
async def restore_documents(request: Request) -> RedirectResponse:
    """Take a deletion back, then show the list from which it was made."""
    services = services_of(request)
    until_ms = whole_number((await form_fields(request)).get("until")) or 0
    ids = await services.bulk.restorable(until_ms)
    if not ids and until_ms > now_ms():  # as on a page that somebody went back to
        return go(outcomes.fault_at(view_left(request).address(), "undone"))
    return await _run(services, len(ids), view_left(request), "restored", partial(services.bulk.restore_all, ids))


@router.post("/documents/{document_id}/delete")
async def delete_document(request: Request, document_id: str) -> RedirectResponse:
    """Delete one, then show the list, where that can be undone."""
    outcome = await services_of(request).bulk.delete([document_id])
    if outcome.refused:
        raise KnowledgeError("DOCUMENT_NOT_FOUND")
    return go(outcomes.told_at(view_left(request).address(), "removed", outcome))


def view_left(request: Request) -> ListView:
    """The list whose form this is; the whole list for a form of another page."""
    address = urlsplit(came_from(request))
    try:
        values = parse_qs(address.query, max_num_fields=50) if address.path == "/" else {}
        return replace(list_view(Fields(values)), after=None)
    except (KnowledgeError, ValueError):
        return list_view(Fields({}))


async def _chosen(services: Services, fields: Fields, view: ListView) -> list[str]:
    if "all" not in fields:
        ids = list(dict.fromkeys(fields.all("document")))
    else:
        # What came after the page was made, nobody has seen.
        query = replace(view.query(), after=None, created_until_ms=whole_number(fields.get("seen")))
        ids = await services.bulk.choose(query)
    if not ids:
        raise _Fault("choose")
    return ids


async def _change(services: Services, fields: Fields) -> Change:
    match fields.get("do"):
        case "move":
            return Move(await _collection(services, fields.get("into"), fields.get("name").strip()))
        case "tag":
            return Tag(_key(fields), tag_value(fields.get("value")))
        case "untag":
            return Untag(_key(fields))
        case "reindex":
            return Reindex()
        case _:
            raise KnowledgeError("INVALID_REQUEST", "This form asks for nothing that can be done.")


async def _collection(services: Services, into: str, name: str) -> str | None:
    if into == UNFILED:
        return None
    try:
        if into == NEW_COLLECTION or (not into and name):
            return (await services.collections.named(checked(CollectionCreate, {"name": name}).name)).id
        return (await services.collections.get(into)).id
    except KnowledgeError as error:
        raise _Fault("collection-gone" if error.code == "COLLECTION_NOT_FOUND" and into else "collection") from None


def _key(fields: Fields) -> str:
    key = fields.get("key").strip()
    if not 0 < len(key) <= _MAX_KEY_CHARS or not key.isprintable():
        raise _Fault("key")
    return key


def tag_value(text: str) -> str | int | float | bool:
    """What somebody has written as a value: a number, true or false, or a text; in quotes it is always a text."""
    text = text.replace("\0", "").strip()[:_MAX_VALUE_CHARS]
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
