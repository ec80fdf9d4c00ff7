"""Changing many documents in one transaction."""

import json
from collections.abc import Callable, Sequence

from mcp_knowledge.adapters.rows import documents, restoring, revisions
from mcp_knowledge.adapters.rows.collections import collection_number
from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.adapters.rows.metadata import merged, write_metadata_values
from mcp_knowledge.adapters.rows.sql import raise_generation, to_json
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.domain.metadata import check_metadata
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports.changes import Change, Deletion, Move, Reindex, Tag, Untag

_Work = Callable[[Connection, str], object]


class SqlDocumentChanges:
    """Changes of many documents; `ports.DocumentChanges` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def change(self, document_ids: Sequence[str], change: Change) -> dict[str, str]:
        """Move, tag or queue again."""

        def work(connection: Connection) -> dict[str, str]:
            return _each(connection, document_ids, _WORKS[type(change)](connection, change))

        return await self._database.write(work)

    async def delete(self, document_ids: Sequence[str], undo_ms: int, until_ms: int | None = None) -> Deletion:
        """Take documents out of sight."""
        return await self._database.write(lambda c: restoring.delete_documents(c, document_ids, undo_ms, until_ms))

    async def restore(self, document_ids: Sequence[str]) -> dict[str, str]:
        """Bring documents back."""
        return await self._database.write(lambda c: _each(c, document_ids, restoring.restore_document))

    async def restorable(self, until_ms: int) -> list[str]:
        """The documents of a deletion."""
        return await self._database.read(lambda c: restoring.restorable(c, until_ms))


def _each(connection: Connection, document_ids: Sequence[str], work: _Work) -> dict[str, str]:
    """Work on each document by itself; the codes of those that refused."""
    refused: dict[str, str] = {}
    for document_id in document_ids:
        try:
            work(connection, document_id)
        except KnowledgeError as error:
            refused[document_id] = error.code
    return refused


def _moving(connection: Connection, change: Move) -> _Work:
    wanted = change.collection_id
    collection_no = None if wanted is None else collection_number(connection, wanted)
    return lambda connection, document_id: _move(connection, document_id, collection_no)


def _move(connection: Connection, document_id: str, collection_no: int | None) -> None:
    connection.execute(
        "UPDATE documents SET collection_no = ?, updated_at_ms = ? WHERE document_no = ?",
        (collection_no, now_ms(), documents.live_number(connection, document_id)),
    )
    raise_generation(connection)


def _tagging(_: Connection, change: Tag | Untag) -> _Work:
    return lambda connection, document_id: _tag(connection, document_id, change)


def _tag(connection: Connection, document_id: str, change: Tag | Untag) -> None:
    document_no, own, properties = documents.live(connection, document_id, "document_no, metadata, properties")
    former = json.loads(own) if own else {}
    metadata = {key: value for key, value in former.items() if key != change.key}
    if isinstance(change, Tag):
        metadata[change.key] = change.value
    if metadata == former:
        return
    check_metadata(metadata)
    connection.execute(
        "UPDATE documents SET metadata = ?, updated_at_ms = ? WHERE document_no = ?",
        (to_json(metadata) if metadata else None, now_ms(), document_no),
    )
    write_metadata_values(connection, document_no, merged(metadata, json.loads(properties) if properties else {}))
    raise_generation(connection)


def _reindexing(_: Connection, change: Reindex) -> _Work:
    return revisions.reindex_document


_WORKS: dict[type[Change], Callable[..., _Work]] = {
    Move: _moving,
    Tag: _tagging,
    Untag: _tagging,
    Reindex: _reindexing,
}
