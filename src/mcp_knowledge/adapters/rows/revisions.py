"""Rows of revisions."""

from collections.abc import Sequence
from typing import Any

from mcp_knowledge.adapters.rows import documents, job_rows, stale
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.job_figures import note_background
from mcp_knowledge.adapters.rows.sql import ACTIVE, BLOB_KEYS, GONE, first_row, fold_key, raise_generation
from mcp_knowledge.domain.documents import Document, IndexVersions, Job, Revision, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import NewRevision

_SELECT = """
    SELECT r.id, d.id, r.number, r.sha256, r.size_bytes, r.original_filename, r.mime_type, r.extension, r.blob_key,
           r.chunk_count, r.created_at_ms, r.indexed_at_ms, r.revision_no IS NOT DISTINCT FROM d.current_revision_no,
           d.replaces_no IS NOT NULL, v.parser_name, v.parser_version, v.chunker_name, v.chunker_version,
           v.embedding_model, v.embedding_dimensions, v.embedding_version
    FROM revisions r JOIN documents d ON d.document_no = r.document_no
    LEFT JOIN index_versions v ON v.version_no = r.version_no
"""


def _revision_from(row: Row) -> Revision:
    """A row of `_SELECT` as a revision: the fields stand in the same order."""
    versions = None if row[14] is None else IndexVersions(*row[14:])
    fields: Row = (*row[:3], row[3].hex(), *row[4:9], versions, *row[9:12], bool(row[12]), bool(row[13]))
    return Revision(*fields)


def list_revisions(connection: Connection, document_id: str) -> list[Revision]:
    """Newest first."""
    rows = connection.execute(f"{_SELECT} WHERE d.id = ? ORDER BY r.number DESC", (document_id,))
    return [_revision_from(row) for row in rows]


def get_revision(connection: Connection, revision_id: str) -> Revision | None:
    """One revision."""
    row = first_row(connection, f"{_SELECT} WHERE r.id = ?", (revision_id,))
    return _revision_from(row) if row else None


def blob_keys(connection: Connection) -> set[str]:
    """Every key that a revision or an unfinished import of an archive holds."""
    return {row[0] for row in connection.execute(BLOB_KEYS)}


def create_revision(connection: Connection, new: NewRevision) -> tuple[Document, int]:
    """Write a newer revision and its job, which takes the place of any job at work. Raises DOCUMENT_NOT_FOUND."""
    document_no = documents.live_number(connection, new.document_id)
    now, sha256 = now_ms(), bytes.fromhex(new.sha256)
    row = first_row(
        connection,
        """INSERT INTO revisions (id, document_no, number, created_at_ms, size_bytes, sha256, extension, mime_type,
               original_filename, blob_key)
           SELECT ?, ?, 1 + max(number), ?, ?, ?, ?, ?, ?, ? FROM revisions WHERE document_no = ?
           RETURNING revision_no, number""",
        (new.id, document_no, now, new.size_bytes, sha256, new.extension, new.mime_type, new.original_filename,
         new.blob_key, document_no),
    )  # fmt: skip
    assert row is not None
    revision_no, number = row
    connection.execute(
        "UPDATE documents SET newest_revision_no = ?, latest_error = NULL, updated_at_ms = ? WHERE document_no = ?",
        (revision_no, now, document_no),
    )
    connection.execute(  # nothing answers searches yet: show what is being made
        """UPDATE documents SET status = 'pending', revision = ?, original_filename = ?, filename_key = ?,
               mime_type = ?, extension = ?, size_bytes = ?, sha256 = ?
           WHERE document_no = ? AND current_revision_no IS NULL""",
        (number, new.original_filename, fold_key(new.original_filename), new.mime_type, new.extension, new.size_bytes,
         sha256, document_no),
    )  # fmt: skip
    job_rows.cancel_jobs(connection, document_no, now)
    job_rows.queue_job(connection, "ingest", document_no, revision_no)
    raise_generation(connection)
    document = documents.get_document(connection, new.document_id)
    assert document is not None
    return document, number


# A newer revision that failed would fail again, and its document would keep the entries of an old model.
_SHOWN = "coalesce(current_revision_no, newest_revision_no)"


def reindex_document(connection: Connection, document_id: str) -> Job:
    """Queue the revision that a document shows again. Raises DOCUMENT_NOT_FOUND or DOCUMENT_BUSY."""
    document_no = documents.live_number(connection, document_id)
    if job_rows.is_at_work(connection, document_no):
        raise KnowledgeError("DOCUMENT_BUSY")
    now = now_ms()
    row = first_row(connection, f"SELECT {_SHOWN} FROM documents WHERE document_no = ?", (document_no,))
    assert row is not None
    job_id = job_rows.queue_job(connection, "ingest", document_no, row[0])
    job_rows.set_status_unless_ready(connection, document_no, "pending", now)
    job = job_rows.get_job(connection, job_id)
    assert job is not None
    return job


def reindex_documents(
    connection: Connection, after_id: str, limit: int, stale_to: Sequence[IndexVersions] = ()
) -> tuple[list[str], str | None]:
    """Queue the next live documents in the background, those with a job excepted; where to go on, None at the end.

    Args:
        stale_to: only searchable documents that were made with none of these versions; empty: all.
    """
    now, dialect = now_ms(), connection.dialect
    conditions, params = "", list[Any]()
    if stale_to:
        conditions = f"""AND d.searchable = 1 AND EXISTS (SELECT 1 FROM revisions r
                         WHERE r.revision_no = d.current_revision_no AND {dialect.among("r.version_no")})"""
        params.append(dialect.listed(stale.version_numbers(connection, stale_to)))
    rows = list(
        connection.execute(
            f"""SELECT d.document_no, d.id, {_SHOWN} FROM documents d
                WHERE d.id > ? AND d.status NOT IN {GONE} AND NOT EXISTS (
                    SELECT 1 FROM jobs a WHERE a.document_no = d.document_no AND a.status IN {ACTIVE}) {conditions}
                ORDER BY d.id LIMIT ?{dialect.for_update}""",
            (after_id, *params, limit),
        )
    )
    if rows:
        note_background(connection, len(rows))
    for document_no, _, revision_no in rows:
        job_rows.queue_job(connection, "ingest", document_no, revision_no, background=True)
        job_rows.set_status_unless_ready(connection, document_no, "pending", now)
    return [row[1] for row in rows], rows[-1][1] if len(rows) == limit else None
