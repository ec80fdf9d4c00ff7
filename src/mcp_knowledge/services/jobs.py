"""Jobs as users see them: what is waiting, at work, done and failed."""

from collections.abc import Callable, Iterable, Sequence

from mcp_knowledge.domain.documents import Job, JobStatus
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BackgroundRun, JobQueue, Position
from mcp_knowledge.services.events import Events

_RETRIED_AT_ONCE = 200  # jobs of one transaction
_PACE_WINDOW_MS = 120_000  # long enough to even out large and small documents, short enough to be of the present
_PACE_JOBS = 5  # fewer say nothing of the others


class Jobs:
    """The use cases around jobs.

    Args:
        wake: tells the worker that a job waits.
    """

    def __init__(self, queue: JobQueue, events: Events, wake: Callable[[], None]) -> None:
        self._queue, self._events, self._wake = queue, events, wake

    async def get(self, job_id: str) -> Job:
        """Raises JOB_NOT_FOUND."""
        job = await self._queue.get(job_id)
        if job is None:
            raise KnowledgeError("JOB_NOT_FOUND")
        return job

    async def retry(self, job_id: str) -> Job:
        """Queue a failed job again. Raises JOB_NOT_FOUND, JOB_NOT_RETRYABLE."""
        job = await self._queue.retry(job_id)
        self._events.publish("job", job)
        self._wake()
        return job

    async def retry_failed(self) -> int:
        """Queue every failed job again that no later one of its document has overtaken; how many these were."""
        queued = 0
        after: str | None = ""
        while after is not None:
            jobs, after = await self._queue.retry_failed(after, _RETRIED_AT_ONCE)
            queued += len(jobs)
            for job in jobs:
                self._events.publish("job", job)
        self._wake()
        return queued

    async def overtaken(self, job_ids: Iterable[str]) -> set[str]:
        """Those of the jobs whose document has a later one: to retry them would undo nothing and help nobody."""
        return await self._queue.overtaken(job_ids)

    async def counts(self, document_id: str | None = None) -> dict[JobStatus, int]:
        """How many jobs there are, by status: all, or those of one document."""
        return await self._queue.counts(document_id)

    async def time_left_ms(self, jobs: int) -> int | None:
        """Roughly how long so many jobs take at the pace of the last two minutes; None when too few ended in them."""
        pace = await self._queue.pace(_PACE_WINDOW_MS)
        if pace.completed < _PACE_JOBS:
            return None
        return round(jobs * pace.within_ms / pace.completed)

    async def background_run(self) -> BackgroundRun:
        """How far the jobs have come that were queued together and let all others go first."""
        return await self._queue.background_run()

    async def list(
        self,
        limit: int,
        after: Position | None = None,
        statuses: Sequence[JobStatus] = (),
        document_id: str | None = None,
    ) -> tuple[list[Job], Position | None]:
        """A page, newest first, and where the next one goes on. Without `statuses`, all."""
        found = await self._queue.list(limit + 1, after, statuses, document_id)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None
