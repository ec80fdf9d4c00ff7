"""The list of documents."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.documents import Collection, DocumentStatus, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import notices, outcomes
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.feeds import feeds, import_state, passed_over
from mcp_knowledge.interfaces.web.list_view import SORTS, STATUS_FILTERS, UNFILED, ListView, list_view
from mcp_knowledge.interfaces.web.paging import position_text
from mcp_knowledge.interfaces.web.samples import QUESTIONS
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import NEXT_STEPS, REASONS, STAGES
from mcp_knowledge.services import Services

OFFERED_COLLECTIONS = 200
_ALL: tuple[DocumentStatus, ...] = ("ready", "pending", "processing", "failed")

router = APIRouter(include_in_schema=False)


async def collection_names(services: Services, collection_ids: Iterable[str | None]) -> dict[str, str]:
    """The names of those that exist, by id."""
    names: dict[str, str] = {}
    for collection_id in {item for item in collection_ids if item}:
        try:
            names[collection_id] = (await services.collections.get(collection_id)).name
        except KnowledgeError:
            continue
    return names


@router.get("/")
async def documents_page(request: Request) -> HTMLResponse:
    """Every document, newest first, with how it stands; the place to add, change and remove them."""
    services = services_of(request)
    view = list_view(request.query_params)
    (items, after), numbers, total, formats = await asyncio.gather(
        services.library.list_documents(view.query()),
        _counts(services, view),
        services.status.document_counts(),
        services.library.document_formats(),
    )
    (collections, _), samples, incoming = await asyncio.gather(
        services.collections.list(OFFERED_COLLECTIONS), services.samples.present(), feeds(request)
    )
    counts = {
        name: sum(numbers.get(status, 0) for status in statuses or _ALL) for name, statuses in STATUS_FILTERS.items()
    }
    return render(
        request,
        "documents.html",
        view=view,
        items=items,
        counts=counts,
        empty=not any(total.get(status, 0) for status in _ALL),
        next_address=after and view.address(after=position_text(after)),
        notice=outcomes.read(request) or notices.read(request),
        feeds=incoming,
        import_state=import_state,
        passed_over=passed_over,
        samples=samples,
        questions=QUESTIONS,
        seen=now_ms(),
        sorts={name: label for name, (label, _, _) in SORTS.items()},
        accept=",".join(f".{item}" for item in sorted(services.intake.accepted_extensions)),
        max_bytes=services.settings.max_upload_bytes,
        words={"stages": STAGES, "reasons": REASONS, "nextSteps": NEXT_STEPS},
        **await _choices(services, view, collections, [item.collection_id for item in items]),
        formats=sorted(formats.items(), key=lambda item: (-item[1], item[0])),
    )


async def _counts(services: Services, view: ListView) -> dict[DocumentStatus, int]:
    """How many documents fit the view in each state, whatever state it asks for."""
    if not (view.search or view.collection or view.format):
        return await services.status.document_counts()
    return await services.library.count_documents(list_view(dict(view.fields("status"))).query())


async def _choices(
    services: Services, view: ListView, collections: Sequence[Collection], shown: Sequence[str | None]
) -> dict[str, Any]:
    """What can be chosen as a collection, and the names of those that are shown."""
    offered = sorted(collections, key=lambda item: item.name.casefold())
    names = {item.id: item.name for item in offered}
    names |= await collection_names(services, {item for item in (*shown, view.collection_id) if item not in names})
    if view.collection == UNFILED:
        place = "no collection"
    else:
        place = names.get(view.collection, "a collection that is gone") if view.collection else ""
    return {"offered": offered, "collections": names, "place": place}
