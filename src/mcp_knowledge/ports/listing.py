"""Which documents a list shows."""

from dataclasses import dataclass
from typing import Literal

from mcp_knowledge.domain.documents import DocumentStatus
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.ports.terms import Position

DocumentSort = Literal["createdAt", "updatedAt", "title", "sizeBytes"]


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """Which documents to list, in which order. Without `statuses`, all but deleting and deleted ones.

    Args:
        unfiled: those in no collection.
        extensions: lower-case, without the dot; empty: any.
        created_until_ms: leaves out what came later.
    """

    collection_id: str | None = None
    statuses: tuple[DocumentStatus, ...] = ()
    search: str | None = None
    filters: tuple[Filter, ...] = ()
    sort: DocumentSort = "createdAt"
    descending: bool = True
    limit: int = 50
    after: Position | None = None
    unfiled: bool = False
    extensions: tuple[str, ...] = ()
    created_until_ms: int | None = None
