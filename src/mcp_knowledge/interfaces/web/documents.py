"""The list of documents."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.documents import DocumentStatus
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.paging import keyset_position, position_text
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import STAGES
from mcp_knowledge.ports import DocumentQuery, DocumentSort, Position
from mcp_knowledge.services import Services

PAGE_DOCUMENTS = 50

# What the filter offers, in the words of the page; `working` stands for both states before an outcome.
STATUS_FILTERS: dict[str, tuple[DocumentStatus, ...]] = {
    "all": (),
    "ready": ("ready",),
    "working": ("pending", "processing"),
    "failed": ("failed",),
}
SORTS: dict[str, tuple[DocumentSort, bool]] = {  # name → field, descending
    "newest": ("createdAt", True),
    "changed": ("updatedAt", True),
    "title": ("title", False),
    "largest": ("sizeBytes", True),
}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class ListView:
    """What the list shows, read from its address; unknown values fall back to the default."""

    status: str
    sort: str
    search: str
    collection_id: str | None
    after: Position | None

    @property
    def narrowed(self) -> bool:
        """Whether some documents are left out."""
        return self.status != "all" or bool(self.search) or self.collection_id is not None

    def query(self) -> DocumentQuery:
        """The view as the store's query."""
        field, descending = SORTS[self.sort]
        return DocumentQuery(
            collection_id=self.collection_id,
            statuses=STATUS_FILTERS[self.status],
            search=self.search or None,
            sort=field,
            descending=descending,
            limit=PAGE_DOCUMENTS,
            after=self.after,
        )

    def address(self, **changes: Any) -> str:
        """The address of this view with some values changed, from its first page unless `after` is given."""
        values = {"search": self.search, "status": self.status, "sort": self.sort, "collection": self.collection_id}
        values |= changes
        defaults = {"status": "all", "sort": "newest"}
        kept = {name: value for name, value in values.items() if value and value != defaults.get(name)}
        return f"/?{urlencode(kept)}" if kept else "/"


def list_view(request: Request) -> ListView:
    """Read the list's address."""
    values = request.query_params
    status, sort = values.get("status", "all"), values.get("sort", "newest")
    sort = sort if sort in SORTS else "newest"
    return ListView(
        status=status if status in STATUS_FILTERS else "all",
        sort=sort,
        search=values.get("search", "").replace("\0", "").strip()[:500],
        collection_id=values.get("collection") or None,
        after=keyset_position(values.get("after", ""), "doc", is_text=sort == "title"),
    )


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
    """Every document, newest first, with how it stands; the place to add and remove them."""
    services = services_of(request)
    view = list_view(request)
    items, after = await services.library.list_documents(view.query())
    numbers = await services.status.document_counts()
    counts = {
        name: sum(numbers.get(status, 0) for status in statuses or ("ready", "pending", "processing", "failed"))
        for name, statuses in STATUS_FILTERS.items()
    }
    return render(
        request,
        "documents.html",
        view=view,
        items=items,
        counts=counts,
        collections=await collection_names(services, [item.collection_id for item in items]),
        next_address=after and view.address(after=position_text(after)),
        notice=notices.read(request),
        accept=",".join(f".{item}" for item in sorted(services.intake.accepted_extensions)),
        max_bytes=services.settings.max_upload_bytes,
        stages=STAGES,
    )
