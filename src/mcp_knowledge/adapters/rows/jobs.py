"""The job queue: one table, claimed in a transaction."""

from collections.abc import Iterable, Sequence
from typing import Any

from mcp_knowledge.adapters.rows import job_figures, job_rows
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.domain.documents import Job, JobStatus, Stage
from mcp_knowledge.ports import BackgroundRun, Pace, Position


class SqlJobQueue:
    """Durable work with leases."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, worker: str, limit: int, lease_ms: int) -> list[Job]:
        """Take up to `limit` due jobs, oldest first."""
        if not await self._database.read(lambda c: job_rows.due(c, c.dialect.queue_ms(c), 1)):
            return []  # the usual case costs no write transaction
        return await self._database.write(lambda c: job_rows.claim(c, worker, limit, lease_ms))

    async def renew(self, job: Job, lease_ms: int) -> bool:
        """Hold the lease from now on; False when the job was lost."""
        return await self._database.write(lambda c: job_rows.renew(c, job, lease_ms))

    async def progress(self, job: Job, stage: Stage, done: int, total: int) -> bool:
        """Say how far it has come; False when the job was lost."""
        sql = f"UPDATE jobs SET stage = ?, done = ?, total = ? WHERE {job_rows.HELD} RETURNING 1"
        return await self._change(sql, stage, done, total, job.id, job.attempt)

    async def fail(self, job: Job, code: str, message: str, retry_after_ms: int | None) -> bool:
        """Record the failure; wait for another attempt or give up. False when the job was lost."""
        return await self._database.write(lambda c: job_rows.fail(c, job, f"{code}: {message}", retry_after_ms))

    async def release(self, job: Job, after_ms: int = 0) -> bool:
        """Hand the job back; the attempt does not count. False when the job was lost."""
        return await self._database.write(lambda c: job_rows.release(c, job, after_ms))

    async def retry(self, job_id: str) -> Job:
        """Queue a failed job again. Raises JOB_NOT_FOUND or JOB_NOT_RETRYABLE."""
        return await self._database.write(lambda c: job_rows.retry(c, job_id))

    async def retry_failed(self, after_id: str, limit: int) -> tuple[list[Job], str | None]:
        """Queue the next failed jobs again."""
        return await self._database.write(lambda c: job_rows.retry_failed(c, after_id, limit))

    async def overtaken(self, job_ids: Iterable[str]) -> set[str]:
        """Those that a later job of their document has overtaken."""
        ids = {*job_ids}
        return await self._database.read(lambda c: job_rows.overtaken(c, ids)) if ids else set()

    async def get(self, job_id: str) -> Job | None:
        """One job."""
        return await self._database.read(lambda c: job_rows.get_job(c, job_id))

    async def get_many(self, job_ids: Iterable[str]) -> dict[str, Job]:
        """Those that exist, by id."""
        ids = {*job_ids}
        jobs = await self._database.read(lambda c: job_rows.get_jobs(c, ids)) if ids else []
        return {job.id: job for job in jobs}

    async def list(
        self,
        limit: int,
        after: Position | None = None,
        statuses: Sequence[JobStatus] = (),
        document_id: str | None = None,
    ) -> list[Job]:
        """Newest first."""
        return await self._database.read(lambda c: job_rows.list_jobs(c, limit, after, statuses, document_id))

    async def counts(self, document_id: str | None = None) -> dict[JobStatus, int]:
        """Jobs by status."""
        return await self._database.read(lambda c: job_figures.job_counts(c, document_id))

    async def pace(self, window_ms: int) -> Pace:
        """How fast jobs have been completed lately."""
        return await self._database.read(lambda c: job_figures.pace(c, window_ms))

    async def background_run(self) -> BackgroundRun:
        """How far the jobs in the background have come."""
        return await self._database.read(job_figures.background_run)

    async def next_due_ms(self) -> int | None:
        """When the next job is due or the next lease ends."""
        return await self._database.read(job_rows.next_due_ms)

    async def _change(self, sql: str, *params: Any) -> bool:
        return await self._database.write(lambda c: first_row(c, sql, params)) is not None
