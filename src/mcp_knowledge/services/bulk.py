"""Many documents changed at once, and deletions taken back."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Change, DocumentChanges, DocumentQuery, Reindex, Store
from mcp_knowledge.services.events import Events

UNDO_MS = 30_000  # how long what was deleted on the dashboard can be brought back
_UNDO_MS_EACH = 30  # more for each document: the first of many must not be removed while others still have their turn
_AT_ONCE = 100  # documents of one transaction: others may write between two
_IDS_AT_ONCE = 2000

Told = Callable[[int], None]


def untold(done: int) -> None:
    """For changes whose progress nobody follows."""


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What became of a change.

    Args:
        changed: how many documents it reached.
        refused: how many it did not, by error code.
        until_ms: of a deletion: up to when it can be undone, in Unix milliseconds, which is also its name.
    """

    changed: int
    refused: dict[str, int]
    until_ms: int | None = None


class Bulk:
    """The use cases around many documents. Each goes through them in small transactions: one that is broken off has
    changed some documents wholly and the others not at all.

    Args:
        wake: tells the worker that a job waits.
    """

    def __init__(self, changes: DocumentChanges, store: Store, events: Events, wake: Callable[[], None]) -> None:
        self._changes, self._store, self._events, self._wake = changes, store, events, wake

    async def choose(self, query: DocumentQuery) -> list[str]:
        """Ids of all the query's documents; its limit does not count."""
        query, found = replace(query, limit=_IDS_AT_ONCE), list[str]()
        while page := await self._store.document_ids(query, found[-1] if found else ""):
            found += page
        return found

    async def change(self, document_ids: Sequence[str], change: Change, told: Told = untold) -> BulkOutcome:
        """Move, tag or read again.

        Args:
            told: called with the number of documents that have had their turn.

        Raises:
            KnowledgeError: COLLECTION_NOT_FOUND.
        """
        refused = Counter[str]()
        for start in range(0, len(document_ids), _AT_ONCE):
            some = document_ids[start : start + _AT_ONCE]
            faults = await self._changes.change(some, change)
            refused.update(faults.values())
            await self._tell([item for item in some if item not in faults])
            told(start + len(some))
            if isinstance(change, Reindex):
                self._wake()
        return BulkOutcome(len(document_ids) - refused.total(), dict(refused))

    async def delete(self, document_ids: Sequence[str], undo_ms: int = UNDO_MS, told: Told = untold) -> BulkOutcome:
        """Out of lists and search as they go. For `undo_ms`, and longer when they are many, they can be restored, then
        jobs remove the rest.
        """
        until_ms: int | None = None
        missing = 0
        if undo_ms:
            undo_ms += _UNDO_MS_EACH * (len(document_ids) - 1)
        for start in range(0, len(document_ids), _AT_ONCE):
            some = document_ids[start : start + _AT_ONCE]
            documents = await self._store.get_documents(some)
            deletion = await self._changes.delete(some, undo_ms, until_ms)
            until_ms = deletion.until_ms
            missing += len(deletion.missing)
            for item in documents.values():
                if item.id not in deletion.missing:
                    self._events.publish("document", replace(item, status="deleting", progress=None))
            told(start + len(some))
            await asyncio.sleep(0)
        if not undo_ms:
            self._wake()
        return BulkOutcome(
            len(document_ids) - missing,
            {"DOCUMENT_NOT_FOUND": missing} if missing else {},
            until_ms if undo_ms else None,
        )

    async def restorable(self, until_ms: int) -> list[str]:
        """Ids of a deletion's documents that can still be brought back."""
        return await self._changes.restorable(until_ms)

    async def restore_all(self, document_ids: Sequence[str], told: Told = untold) -> BulkOutcome:
        """Bring documents back."""
        refused = Counter[str]()
        for start in range(0, len(document_ids), _AT_ONCE):
            some = document_ids[start : start + _AT_ONCE]
            faults = await self._changes.restore(some)
            refused.update(faults.values())
            await self._tell([item for item in some if item not in faults])
            told(start + len(some))
        self._wake()
        return BulkOutcome(len(document_ids) - refused.total(), dict(refused))

    async def restore(self, document_id: str) -> Document:
        """Bring one document back; a live one stays as it is.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, DOCUMENT_NOT_RESTORABLE, DOCUMENT_EXISTS.
        """
        faults = await self._changes.restore([document_id])
        document = await self._store.get_document(document_id)
        if faults or document is None:
            raise KnowledgeError(faults.get(document_id, "DOCUMENT_NOT_FOUND"))
        self._events.publish("document", document)
        self._wake()
        return document

    async def _tell(self, document_ids: Sequence[str]) -> None:
        for document in (await self._store.get_documents(document_ids)).values():
            self._events.publish("document", document)
        await asyncio.sleep(0)
