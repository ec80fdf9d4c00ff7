"""The jobs that a worker has claimed, until each of them is written, failed, lost or handed back."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from mcp_knowledge.domain.documents import Job, JobStatus
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import BlobStore, JobQueue, Store
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.job_reports import JobOutcome, report
from mcp_knowledge.services.log_context import about
from mcp_knowledge.services.outages import Outage, is_outage, put_off_ms
from mcp_knowledge.services.work import Passages, Work

log = logging.getLogger(__name__)

_SILENT_S = 1.0  # a job this young reports no progress: it is over before anybody could look
_RETRY_AFTER_MS = (2_000, 10_000)
_HAND_BACK_S = 2.0  # the database may not answer while the process must end

# Codes that say something about the file; any other failure is ours.
_FILE_FAULTS = frozenset(
    {
        "DOCUMENT_NEEDS_OCR",
        "DOCUMENT_ENCRYPTED",
        "DOCUMENT_UNSUPPORTED_FORMAT",
        "DOCUMENT_RESOURCE_LIMIT",
        "DOCUMENT_MALFORMED",
        "DOCUMENT_EMPTY",
        "DOCUMENT_CONTENT_UNAVAILABLE",
        "PAYLOAD_TOO_LARGE",
        "INGESTION_TIMEOUT",
    }
)


class Workload:
    """Who is at what, and the ways a job can end.

    Args:
        lease_ms: how long the queue leaves a job to this worker without hearing of it.
    """

    def __init__(self, store: Store, queue: JobQueue, blobs: BlobStore, events: Events, lease_ms: int) -> None:
        self._store, self._queue, self._events, self._lease_ms = store, queue, events, lease_ms
        self.outage = Outage(queue.next_due_ms, blobs)
        self.works: dict[tuple[str, int], Work] = {}
        self.tasks: dict[Work, asyncio.Task[None]] = {}
        self.passages = Passages()
        self.wake = asyncio.Event()  # there may be room for another job
        self.passages_taken = asyncio.Event()
        self.left = asyncio.Event()

    def holds(self, work: Work) -> bool:
        """Whether a job is still ours, with nothing recorded of its end."""
        return work.key in self.works and not work.failed

    def leave(self, work: Work, outcome: JobOutcome, code: str | None = None) -> None:
        """Forget a job, and report what became of it."""
        if self.works.pop(work.key, None) is not None:
            report(work, outcome, code)
        self.passages.discard(work)
        work.waiting.clear()
        self.passages_taken.set()
        self.left.set()
        self.wake.set()

    def drop(self, work: Work, outcome: JobOutcome = "dropped") -> None:
        """Somebody else has the job, or it was cancelled: stop, and write nothing of it."""
        self.leave(work, outcome)
        if task := self.tasks.get(work):
            task.cancel()

    async def fail(self, work: Work, error: Exception) -> None:
        """Record a failure, or hand the job back when it met an outage. What cannot be written now is not lost: no work
        of ours has the job any more, and `release_abandoned_jobs` finds it.
        """
        if not self.holds(work):
            return  # another batch of the same document failed before
        work.failed = True
        self.passages.discard(work)
        outcome: JobOutcome = "postponed"
        with about(**work.log_fields()):
            try:
                if self.outage.note(error):
                    await self._put_off(work)
                else:
                    outcome = await self._record(work, error)
            except Exception as failure:
                if not self.outage.note(failure):
                    log.exception("The failure of job %s could not be recorded", work.job.id)
            finally:
                self.leave(work, outcome, _code(error) if outcome in ("failed", "retrying") else None)

    async def _record(self, work: Work, error: Exception) -> JobOutcome:
        code = _code(error)
        known = ERROR_CODES[code]
        wait_ms = _RETRY_AFTER_MS[min(work.job.attempt, len(_RETRY_AFTER_MS)) - 1] if known.retried else None
        recorded = True
        try:
            recorded = await self._queue.fail(work.job, code, known.message, wait_ms)
        finally:
            if recorded:  # else the document was deleted while it was read: no wonder, and nobody's fault
                _tell_log(work, code, error)
        retried = wait_ms is not None and work.job.attempt < work.job.max_attempts
        outcome: JobOutcome = "retrying" if retried else "failed"
        if recorded:
            await self.tell([work], "retrying" if retried else "failed", f"{code}: {known.message}")
        self.outage.forget()
        return outcome if recorded else "dropped"

    async def _put_off(self, work: Work) -> None:
        if await self._queue.release(work.job, put_off_ms(work.job.attempt)):
            await self.tell([work], "queued")

    async def hand_back(self, works: Sequence[Work]) -> None:
        """Leave jobs to the next worker, as if they had never been claimed."""
        tasks = [task for work in works if (task := self.tasks.get(work))]
        for work in works:
            self.drop(work, "returned")
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            async with asyncio.timeout(_HAND_BACK_S):
                await asyncio.gather(*(self._queue.release(work.job) for work in works))
        except Exception as error:
            log.error("Jobs could not be handed back: they run again when their lease ends", exc_info=error)

    async def look_after(self) -> None:
        """Renew the leases, report progress, and drop what is no longer ours."""
        now = time.monotonic()
        moved = []
        for work in list(self.works.values()):
            if work.writing:
                continue  # its row is locked until it has ended, which is long before its lease does
            if now - work.renewed > self._lease_ms / 3000:
                if not await self._queue.renew(work.job, self._lease_ms):
                    self.drop(work)
                    continue
                work.renewed = now
            state = (work.stage, work.done, work.total)
            if now - work.started > _SILENT_S and state != work.reported and work.job.kind == "ingest":
                work.reported = state
                if await self._queue.progress(work.job, *state):
                    moved.append(work)
                else:
                    self.drop(work)
        await self.tell(moved, "running")

    async def tell(self, works: Sequence[Work], status: JobStatus, error: str | None = None) -> None:
        """Publish what became of jobs and their documents, as far as the documents can be read now."""
        if not works:
            return
        for work in works:
            self._events.publish("job", _job_as(work, status, error))
        if not self._events.followed:  # not worth the reading
            for work in works:
                self._events.refer("document", work.job.document_id)
            return
        try:
            documents = await self._store.get_documents([work.job.document_id for work in works])
        except Exception as error:
            if not is_outage(error):
                raise
            return
        for document in documents.values():
            self._events.publish("document", document)

    def tell_deleted(self, work: Work) -> None:
        """Publish the end of a document."""
        self._events.publish("job", _job_as(work, "completed", None))
        self._events.publish("document", {"id": work.job.document_id, "status": "deleted"})


def _job_as(work: Work, status: JobStatus, error: str | None) -> Job:
    stage = work.stage if status == "running" else None
    return replace(work.job, status=status, stage=stage, done=work.done, total=work.total, error=error)


def _code(error: Exception) -> str:
    """The code under which a failure is stored."""
    return error.code if isinstance(error, KnowledgeError) and error.code in _FILE_FAULTS else "INGESTION_FAILED"


def _tell_log(work: Work, code: str, error: Exception) -> None:
    """What an operator has to know of a failure."""
    if code == "INGESTION_FAILED":
        log.error("Ingestion of document %s failed", work.job.document_id, exc_info=error)
    elif error.__cause__ is not None:  # the verdict is not a reader's own: it may be a fault of ours after all
        log.warning("Document %s could not be read: %s", work.job.document_id, error.__cause__)
