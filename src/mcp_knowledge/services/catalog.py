"""The document catalog: a light list for clients that keep a mirror of the corpus."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.domain.cursors import CursorSigner, bind
from mcp_knowledge.domain.documents import Document, DocumentStatus
from mcp_knowledge.domain.filters import Filter, parse_filters
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import DocumentQuery, Position, Store
from mcp_knowledge.settings import Settings

CATALOG_FIELDS = ("id", "revisionId", "title", "sourcePath", "metadata", "status", "updatedAt")
DEFAULT_CATALOG_FIELDS = CATALOG_FIELDS[:5]
DEFAULT_CATALOG_LIMIT = 50
# A deleted document is gone for readers at once, although its content is removed a little later.
CATALOG_STATUSES: dict[str, tuple[DocumentStatus, ...]] = {
    "pending": ("pending",),
    "processing": ("processing",),
    "ready": ("ready",),
    "failed": ("failed",),
    "deleted": ("deleting", "deleted"),
}
_CURSOR_KIND = "catalog"
_VERSION = re.compile(r"generation:(0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """One answer. `documents` is None when the caller's version is still the current one.

    Args:
        generation: the corpus generation, read before the documents: a page is never stamped newer than it is.
        fields: the names of `CATALOG_FIELDS` that the caller asked for, in the caller's order.
    """

    generation: int
    documents: tuple[Document, ...] | None
    fields: tuple[str, ...]
    next_cursor: str | None


class Catalog:
    """Pages through documents by (creation time, id), newest first."""

    def __init__(self, store: Store, cursors: CursorSigner, settings: Settings) -> None:
        self._store = store
        self._cursors = cursors
        self._max_limit = settings.max_list_limit

    async def page(
        self,
        *,
        limit: int = DEFAULT_CATALOG_LIMIT,
        cursor: str | None = None,
        status: str = "ready",
        collection_id: str | None = None,
        filters: Any = None,
        fields: Sequence[str] | None = None,
        if_corpus_version: str | None = None,
    ) -> CatalogPage:
        """One page of the catalog.

        Args:
            limit: most documents of the page.
            cursor: `next_cursor` of the page before.
            status: a key of `CATALOG_STATUSES`.
            filters: metadata filters as the client sent them.
            fields: names of `CATALOG_FIELDS`; the first five when omitted.
            if_corpus_version: `generation:<n>`; when it is the current one, no documents are read.

        Raises:
            KnowledgeError: INVALID_ARGUMENT, INVALID_FILTER, INVALID_PROJECTION, INVALID_CORPUS_VERSION or
                INVALID_CURSOR.
        """
        if not 1 <= limit <= self._max_limit:
            raise KnowledgeError("INVALID_ARGUMENT", f"limit must be from 1 to {self._max_limit}.")
        if status not in CATALOG_STATUSES:
            raise KnowledgeError("INVALID_ARGUMENT", f"status must be one of {', '.join(CATALOG_STATUSES)}.")
        chosen = _projection(fields)
        conditions = () if filters is None else parse_filters(filters)
        known = None if if_corpus_version is None else _generation(if_corpus_version)
        generation = await self._store.generation()
        if known == generation:
            return CatalogPage(generation, None, chosen, None)
        binding = _binding(status, collection_id, conditions, chosen)
        query = DocumentQuery(
            collection_id=collection_id,
            statuses=CATALOG_STATUSES[status],
            filters=conditions,
            limit=limit + 1,
            after=None if cursor is None else self._position(cursor, binding),
        )
        documents = await self._store.list_documents(query)
        items = tuple(documents[:limit])
        more = len(documents) > limit
        return CatalogPage(generation, items, chosen, self._cursor(items[-1], binding) if more else None)

    def _cursor(self, last: Document, binding: str) -> str:
        return self._cursors.make(_CURSOR_KIND, [binding, last.created_at_ms, last.id])

    def _position(self, cursor: str, binding: str) -> Position:
        made_for, created_at_ms, document_id = self._cursors.read(_CURSOR_KIND, cursor)
        if made_for != binding:
            raise KnowledgeError("INVALID_CURSOR")
        return Position(created_at_ms, document_id)


def _projection(fields: Sequence[str] | None) -> tuple[str, ...]:
    if fields is None:
        return DEFAULT_CATALOG_FIELDS
    chosen = tuple(dict.fromkeys(fields))
    if not chosen or not set(chosen) <= set(CATALOG_FIELDS):
        raise KnowledgeError("INVALID_PROJECTION", f"fields may name {', '.join(CATALOG_FIELDS)}.")
    return chosen


def _generation(version: str) -> int:
    match = _VERSION.fullmatch(version)
    if match is None:
        raise KnowledgeError("INVALID_CORPUS_VERSION")
    return int(match[1])


def _binding(status: str, collection_id: str | None, conditions: tuple[Filter, ...], fields: tuple[str, ...]) -> str:
    parts = [[item.field, item.operator, item.value] for item in conditions]
    return bind([status, collection_id, parts, fields])
