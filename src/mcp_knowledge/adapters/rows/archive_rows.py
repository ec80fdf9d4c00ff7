"""Rows of archive imports and of what became of their files.

`visible_at_ms` is when an import may be claimed: its ready time or the end of its lease. `attempt` only rises, so that
it fences.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from mcp_knowledge.adapters.rows import documents, revisions
from mcp_knowledge.adapters.rows.collections import collection_number
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import GONE, first_row, to_json
from mcp_knowledge.domain.documents import ENTRY_OUTCOMES, ArchiveEntry, ArchiveImport, Document, now_ms
from mcp_knowledge.ports import NewArchive, NewDocument, Position

UNFINISHED = "('queued', 'extracting')"  # as the partial index spells it, so that it is used
_HELD = "id = ? AND attempt = ? AND state = 'extracting'"
_SELECT = f"""
    SELECT a.id, a.original_filename, c.id, a.source_path, a.source_url, a.metadata, a.size_bytes, a.sha256, a.state,
           a.attempt, a.worker, a.blob_key, a.file_count, a.error, a.created_at_ms, a.started_at_ms, a.completed_at_ms,
           {
    ", ".join(
        f"(SELECT count(*) FROM archive_entries e WHERE e.archive_no = a.archive_no AND e.outcome = '{outcome}')"
        for outcome in ENTRY_OUTCOMES
    )
}
    FROM archives a LEFT JOIN collections c ON c.collection_no = a.collection_no
"""


def _import_from(row: Row) -> ArchiveImport:
    """A row of `_SELECT` as an import: the fields stand in the same order."""
    metadata = json.loads(row[5]) if row[5] else {}
    outcomes = dict(zip(ENTRY_OUTCOMES, row[17:], strict=True))
    fields: Row = (*row[:5], metadata, row[6], row[7].hex(), *row[8:13], outcomes, *row[13:17])
    return ArchiveImport(*fields)


def create(connection: Connection, new: NewArchive) -> ArchiveImport:
    """Queue an import. Raises COLLECTION_NOT_FOUND."""
    collection_no = None if new.collection_id is None else collection_number(connection, new.collection_id)
    now = connection.dialect.queue_ms(connection)
    connection.execute(
        """INSERT INTO archives (id, state, visible_at_ms, collection_no, created_at_ms, size_bytes, sha256,
               original_filename, source_path, source_url, metadata, blob_key)
           VALUES (?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (new.id, now, collection_no, now, new.size_bytes, bytes.fromhex(new.sha256), new.original_filename,
         new.source_path, new.source_url, to_json(new.metadata) if new.metadata else None, new.blob_key),
    )  # fmt: skip
    connection.dialect.tell(connection, "archives")
    return _existing(connection, new.id)


def get(connection: Connection, archive_id: str) -> ArchiveImport | None:
    """One import."""
    row = first_row(connection, f"{_SELECT} WHERE a.id = ?", (archive_id,))
    return _import_from(row) if row else None


def _existing(connection: Connection, archive_id: str) -> ArchiveImport:
    found = get(connection, archive_id)
    assert found is not None
    return found


def page(connection: Connection, limit: int, after: Position | None) -> list[ArchiveImport]:
    """Newest first."""
    where, params = ("WHERE (a.created_at_ms, a.id) < (?, ?)", [after.value, after.id]) if after else ("", [])
    sql = f"{_SELECT} {where} ORDER BY a.created_at_ms DESC, a.id DESC LIMIT ?"
    return [_import_from(row) for row in connection.execute(sql, [*params, limit])]


def unfinished(connection: Connection) -> list[ArchiveImport]:
    """Oldest first."""
    sql = f"{_SELECT} WHERE a.state IN {UNFINISHED} ORDER BY a.archive_no"
    return [_import_from(row) for row in connection.execute(sql)]


def entries(
    connection: Connection, archive_ids: Iterable[str], skipped_limit: int | None
) -> dict[str, list[ArchiveEntry]]:
    """By import, in the archive's order."""
    narrowed, params = (
        ("", list[Any]()) if skipped_limit is None else ("AND e.outcome <> 'extracted' ", [skipped_limit])
    )
    sql = f"""
        SELECT e.position, e.path, e.outcome, d.id, e.error FROM archives a
        JOIN archive_entries e ON e.archive_no = a.archive_no LEFT JOIN documents d ON d.document_no = e.document_no
        WHERE a.id = ? {narrowed}ORDER BY e.position {"" if skipped_limit is None else "LIMIT ?"}"""
    return {
        archive_id: [ArchiveEntry(*row) for row in connection.execute(sql, [archive_id, *params])]
        for archive_id in archive_ids
    }


def claim(connection: Connection, worker: str, lease_ms: int) -> ArchiveImport | None:
    """Take the oldest import that is due."""
    now = connection.dialect.queue_ms(connection)
    row = first_row(connection, connection.dialect.due_archives_to_claim, (now,))
    if row is None:
        return None
    row = first_row(
        connection,
        """UPDATE archives SET state = 'extracting', attempt = attempt + 1, worker = ?, visible_at_ms = ?, error = NULL,
               started_at_ms = coalesce(started_at_ms, ?) WHERE archive_no = ? RETURNING id""",
        (worker, now + lease_ms, now, row[0]),
    )
    assert row is not None
    return _existing(connection, row[0])


def change_held(connection: Connection, held: ArchiveImport, assignments: str, *values: Any) -> bool:
    """Change the row of an import that is still this worker's; False when it was lost."""
    sql = f"UPDATE archives SET {assignments} WHERE {_HELD} RETURNING 1"
    return first_row(connection, sql, (*values, held.id, held.attempt)) is not None


def _held_number(connection: Connection, held: ArchiveImport) -> int | None:
    row = first_row(
        connection,
        f"SELECT archive_no FROM archives WHERE {_HELD}{connection.dialect.for_update}",
        (held.id, held.attempt),
    )
    return int(row[0]) if row else None


def skip(connection: Connection, held: ArchiveImport, skipped: Sequence[ArchiveEntry]) -> bool:
    """Write outcomes without a document."""
    archive_no = _held_number(connection, held)
    if archive_no is None:
        return False
    for entry in skipped:
        _write_entry(connection, archive_no, entry)
    return True


def add_document(
    connection: Connection, held: ArchiveImport, position: int, path: str, new: NewDocument
) -> tuple[ArchiveEntry, Document] | None:
    """Write a document, or a document's next revision, and the outcome."""
    archive_no = _held_number(connection, held)
    if archive_no is None:
        return None
    before = _brought_before(connection, archive_no, held.source_path, path)
    if before is None:
        document, duplicate = documents.create_document(connection, new)
    elif _expected_sha256(connection, before) == new.sha256:
        document, duplicate = before, True
    else:
        document, duplicate = revisions.create_revision(connection, new.as_revision(before.id))[0], False
    entry = ArchiveEntry(position, path, "duplicate" if duplicate else "extracted", document.id)
    _write_entry(connection, archive_no, entry)
    return entry, document


def _brought_before(connection: Connection, archive_no: int, source_path: str | None, path: str) -> Document | None:
    """The live document that an archive from the same place in the folder brought under this path, unless a file of the
    present archive has met it already (an archive may hold a path twice).

    The join's order makes SQLite begin with the place: many archives have a file of the same name.
    """
    if source_path is None:
        return None
    row = first_row(
        connection,
        f"""{documents.SELECT} WHERE d.document_no = (
                SELECT e.document_no FROM archives a
                {connection.dialect.ordered_join} archive_entries e ON e.archive_no = a.archive_no
                JOIN documents x ON x.document_no = e.document_no
                WHERE e.path = ? AND e.outcome = 'extracted' AND a.source_path = ? AND a.archive_no <> ?
                  AND x.status NOT IN {GONE} AND NOT EXISTS (
                      SELECT 1 FROM archive_entries o WHERE o.archive_no = ? AND o.document_no = e.document_no)
                ORDER BY e.archive_no DESC, e.position LIMIT 1)""",
        (path, source_path, archive_no, archive_no),
    )
    return documents.document_from(row) if row else None


def _expected_sha256(connection: Connection, document: Document) -> str:
    """Of the bytes that the document shows, or will when its job is done."""
    if document.progress is None:
        return document.sha256
    return revisions.list_revisions(connection, document.id)[0].sha256


def _write_entry(connection: Connection, archive_no: int, entry: ArchiveEntry) -> None:
    connection.execute(
        """INSERT INTO archive_entries (archive_no, position, path, outcome, document_no, error)
           VALUES (?, ?, ?, ?, (SELECT document_no FROM documents WHERE id = ?), ?)""",
        (archive_no, entry.position, entry.path, entry.outcome, entry.document_id, entry.error),
    )


def finish(connection: Connection, held: ArchiveImport, error: str | None) -> ArchiveImport | None:
    """Completed, completed with errors, or failed."""
    troubled = """EXISTS (SELECT 1 FROM archive_entries e WHERE e.archive_no = archives.archive_no
        AND e.outcome IN ('failed', 'oversized'))"""
    ended = "'failed'" if error else f"CASE WHEN {troubled} THEN 'completed_with_errors' ELSE 'completed' END"
    row = first_row(
        connection,
        f"""UPDATE archives SET state = {ended}, error = ?, completed_at_ms = ?, worker = NULL, blob_key = NULL
            WHERE id = ? AND attempt = ? AND state = 'extracting' RETURNING id""",
        (error, now_ms(), held.id, held.attempt),
    )
    return _existing(connection, row[0]) if row else None
