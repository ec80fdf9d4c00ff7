"""Changing many documents at once, and taking a deletion back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Move:
    """File documents in a collection, or in none (None)."""

    collection_id: str | None


@dataclass(frozen=True, slots=True)
class Tag:
    """Set one metadata key of documents. What the files say of themselves stays."""

    key: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Untag:
    """Remove one metadata key that users or programs have set."""

    key: str


@dataclass(frozen=True, slots=True)
class Reindex:
    """Read the originals of documents again."""


Change = Move | Tag | Untag | Reindex


@dataclass(frozen=True, slots=True)
class Deletion:
    """Documents that were taken out of sight.

    Args:
        until_ms: the moment, in Unix milliseconds, up to which all of them can be restored; no other deletion that can
            be undone has the same, so it names this one.
        missing: ids that no live document has.
    """

    until_ms: int
    missing: tuple[str, ...]


class DocumentChanges(Protocol):
    """Each call is one transaction; what cannot be changed in it is told by id and stays as it is."""

    async def change(self, document_ids: Sequence[str], change: Change) -> dict[str, str]:
        """Change documents; the codes of those that could not be, by id: DOCUMENT_NOT_FOUND, DOCUMENT_BUSY,
        INVALID_METADATA.

        Raises COLLECTION_NOT_FOUND.
        """
        ...

    async def delete(self, document_ids: Sequence[str], undo_ms: int, until_ms: int | None = None) -> Deletion:
        """Take documents out of lists and search at once, and queue jobs that remove the rest.

        Args:
            undo_ms: how long those jobs wait, and the documents can be restored.
            until_ms: what an earlier call for the same deletion gave; the documents then go with those of that call.
        """
        ...

    async def restore(self, document_ids: Sequence[str]) -> dict[str, str]:
        """Bring documents back as they were, with work that their deletion broke off queued again; the codes of those
        that could not be, by id: DOCUMENT_NOT_FOUND, DOCUMENT_NOT_RESTORABLE, DOCUMENT_EXISTS. A live document stays
        as it is.
        """
        ...

    async def restorable(self, until_ms: int) -> list[str]:
        """Ids of the documents of a deletion that can still be restored."""
        ...
