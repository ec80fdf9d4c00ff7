"""The queue of work."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_knowledge.domain.documents import (
    Job,
    JobStatus,
    Stage,
)
from mcp_knowledge.ports.terms import Position


@dataclass(frozen=True, slots=True)
class Pace:
    """`completed` jobs were completed lately, the first of them `within_ms` milliseconds ago."""

    completed: int
    within_ms: int


@dataclass(frozen=True, slots=True)
class BackgroundRun:
    """Jobs in the background: `done` of `total` that were queued since there were none; 0 of 0 when there are none."""

    done: int
    total: int


class JobQueue(Protocol):
    """Durable work with leases. A job's attempt fences: calls with an attempt that is no longer the job's do
    nothing, return False.
    """

    async def claim(self, worker: str, limit: int, lease_ms: int) -> list[Job]:
        """Take up to `limit` jobs that are due (waiting, or whose lease ran out), oldest first; documents become
        `processing`.

        A job whose last attempt's lease ran out fails with INGESTION_FAILED instead of being claimed again.
        """
        ...

    async def renew(self, job: Job, lease_ms: int) -> bool:
        """Hold the lease for another `lease_ms` from now."""
        ...

    async def progress(self, job: Job, stage: Stage, done: int, total: int) -> bool:
        """Say how far the job has come."""
        ...

    async def fail(self, job: Job, code: str, message: str, retry_after_ms: int | None) -> bool:
        """Record `CODE: message` on job and document. With `retry_after_ms` and attempts left it waits and runs
        again, else it has failed.

        A document with a searchable revision stays `ready`.
        """
        ...

    async def release(self, job: Job, after_ms: int = 0) -> bool:
        """Hand a claimed job back unharmed (shutdown, outage): the attempt does not count. It is due where it stood in
        the line, or else `after_ms` from now.
        """
        ...

    async def retry(self, job_id: str) -> Job:
        """Queue a failed job again with fresh attempts. Raises JOB_NOT_FOUND, JOB_NOT_RETRYABLE."""
        ...

    async def retry_failed(self, after_id: str, limit: int) -> tuple[list[Job], str | None]:
        """`retry` for up to `limit` failed jobs by id after `after_id`, unless their document has a later job.

        Those queued, and the id to go on after, None at the end.
        """
        ...

    async def overtaken(self, job_ids: Iterable[str]) -> set[str]:
        """Those of the jobs whose document has a later one."""
        ...

    async def get(self, job_id: str) -> Job | None:
        """None when there is no such job."""
        ...

    async def get_many(self, job_ids: Iterable[str]) -> dict[str, Job]:
        """Those that exist, by id."""
        ...

    async def list(
        self,
        limit: int,
        after: Position | None = None,
        statuses: Sequence[JobStatus] = (),
        document_id: str | None = None,
    ) -> list[Job]:
        """Newest first by (created_at_ms, id). Without `statuses`, all."""
        ...

    async def counts(self, document_id: str | None = None) -> dict[JobStatus, int]:
        """How many jobs there are, by status: all that are kept, or those of one document."""
        ...

    async def pace(self, window_ms: int) -> Pace:
        """How fast jobs have been completed within the last `window_ms`."""
        ...

    async def background_run(self) -> BackgroundRun:
        """How far the present run of jobs has come that let every other one go first."""
        ...

    async def next_due_ms(self) -> int | None:
        """Unix milliseconds when the next job is due (in the past: now); None when none waits. Deletions that can still
        be undone do not count.
        """
        ...
