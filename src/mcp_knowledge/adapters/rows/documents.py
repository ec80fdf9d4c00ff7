"""Rows of documents: reading, creating, changing, taking out of sight."""

from typing import Any

from mcp_knowledge.adapters.rows import fulltext, job_rows
from mcp_knowledge.adapters.rows.collections import collection_number
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.metadata import effective_metadata, write_metadata_values
from mcp_knowledge.adapters.rows.sql import (
    ACTIVE,
    BLOB_KEYS,
    GONE,
    first_row,
    fold_key,
    raise_generation,
    to_json,
)
from mcp_knowledge.domain.documents import Document, Metadata, Progress, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import NewDocument, Unset

SELECT = f"""
    SELECT d.id, c.id, r.id, d.revision, d.title, d.original_filename, d.mime_type, d.extension, d.size_bytes, d.sha256,
           d.status, d.metadata, d.properties, d.source_path, d.source_url, d.chunk_count, d.latest_error,
           j.job_no, j.stage, j.done, j.total, d.created_at_ms, d.updated_at_ms
    FROM documents d
    LEFT JOIN collections c ON c.collection_no = d.collection_no
    LEFT JOIN revisions r ON r.revision_no = d.current_revision_no
    LEFT JOIN jobs j ON j.document_no = d.document_no AND j.status IN {ACTIVE} AND j.kind = 'ingest'
"""


_PURGED_TABLES = (  # what refers to others first
    "folder_files",
    "early_vectors",
    "archive_entries",
    "archives",
    "chunk_vectors",
    "chunks",
    "revision_blocks",
    "revision_heads",
    "metadata_values",
    "jobs",
    "revisions",
    "documents",
    "index_versions",
)


def document_from(row: Row) -> Document:
    """A row of `SELECT` as a document: the fields stand in the same order."""
    sha256, status, user_json, properties_json = row[9:13]
    job_no, stage, done, total, created_at_ms, updated_at_ms = row[17:]
    progress = None if job_no is None else Progress(stage or "queued", done, total)
    metadata = effective_metadata(user_json, properties_json)
    fields: Row = (*row[:9], sha256.hex(), status, metadata, *row[13:17], progress, created_at_ms, updated_at_ms)
    return Document(*fields)


def get_document(connection: Connection, document_id: str) -> Document | None:
    """A live document."""
    row = first_row(connection, f"{SELECT} WHERE d.id = ? AND d.status NOT IN {GONE}", (document_id,))
    return document_from(row) if row else None


def was_deleted(connection: Connection, document_id: str) -> bool:
    """Whether it is deleting or deleted."""
    sql = f"SELECT 1 FROM documents WHERE id = ? AND status IN {GONE}"
    return first_row(connection, sql, (document_id,)) is not None


def get_documents(connection: Connection, document_ids: list[str]) -> dict[str, Document]:
    """The live ones among the ids."""
    dialect = connection.dialect
    sql = f"{SELECT} WHERE {dialect.among('d.id')} AND d.status NOT IN {GONE}"
    return {row[0]: document_from(row) for row in connection.execute(sql, (dialect.listed(document_ids),))}


def find_by_sha256(connection: Connection, sha256: str) -> Document | None:
    """The oldest live document that shows these bytes, or will when its job is done."""
    for document_no, _ in sorted(showing(connection, bytes.fromhex(sha256)), key=lambda item: item[0]):
        row = first_row(connection, f"{SELECT} WHERE d.document_no = ? AND d.status NOT IN {GONE}", (document_no,))
        if row is not None:  # a writer on a server may meet one that another has removed in between
            return document_from(row)
    return None


def showing(connection: Connection, sha256: bytes) -> list[Row]:
    """Live documents that show these bytes, or will when their jobs are done: (document_no, replaces_no).

    The join's order makes SQLite begin with the hash.
    """
    sql = f"""
        SELECT DISTINCT x.document_no, x.replaces_no FROM revisions s
        {connection.dialect.ordered_join} documents x ON x.document_no = s.document_no
        WHERE s.sha256 = ? AND x.status NOT IN {GONE} AND s.revision_no = coalesce(
            (SELECT a.revision_no FROM jobs a WHERE a.document_no = x.document_no AND a.status IN {ACTIVE}),
            x.current_revision_no, x.newest_revision_no)"""
    return list(connection.execute(sql, (sha256,)))


def create_document(connection: Connection, new: NewDocument) -> tuple[Document, bool]:
    """Write document, revision and job, unless a live document has the same bytes. Raises COLLECTION_NOT_FOUND."""
    collection_no = None if new.collection_id is None else collection_number(connection, new.collection_id)
    connection.dialect.hold(connection, f"sha256 {new.sha256}")  # of equal uploads at once, the second finds the first
    if new.replaces is None and (twin := find_by_sha256(connection, new.sha256)) is not None:
        return twin, True
    now, sha256, metadata = now_ms(), bytes.fromhex(new.sha256), new.metadata or {}
    row = first_row(
        connection,
        """INSERT INTO documents (id, collection_no, status, revision, created_at_ms, updated_at_ms, size_bytes, sha256,
               extension, mime_type, title, title_key, original_filename, filename_key, source_path, source_url,
               metadata)
           VALUES (?, ?, 'pending', 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING document_no""",
        (new.id, collection_no, now, now, new.size_bytes, sha256, new.extension, new.mime_type, new.title,
         fold_key(new.title), new.original_filename, fold_key(new.original_filename), new.source_path, new.source_url,
         to_json(metadata) if metadata else None),
    )  # fmt: skip
    assert row is not None
    document_no = row[0]
    row = first_row(
        connection,
        """INSERT INTO revisions (id, document_no, number, created_at_ms, size_bytes, sha256, extension, mime_type,
               original_filename, blob_key) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?) RETURNING revision_no""",
        (new.revision_id, document_no, now, new.size_bytes, sha256, new.extension, new.mime_type,
         new.original_filename, new.blob_key),
    )  # fmt: skip
    assert row is not None
    connection.execute("UPDATE documents SET newest_revision_no = ? WHERE document_no = ?", (row[0], document_no))
    if new.replaces is not None:
        _inherit(connection, document_no, new.replaces)
    write_metadata_values(connection, document_no, metadata, fresh=True)
    job_rows.queue_job(connection, "ingest", document_no, row[0])
    raise_generation(connection)
    return _by_number(connection, document_no), False


def _inherit(connection: Connection, document_no: int, replaced_id: str) -> None:
    """Remember what a document replaces, and take over what its user chose: the collection and an own title."""
    connection.execute(
        f"""UPDATE documents SET replaces_no = o.document_no, collection_no = o.collection_no,
                title_by_user = o.title_by_user,
                title = CASE WHEN o.title_by_user = 1 THEN o.title ELSE documents.title END,
                title_key = CASE WHEN o.title_by_user = 1 THEN o.title_key ELSE documents.title_key END
            FROM (SELECT * FROM documents WHERE id = ? AND status NOT IN {GONE}) AS o
            WHERE documents.document_no = ?""",
        (replaced_id, document_no),
    )


def update_document(
    connection: Connection,
    document_id: str,
    title: str | Unset,
    collection_id: str | Unset | None,
    metadata: Metadata | Unset,
) -> Document:
    """Change what is given. Raises DOCUMENT_NOT_FOUND or COLLECTION_NOT_FOUND."""
    document_no = live_number(connection, document_id)
    changes: dict[str, Any] = {}
    if not isinstance(title, Unset):
        changes |= {"title": title, "title_key": fold_key(title), "title_by_user": 1}
        fulltext.retitle(connection, document_no, title)
    if not isinstance(collection_id, Unset):
        changes["collection_no"] = None if collection_id is None else collection_number(connection, collection_id)
    if not isinstance(metadata, Unset):
        changes |= {"metadata": to_json(metadata) if metadata else None, "properties": None}
        write_metadata_values(connection, document_no, metadata)
    if changes:
        changes["updated_at_ms"] = now_ms()
        assignments = ", ".join(f"{column} = ?" for column in changes)
        connection.execute(
            f"UPDATE documents SET {assignments} WHERE document_no = ?", (*changes.values(), document_no)
        )
        raise_generation(connection)
    return _by_number(connection, document_no)


def delete_document(connection: Connection, document_id: str) -> None:
    """Out of sight now; a job removes the rest. Raises DOCUMENT_NOT_FOUND."""
    delete_by_number(connection, live_number(connection, document_id), now_ms())


def delete_by_number(connection: Connection, document_no: int, now: int, due_ms: int | None = None) -> None:
    """Out of sight now, unless it is already; a job removes the rest.

    Args:
        due_ms: when the job may begin, None: at once. Until then the document can be restored.
    """
    lock = connection.dialect.for_update
    status = first_row(
        connection, f"SELECT status IN {GONE} FROM documents WHERE document_no = ?{lock}", (document_no,)
    )
    if status is None or status[0]:
        return
    job_rows.cancel_jobs(connection, document_no, now)
    connection.execute(
        "UPDATE documents SET status = 'deleting', searchable = 0, updated_at_ms = ? WHERE document_no = ?",
        (now, document_no),
    )
    connection.dialect.note_vector_change(connection, document_no)
    job_rows.queue_job(connection, "delete", document_no, None, due_ms=due_ms)
    raise_generation(connection)


def live_number(connection: Connection, document_id: str) -> int:
    """The internal key of a live document, kept from other writers. Raises DOCUMENT_NOT_FOUND."""
    return int(live(connection, document_id, "document_no")[0])


def live(connection: Connection, document_id: str, columns: str) -> Row:
    """Columns of a live document, kept from other writers. Raises DOCUMENT_NOT_FOUND."""
    lock = connection.dialect.for_update
    sql = f"SELECT {columns} FROM documents WHERE id = ? AND status NOT IN {GONE}{lock}"
    row = first_row(connection, sql, (document_id,))
    if row is None:
        raise KnowledgeError("DOCUMENT_NOT_FOUND")
    return row


def purge_documents(connection: Connection) -> list[str]:
    """Remove every document and archive import with all that hangs on them; the blob keys to delete."""
    connection.dialect.hold_all(connection)  # else what others are about to write stands in the way, or stays
    keys = [row[0] for row in connection.execute(BLOB_KEYS)]
    connection.dialect.note_all_vectors_changed(connection)
    connection.dialect.clear_texts(connection)
    for table in _PURGED_TABLES:
        connection.execute(f"DELETE FROM {table}")
    connection.execute("DELETE FROM meta WHERE key IN ('fingerprint', 'folder_scan')")
    raise_generation(connection)
    return keys


def _by_number(connection: Connection, document_no: int) -> Document:
    row = first_row(connection, f"{SELECT} WHERE d.document_no = ?", (document_no,))
    assert row is not None
    return document_from(row)
