"""Rows of jobs: claiming, failing, handing back, forgetting.

`visible_at_ms` is when a job may be claimed: its ready time, its retry time or the end of its lease. `attempt` only
rises, so that it fences: handing a job back or retrying it raises `max_attempts` instead.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import ACTIVE, GONE, first_row, raise_generation
from mcp_knowledge.domain.documents import DocumentStatus, Job, JobKind, JobStatus, new_id, now_ms
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import Position

MAX_ATTEMPTS: dict[JobKind, int] = {"ingest": 3, "delete": 10}  # what a user deleted must go in the end
KEPT_JOBS = 10_000
_PRUNE_EVERY_JOBS = 256

_SELECT = """
    SELECT j.id, j.kind, d.id, r.id, coalesce(r.original_filename, d.original_filename), j.status, j.attempt,
           j.max_attempts, j.worker, j.stage, j.done, j.total, j.error, j.created_at_ms, j.started_at_ms,
           j.completed_at_ms
    FROM jobs j JOIN documents d ON d.document_no = j.document_no LEFT JOIN revisions r ON r.revision_no = j.revision_no
"""
HELD = "id = ? AND attempt = ? AND status = 'running'"
_LOST = f"INGESTION_FAILED: {ERROR_CODES['INGESTION_FAILED'].message}"  # every attempt ended with its worker
_OVERTAKEN = "EXISTS (SELECT 1 FROM jobs n WHERE n.document_no = j.document_no AND n.job_no > j.job_no)"
_NEXT = f"""
    SELECT visible_at_ms FROM jobs WHERE status IN {ACTIVE} AND background = ?
      AND NOT (kind = 'delete' AND attempt = 0 AND visible_at_ms > ?) ORDER BY visible_at_ms LIMIT 1
"""


def due(connection: Connection, now: int, limit: int, *, claiming: bool = False) -> list[Row]:
    """Jobs that may be claimed, those in the background last, otherwise the oldest first."""
    dialect = connection.dialect
    sql = dialect.due_jobs_to_claim if claiming else dialect.due_jobs
    rows = list(connection.execute(sql, (0, now, limit)))
    return rows if len(rows) == limit else rows + list(connection.execute(sql, (1, now, limit - len(rows))))


def next_due_ms(connection: Connection) -> int | None:
    """When the next job may be claimed. A deletion that can still be undone is no work yet."""
    now = connection.dialect.queue_ms(connection)
    moments = [row[0] for background in (0, 1) for row in connection.execute(_NEXT, (background, now))]
    return min(moments, default=None)


def claim(connection: Connection, worker: str, limit: int, lease_ms: int) -> list[Job]:
    """Take due jobs; those that lost their last attempt's lease fail on the way."""
    now, taken = connection.dialect.queue_ms(connection), list[int]()
    while len(taken) < limit:
        rows = due(connection, now, limit - len(taken), claiming=True)
        for job_no, document_no, kind, attempt, max_attempts in rows:
            if attempt >= max_attempts:
                _give_up(connection, job_no, document_no, kind, _LOST, now)
                continue
            connection.execute(
                """UPDATE jobs SET status = 'running', attempt = attempt + 1, worker = ?, started_at_ms = ?,
                       visible_at_ms = ?, stage = 'queued', done = 0, total = 0 WHERE job_no = ?""",
                (worker, now, now + max(lease_ms, 1), job_no),
            )
            if kind == "ingest":
                set_status_unless_ready(connection, document_no, "processing", now)
            taken.append(job_no)
        if not rows:
            break
    sql = f"{_SELECT} WHERE {connection.dialect.among('j.job_no')} ORDER BY j.job_no"
    return [Job(*row) for row in connection.execute(sql, (connection.dialect.listed(taken),))]


def renew(connection: Connection, job: Job, lease_ms: int) -> bool:
    """Hold the lease from now on, if the job is still held."""
    sql = f"UPDATE jobs SET visible_at_ms = ? WHERE {HELD} RETURNING 1"
    end_ms = connection.dialect.queue_ms(connection) + lease_ms
    return first_row(connection, sql, (end_ms, job.id, job.attempt)) is not None


def fail(connection: Connection, job: Job, error: str, retry_after_ms: int | None) -> bool:
    """End an attempt in failure, if the job is still held."""
    row = _held(connection, job)
    if row is None:
        return False
    job_no, document_no, _, attempt, max_attempts = row
    now = connection.dialect.queue_ms(connection)
    if retry_after_ms is None or attempt >= max_attempts:
        _give_up(connection, job_no, document_no, job.kind, error, now)
        return True
    connection.execute(
        "UPDATE jobs SET status = 'retrying', error = ?, visible_at_ms = ?, stage = 'queued', done = 0, total = 0 "
        "WHERE job_no = ?",
        (error, now + retry_after_ms, job_no),
    )
    if job.kind == "ingest":
        set_status_unless_ready(connection, document_no, "pending", now, error)
    return True


def _give_up(connection: Connection, job_no: int, document_no: int, kind: JobKind, error: str, now: int) -> None:
    connection.execute(
        "UPDATE jobs SET status = 'failed', error = ?, completed_at_ms = ?, stage = NULL WHERE job_no = ?",
        (error, now, job_no),
    )
    if kind == "ingest":
        set_status_unless_ready(connection, document_no, "failed", now, error)


def release(connection: Connection, job: Job, after_ms: int) -> bool:
    """Queue a held job again, where it stood in the line or due `after_ms` from now."""
    row = _held(connection, job)
    if row is None:
        return False
    connection.execute(
        "UPDATE jobs SET status = 'queued', max_attempts = max_attempts + 1, "
        "visible_at_ms = coalesce(?, created_at_ms), worker = NULL, stage = 'queued', done = 0, total = 0, "
        "started_at_ms = NULL WHERE job_no = ?",
        (connection.dialect.queue_ms(connection) + after_ms if after_ms else None, row[0]),
    )
    if job.kind == "ingest":
        set_status_unless_ready(connection, row[1], "pending", now_ms())
    return True


def retry(connection: Connection, job_id: str) -> Job:
    """Queue a failed job again, if it would still do something."""
    _hold_document(connection, job_id)
    row = first_row(
        connection,
        f"""SELECT j.job_no, j.status, j.kind, d.document_no,
                   d.status NOT IN {GONE} AND j.revision_no IN (d.newest_revision_no, d.current_revision_no),
                   d.status = 'deleting'
            FROM jobs j JOIN documents d ON d.document_no = j.document_no WHERE j.id = ?""",
        (job_id,),
    )
    if row is None:
        raise KnowledgeError("JOB_NOT_FOUND")
    job_no, status, kind, document_no, shown, deleting = row
    if status != "failed":
        raise KnowledgeError("JOB_NOT_RETRYABLE")
    if is_at_work(connection, document_no) or not (shown if kind == "ingest" else deleting):
        raise KnowledgeError("JOB_NOT_RETRYABLE", "A later change of the document has made this job pointless.")
    now = connection.dialect.queue_ms(connection)
    connection.execute(
        """UPDATE jobs SET status = 'queued', max_attempts = attempt + ?, visible_at_ms = ?, error = NULL,
               worker = NULL, stage = 'queued', done = 0, total = 0, started_at_ms = NULL, completed_at_ms = NULL
           WHERE job_no = ?""",
        (MAX_ATTEMPTS[kind], now, job_no),
    )
    if kind == "ingest":
        set_status_unless_ready(connection, document_no, "pending", now)
    job = get_job(connection, job_id)
    assert job is not None
    return job


def retry_failed(connection: Connection, after_id: str, limit: int) -> tuple[list[Job], str | None]:
    """Queue the next failed jobs again that are the last of their document; where to go on, None at the end."""
    rows = list(
        connection.execute(
            f"""SELECT j.id FROM jobs j WHERE j.status = 'failed' AND j.status <> 'completed' AND j.id > ?
                    AND NOT {_OVERTAKEN} ORDER BY j.id LIMIT ?""",
            (after_id, limit),
        )
    )
    queued = list[Job]()
    for (job_id,) in rows:
        with suppress(KnowledgeError):  # its document has been deleted, or has a job again
            queued.append(retry(connection, job_id))
    return queued, rows[-1][0] if len(rows) == limit else None


def overtaken(connection: Connection, job_ids: Iterable[str]) -> set[str]:
    """Those of the jobs whose document has a later one."""
    dialect = connection.dialect
    sql = f"SELECT j.id FROM jobs j WHERE {dialect.among('j.id')} AND {_OVERTAKEN}"
    return {row[0] for row in connection.execute(sql, (dialect.listed(job_ids),))}


def is_at_work(connection: Connection, document_no: int) -> bool:
    """Whether a document has a job that waits or runs. Asked by itself, after the document was locked: a statement that
    waited for the lock would still see the jobs as they were before.
    """
    active = f"SELECT 1 FROM jobs WHERE document_no = ? AND status IN {ACTIVE}"
    return first_row(connection, active, (document_no,)) is not None


def queue_job(
    connection: Connection,
    kind: JobKind,
    document_no: int,
    revision_no: int | None,
    *,
    background: bool = False,
    due_ms: int | None = None,
) -> str:
    """Write a job; its id.

    Args:
        background: it lets every other job go first.
        due_ms: when it may be claimed, by the clock of the queue; None: at once.
    """
    job_id, now = new_id("job"), connection.dialect.queue_ms(connection)
    connection.execute(
        """INSERT INTO jobs (id, kind, document_no, revision_no, status, max_attempts, visible_at_ms, created_at_ms,
               stage, background) VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, 'queued', ?)""",
        (job_id, kind, document_no, revision_no, MAX_ATTEMPTS[kind], due_ms or now, now, int(background)),
    )
    connection.dialect.tell(connection, "jobs")
    return job_id


def cancel_jobs(connection: Connection, document_no: int, now: int) -> None:
    """End whatever is waiting or at work for a document; a worker that is at it can write no more."""
    connection.execute(
        f"UPDATE jobs SET status = 'cancelled', completed_at_ms = ?, stage = NULL "
        f"WHERE document_no = ? AND status IN {ACTIVE}",
        (now, document_no),
    )


def complete_job(connection: Connection, job_no: int, now: int) -> None:
    """End a held job well; now and then, forget old ones."""
    connection.execute(
        "UPDATE jobs SET status = 'completed', completed_at_ms = ?, stage = NULL, error = NULL WHERE job_no = ?",
        (now, job_no),
    )
    if job_no % _PRUNE_EVERY_JOBS == 0:
        prune_jobs(connection, KEPT_JOBS)


def prune_jobs(connection: Connection, kept: int) -> None:
    """Forget all but the newest `kept` jobs; never an active one, nor the failed one of a live document."""
    connection.execute(
        f"""DELETE FROM jobs WHERE job_no <= (SELECT max(job_no) FROM jobs) - ? AND status NOT IN {ACTIVE} AND NOT (
                status = 'failed' AND EXISTS (
                    SELECT 1 FROM documents d WHERE d.document_no = jobs.document_no AND d.status NOT IN {GONE}))""",
        (kept,),
    )


def set_status_unless_ready(
    connection: Connection, document_no: int, status: DocumentStatus, now: int, error: str | None = None
) -> None:
    """Show what became of a document's job. One with a searchable revision stays ready; an error shows on both."""
    changed = first_row(
        connection,
        f"""UPDATE documents SET status = CASE WHEN current_revision_no IS NULL THEN ? ELSE status END,
                latest_error = coalesce(?, latest_error), updated_at_ms = ?
            WHERE document_no = ? AND status NOT IN {GONE} {"" if error else "AND current_revision_no IS NULL"}
            RETURNING 1""",
        (status, error, now, document_no),
    )
    if changed:
        raise_generation(connection)


def _held(connection: Connection, job: Job) -> Row | None:
    """The job's row, if it is still this worker's."""
    _hold_document(connection, job.id)
    lock = connection.dialect.for_update
    sql = f"SELECT job_no, document_no, revision_no, attempt, max_attempts FROM jobs WHERE {HELD}{lock}"
    return first_row(connection, sql, (job.id, job.attempt))


def _hold_document(connection: Connection, job_id: str) -> None:
    """Lock the document of a job, as every writer does it before it touches the job."""
    if lock := connection.dialect.for_update:
        document = f"SELECT 1 FROM documents WHERE document_no = (SELECT document_no FROM jobs WHERE id = ?){lock}"
        first_row(connection, document, (job_id,))


def held_numbers(connection: Connection, job: Job) -> tuple[int, int, int | None] | None:
    """Job, document and revision number of a job that is still this worker's; None when it was lost."""
    row = _held(connection, job)
    return (row[0], row[1], row[2]) if row else None


def get_job(connection: Connection, job_id: str) -> Job | None:
    """One job."""
    row = first_row(connection, f"{_SELECT} WHERE j.id = ?", (job_id,))
    return Job(*row) if row else None


def get_jobs(connection: Connection, ids: Iterable[str]) -> list[Job]:
    """Those of the jobs that exist."""
    dialect = connection.dialect
    rows = connection.execute(f"{_SELECT} WHERE {dialect.among('j.id')}", (dialect.listed(ids),))
    return [Job(*row) for row in rows]


def list_jobs(
    connection: Connection, limit: int, after: Position | None, statuses: Sequence[JobStatus], document_id: str | None
) -> list[Job]:
    """A page of jobs, newest first."""
    conditions, params = ["true"], list[Any]()
    if after is not None:
        conditions.append("j.created_at_ms <= ? AND (j.created_at_ms, j.id) < (?, ?)")
        params += [after.value, after.value, after.id]
    if statuses:
        conditions.append(connection.dialect.among("j.status"))
        params.append(connection.dialect.listed(statuses))
    if document_id is not None:
        conditions.append("j.document_no = (SELECT document_no FROM documents WHERE id = ?)")
        params.append(document_id)
    sql = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY j.created_at_ms DESC, j.id DESC LIMIT ?"
    return [Job(*row) for row in connection.execute(sql, [*params, limit])]
