"""Figures of jobs: how many there are, and how fast they go."""

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.sql import ACTIVE, first_row, meta_value, set_meta
from mcp_knowledge.domain.documents import JOB_STATUSES, JobStatus
from mcp_knowledge.ports import BackgroundRun, Pace

_BACKGROUND_TOTAL = "background_jobs"  # queued in the background since it was last empty


def job_counts(connection: Connection, document_id: str | None = None) -> dict[JobStatus, int]:
    """Jobs by status: all that are kept, or those of one document."""
    found: dict[str, int]
    if document_id is not None:
        of_document = """SELECT status, count(*) FROM jobs
                         WHERE document_no = (SELECT document_no FROM documents WHERE id = ?) GROUP BY status"""
        found = dict(connection.execute(of_document, (document_id,)))
    else:
        # Most jobs are completed: SQLite has an index of the others.
        others = "SELECT status, count(*) FROM jobs WHERE status <> 'completed' GROUP BY status"
        found = dict(connection.execute(others))
        found["completed"] = _number(connection, "SELECT count(*) FROM jobs") - sum(found.values())
    return {status: found.get(status, 0) for status in JOB_STATUSES}


def pace(connection: Connection, window_ms: int) -> Pace:
    """How many jobs were completed within the last `window_ms`, and how long ago the first of them was."""
    now = connection.dialect.queue_ms(connection)
    sql = "SELECT count(*), min(completed_at_ms) FROM jobs WHERE status = 'completed' AND completed_at_ms > ?"
    row = first_row(connection, sql, (now - window_ms,))
    assert row is not None
    return Pace(row[0], max(0, now - row[1]) if row[0] else 0)


def background_run(connection: Connection) -> BackgroundRun:
    """How far the jobs in the background have come since it was last empty."""
    active = _in_background(connection)
    total = max(active, int(meta_value(connection, _BACKGROUND_TOTAL) or 0)) if active else 0
    return BackgroundRun(total - active, total)


def note_background(connection: Connection, queued: int) -> None:
    """Count jobs that are about to be queued in the background."""
    before = background_run(connection).total
    set_meta(connection, _BACKGROUND_TOTAL, str(before + queued))


def _in_background(connection: Connection) -> int:
    return _number(connection, f"SELECT count(*) FROM jobs WHERE background = 1 AND status IN {ACTIVE}")


def _number(connection: Connection, sql: str) -> int:
    row = first_row(connection, sql)
    return int(row[0]) if row else 0
