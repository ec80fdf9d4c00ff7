"""What the list of documents shows: read from its address or from the form of a page that showed it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

from mcp_knowledge.domain.documents import DocumentStatus
from mcp_knowledge.interfaces.web.paging import keyset_position
from mcp_knowledge.ports import DocumentQuery, DocumentSort, Position

PAGE_DOCUMENTS = 50
UNFILED = "none"  # in the place of a collection's id
MAX_SEARCH_CHARS = 500
_MAX_FORMAT_CHARS = 20
_MAX_ID_CHARS = 80

# What the filter offers, in the words of the page; `working` stands for both states before an outcome.
STATUS_FILTERS: dict[str, tuple[DocumentStatus, ...]] = {
    "all": (),
    "ready": ("ready",),
    "working": ("pending", "processing"),
    "failed": ("failed",),
}
SORTS: dict[str, tuple[str, DocumentSort, bool]] = {  # name → label, field, descending
    "newest": ("Newest first", "createdAt", True),
    "oldest": ("Oldest first", "createdAt", False),
    "changed": ("Last changed", "updatedAt", True),
    "title": ("By title", "title", False),
    "largest": ("Largest first", "sizeBytes", True),
}
_DEFAULTS = {"status": "all", "sort": "newest"}


class Values(Protocol):
    """A query string, or the fields of a form."""

    def get(self, key: str, default: str, /) -> str:
        """The first value of this name."""
        ...


@dataclass(frozen=True, slots=True)
class ListView:
    """What the list shows; values that make no sense fall back to the default.

    Args:
        collection: a collection's id, `none` for documents in none, empty for all.
        format: an extension without its dot, empty for all.
    """

    status: str
    sort: str
    search: str
    collection: str
    format: str
    after: Position | None = None

    @property
    def collection_id(self) -> str | None:
        """The collection that is shown, if it is one."""
        return self.collection if self.collection != UNFILED and self.collection else None

    @property
    def narrowed(self) -> bool:
        """Whether some documents are left out."""
        return self.status != "all" or bool(self.search or self.collection or self.format)

    def query(self) -> DocumentQuery:
        """The view as the store's query."""
        _, field, descending = SORTS[self.sort]
        return DocumentQuery(
            collection_id=self.collection_id,
            unfiled=self.collection == UNFILED,
            statuses=STATUS_FILTERS[self.status],
            extensions=(self.format,) if self.format else (),
            search=self.search or None,
            sort=field,
            descending=descending,
            limit=PAGE_DOCUMENTS,
            after=self.after,
        )

    def fields(self, *left_out: str) -> Iterator[tuple[str, str]]:
        """What a form has to carry so that this view is known, without those that it asks for itself."""
        values = {
            "search": self.search,
            "status": self.status,
            "collection": self.collection,
            "format": self.format,
            "sort": self.sort,
        }
        for name, value in values.items():
            if value and value != _DEFAULTS.get(name) and name not in left_out:
                yield name, value

    def address(self, **changes: Any) -> str:
        """The address of this view with some values changed, from its first page unless `after` is given."""
        values = dict(self.fields()) | changes
        kept = {name: value for name, value in values.items() if value and value != _DEFAULTS.get(name)}
        return f"/?{urlencode(kept)}" if kept else "/"


def list_view(values: Values) -> ListView:
    """Read a view. Raises INVALID_CURSOR."""
    status, sort = values.get("status", "all"), values.get("sort", "newest")
    sort = sort if sort in SORTS else "newest"
    return ListView(
        status=status if status in STATUS_FILTERS else "all",
        sort=sort,
        search=_text(values, "search", MAX_SEARCH_CHARS),
        collection=_text(values, "collection", _MAX_ID_CHARS),
        format=_text(values, "format", _MAX_FORMAT_CHARS).lower(),
        after=keyset_position(values.get("after", ""), "doc", is_text=sort == "title"),
    )


def _text(values: Values, name: str, most_chars: int) -> str:
    return values.get(name, "").replace("\0", "").strip()[:most_chars]
