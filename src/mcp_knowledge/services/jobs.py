"""Jobs as users see them: what is waiting, at work, done and failed."""

from collections.abc import Callable

from mcp_knowledge.domain.documents import Job, JobStatus
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import JobQueue, Position
from mcp_knowledge.services.events import Events


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

    async def list(
        self,
        limit: int,
        after: Position | None = None,
        status: JobStatus | None = None,
        document_id: str | None = None,
    ) -> tuple[list[Job], Position | None]:
        """A page, newest first, and where the next one goes on."""
        found = await self._queue.list(limit + 1, after, status, document_id)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None
