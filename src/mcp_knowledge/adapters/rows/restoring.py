"""Deletions that wait a while, and taking them back.

A deleted document keeps all its rows, and its original, until its delete job has begun. So restoring it is: withdraw
the job, make the document visible, and queue what its deletion had cancelled.
"""

from collections.abc import Iterable

from mcp_knowledge.adapters.rows import documents, job_rows
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.indexing import MIXED_FINGERPRINT
from mcp_knowledge.adapters.rows.sql import ACTIVE, GONE, first_row, meta_value, raise_generation, set_meta
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports.changes import Deletion

# A delete job that nobody has claimed yet: nothing of its document was removed.
_WAITING = "kind = 'delete' AND status = 'queued' AND attempt = 0"


def delete_documents(
    connection: Connection, document_ids: Iterable[str], undo_ms: int, until_ms: int | None
) -> Deletion:
    """Out of sight now; jobs remove the rest when the time to undo it has passed."""
    if until_ms is None:
        until_ms = _own_moment(connection, undo_ms) if undo_ms else connection.dialect.queue_ms(connection)
    missing = []
    for document_id in document_ids:
        try:
            document_no = documents.live_number(connection, document_id)
        except KnowledgeError:
            missing.append(document_id)
            continue
        documents.delete_by_number(connection, document_no, now_ms(), until_ms if undo_ms else None)
    return Deletion(until_ms, tuple(missing))


def _own_moment(connection: Connection, undo_ms: int) -> int:
    """When the time to undo will have passed: a moment that no other deletion has, which so gives this one a name."""
    connection.dialect.hold(connection, "undo")
    moment = connection.dialect.queue_ms(connection) + undo_ms
    taken = f"SELECT 1 FROM jobs WHERE {_WAITING} AND visible_at_ms = ? AND background = 0 LIMIT 1"
    while first_row(connection, taken, (moment,)):
        moment += 1
    return moment


def restorable(connection: Connection, until_ms: int) -> list[str]:
    """Ids of a deletion's documents whose removal has not begun."""
    rows = connection.execute(
        f"""SELECT d.id FROM jobs j JOIN documents d ON d.document_no = j.document_no
            WHERE j.status IN {ACTIVE} AND j.background = 0 AND j.visible_at_ms = ? AND j.kind = 'delete'
              AND j.status = 'queued' AND j.attempt = 0 AND d.status = 'deleting' ORDER BY j.job_no""",
        (until_ms,),
    )
    return [row[0] for row in rows]


def restore_document(connection: Connection, document_id: str) -> None:
    """Make a deleted document what it was. Raises DOCUMENT_NOT_FOUND, DOCUMENT_NOT_RESTORABLE, DOCUMENT_EXISTS."""
    row = first_row(
        connection,
        f"""SELECT document_no, status, current_revision_no, newest_revision_no, latest_error, replaces_no, source_path
            FROM documents WHERE id = ?{connection.dialect.for_update}""",
        (document_id,),
    )
    if row is None:
        raise KnowledgeError("DOCUMENT_NOT_FOUND")
    document_no, status, current_no, newest_no, error, replaces_no, source_path = row
    if status not in ("deleting", "deleted"):
        return
    unfinished = _unfinished(connection, document_no, current_no, newest_no, error)
    shown_no = unfinished[0] if unfinished else current_no or newest_no
    _refuse_second(connection, document_no, shown_no, replaces_no, source_path)
    withdrawing = f"DELETE FROM jobs WHERE document_no = ? AND {_WAITING} RETURNING 1"
    if first_row(connection, withdrawing, (document_no,)) is None:
        raise KnowledgeError("DOCUMENT_NOT_RESTORABLE")
    status = "ready" if current_no else "pending" if unfinished else "failed"
    connection.execute(
        "UPDATE documents SET status = ?, searchable = ?, updated_at_ms = ? WHERE document_no = ?",
        (status, int(current_no is not None), now_ms(), document_no),
    )
    connection.dialect.note_vector_change(connection, document_no)
    if unfinished:
        job_rows.queue_job(connection, "ingest", document_no, unfinished[0], background=bool(unfinished[1]))
    if current_no is not None:
        _keep_fingerprint_true(connection, current_no)
    raise_generation(connection)


def _unfinished(
    connection: Connection, document_no: int, current_no: int | None, newest_no: int | None, error: str | None
) -> Row | None:
    """The revision that a deletion kept from being read, and whether that was background work; None: it kept none."""
    row = first_row(
        connection,
        """SELECT status, revision_no, background FROM jobs WHERE document_no = ? AND kind = 'ingest'
           ORDER BY job_no DESC LIMIT 1""",
        (document_no,),
    )
    if row is not None:
        # Whatever else cancels a job queues another one in its place.
        return (row[1], row[2]) if row[0] == "cancelled" else None
    forgotten = newest_no is not None and newest_no != current_no and (current_no is None or error is None)
    return (newest_no, 0) if forgotten else None


def _refuse_second(
    connection: Connection, document_no: int, shown_no: int | None, replaces_no: int | None, source_path: str | None
) -> None:
    """Raises DOCUMENT_EXISTS when another live document has the bytes by now, or stands for the same scanned file."""
    row = first_row(connection, "SELECT sha256 FROM revisions WHERE revision_no = ?", (shown_no,))
    if row is not None:
        connection.dialect.hold(connection, f"sha256 {row[0].hex()}")
        for twin_no, twin_replaces_no in documents.showing(connection, row[0]):
            if twin_no != replaces_no and twin_replaces_no != document_no:
                raise KnowledgeError("DOCUMENT_EXISTS")
    heir = f"""SELECT 1 FROM folder_files f JOIN documents d ON d.document_no = f.document_no
               WHERE f.path = ? AND f.outcome = 'document' AND f.document_no NOT IN (?, ?)
                 AND d.status NOT IN {GONE} AND d.replaces_no IS DISTINCT FROM ? LIMIT 1"""
    if source_path is not None and first_row(
        connection, heir, (source_path, document_no, replaces_no or document_no, document_no)
    ):
        raise KnowledgeError("DOCUMENT_EXISTS", "Another document stands for this file of the folder by now.")


def _keep_fingerprint_true(connection: Connection, revision_no: int) -> None:
    """Vectors of another model may have become the only ones while these were out of sight."""
    connection.dialect.hold(connection, "fingerprint")
    row = first_row(
        connection,
        """SELECT v.fingerprint FROM revisions r JOIN index_versions v ON v.version_no = r.version_no
           WHERE r.revision_no = ?""",
        (revision_no,),
    )
    if row is not None and row[0] != meta_value(connection, "fingerprint"):
        set_meta(connection, "fingerprint", MIXED_FINGERPRINT)
