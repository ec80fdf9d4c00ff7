"""The worker: takes jobs from the queue and sees them through.

Several loops share the work, so that parsing, embedding and writing go on at the same time and whatever has piled up
before a step is done in one go: `_claim_jobs` takes jobs and starts a task for each that parses and chunks, `_embed`
(twice, for two cores) turns passages into vectors, `_index` writes finished documents in one transaction, `_look_after`
renews leases and reports progress. Nothing waits for a batch to fill: a lone document goes straight through.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_knowledge.domain.documents import Job, JobStatus
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import BlobStore, Embedder, JobQueue, Parser, Store
from mcp_knowledge.services import metrics
from mcp_knowledge.services.cleanup import release_abandoned_jobs, remove_orphan_blobs
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.preparing import Preparation
from mcp_knowledge.services.work import Passages, Work
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

_POLL_S = 1.0  # another process may have queued a job
_MOST_JOBS = 32  # claimed at a time
_FEW_JOBS = 8  # claim more when fewer than this are still to be embedded: claims then come in groups
_BATCH_PASSAGES = 32  # of one call to the embedder; the model itself is fed in smaller pieces
_EMBED_LOOPS = 2
_CARE_S = 0.5
_SILENT_S = 1.0  # a job this young reports no progress: it is over before anybody could look
_RETRY_AFTER_MS = (2_000, 10_000)
_LARGE_BACKLOG = 1_000  # passages; beyond that no further large file is parsed, to bound memory
_FINISH_S = 6.0  # of the 10 seconds that a shutdown may take
_FINISHABLE_PASSAGES = 200  # what two cores embed in that time
_RECOVER_S = 30.0
_SWEEP_S = 3600.0
_WATCHED_S = 60.0  # document events go on for so long after the last reader: it may only have lost its connection
_DRAIN_AHEAD_MS = 15_000  # `drain` waits for retries that are due so soon

# Codes that say something about the file; any other failure is ours.
_FILE_FAULTS = frozenset(
    {
        "DOCUMENT_NEEDS_OCR",
        "DOCUMENT_ENCRYPTED",
        "DOCUMENT_UNSUPPORTED_FORMAT",
        "DOCUMENT_RESOURCE_LIMIT",
        "DOCUMENT_MALFORMED",
        "DOCUMENT_EMPTY",
        "PAYLOAD_TOO_LARGE",
        "INGESTION_TIMEOUT",
    }
)


class IngestWorker:
    """Works off the job queue.

    Args:
        name: `host:pid`, unique among the workers of a queue; shown with the jobs.
    """

    def __init__(
        self,
        store: Store,
        queue: JobQueue,
        blobs: BlobStore,
        parser: Parser,
        embedder: Embedder,
        events: Events,
        settings: Settings,
        name: str,
    ) -> None:
        self._store, self._queue, self._blobs, self._embedder, self._events = store, queue, blobs, embedder, events
        self._preparation = Preparation(store, blobs, parser, embedder, settings)
        self._lease_ms = settings.job_lease_ms
        self._timeout_s = settings.ingestion_timeout_ms / 1000
        self._name = name
        self._works: dict[tuple[str, int], Work] = {}
        self._tasks: dict[Work, asyncio.Task[None]] = {}
        self._passages = Passages()
        self._finished: list[Work] = []  # embedded, not yet written
        self._claiming = asyncio.Lock()
        self._wake = asyncio.Event()
        self._passages_wait = asyncio.Event()
        self._finished_wait = asyncio.Event()
        self._taken = asyncio.Event()  # passages have gone to the model
        self._changed = asyncio.Event()  # a work has left
        self._ended = asyncio.Event()
        self._jobs_may_wait = True
        self._watched_until = 0.0
        self._stopping = False
        self.running = False

    async def run(self) -> None:
        """Work until `stop`."""
        self.running, self._stopping = True, False
        self._ended.clear()
        loops: list[Coroutine[Any, Any, None]] = [
            self._claim_jobs(),
            *(self._forever(self._embed) for _ in range(_EMBED_LOOPS)),
            self._forever(self._index),
            self._every(_CARE_S, self._look_after),
            self._every(_RECOVER_S, self._recover),
            self._every(_SWEEP_S, self._sweep),
        ]
        tasks = [asyncio.create_task(loop) for loop in loops]
        try:
            await tasks[0]
            await self._finish()
        finally:
            self.running = False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._hand_back(list(self._works.values()))
            self._ended.set()

    def wake(self) -> None:
        """A job may wait: look at once. Called on the worker's own loop."""
        self._jobs_may_wait = True
        self._wake.set()

    async def stop(self) -> None:
        """Claim nothing more, finish what is nearly done and hand back the rest; within 10 seconds."""
        self._stopping = True
        self._wake.set()
        if self.running:
            await self._ended.wait()

    async def drain(self) -> None:
        """Work until no job is at work or due, retries included. Starts and stops the loops if they do not run."""
        own = None if self.running else asyncio.create_task(self.run())
        try:
            while not await self._drained():
                self._changed.clear()
                waiters = [asyncio.create_task(self._changed.wait())] + ([own] if own else [])
                done, _ = await asyncio.wait(waiters, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
                waiters[0].cancel()
                if own in done:
                    break
        finally:
            if own is not None:
                await self.stop()
                await own

    async def _drained(self) -> bool:
        async with self._claiming:  # a job that is being claimed is neither due nor among our works
            due = await self._queue.next_due_ms()
            return not self._works and (due is None or due > time.time() * 1000 + _DRAIN_AHEAD_MS)

    # Claiming and preparing

    async def _claim_jobs(self) -> None:
        looked = time.monotonic()
        while not self._stopping:
            self._wake.clear()
            if time.monotonic() - looked >= _POLL_S:
                looked, self._jobs_may_wait = time.monotonic(), True
            await self._guarded(self._claim_some)
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._wake.wait()

    async def _claim_some(self) -> None:
        while not self._stopping:
            before_model = len(self._tasks) + len(self._passages.works)
            room = _MOST_JOBS - len(self._works)
            if before_model >= _FEW_JOBS or room <= 0 or not self._jobs_may_wait:
                return
            self._jobs_may_wait = False  # before the claim: what is queued meanwhile sets it again
            async with self._claiming:
                jobs = await self._queue.claim(self._name, room, self._lease_ms)
                works = [Work(job, time.monotonic() + self._timeout_s) for job in jobs]
                self._works |= {work.key: work for work in works}
            if not works:
                return
            if len(works) == room:
                self._jobs_may_wait = True
            for work in works:
                self._tasks[work] = asyncio.create_task(self._start(work))
            await self._tell(works, "running")

    async def _start(self, work: Work) -> None:
        """A job's own task: until its passages wait for the model, or the document is deleted."""
        try:
            if work.job.kind == "delete":
                await self._delete(work)
                return
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + work.deadline - time.monotonic()):
                prepared = await self._preparation.prepare(work, self._room_for_large_files)
            work.enter("embedding")
            work.prepare_vectors(prepared, self._embedder.dimensions)
            if work.waiting:
                self._passages.add(work)
                self._passages_wait.set()
            else:
                self._embedded(work)
        except TimeoutError:
            await self._fail(work, KnowledgeError("INGESTION_TIMEOUT"))
        except Exception as error:
            await self._fail(work, error)
        finally:
            self._tasks.pop(work, None)
            self._wake.set()

    async def _room_for_large_files(self) -> None:
        while len(self._passages) >= _LARGE_BACKLOG:
            self._taken.clear()
            await self._taken.wait()

    async def _delete(self, work: Work) -> None:
        """Originals first: as long as the revisions are there, a killed worker's successor knows the keys."""
        for revision in await self._store.list_revisions(work.job.document_id):
            await self._blobs.delete(revision.blob_key)
        if await self._store.finish_delete(work.job):
            self._events.publish("job", _job_as(work, "completed"))
            self._events.publish("document", {"id": work.job.document_id, "status": "deleted"})
        self._leave(work)

    # Embedding and writing

    async def _embed(self) -> None:
        batch = self._passages.take(_BATCH_PASSAGES)
        if not batch:
            self._passages_wait.clear()
            await self._passages_wait.wait()
            return
        self._wake.set()
        self._taken.set()
        try:
            texts = [
                work.prepared.chunks[index].embedding_text
                for work, indexes in batch
                for index in indexes
                if work.prepared is not None
            ]
            vectors = await self._embedder.embed_passages(texts)
        except Exception as error:
            for work, _ in batch:
                await self._fail(work, error)
            return
        metrics.count_embedded(len(texts))
        first = 0
        for work, indexes in batch:
            if work.embedded(indexes, vectors[first : first + len(indexes)]):
                self._embedded(work)
            elif time.monotonic() > work.deadline:
                await self._fail(work, KnowledgeError("INGESTION_TIMEOUT"))
            first += len(indexes)

    def _embedded(self, work: Work) -> None:
        if work.key in self._works and not work.failed:
            work.enter("indexing")
            self._finished.append(work)
            self._finished_wait.set()

    async def _index(self) -> None:
        works, self._finished = self._finished, []
        if not works:
            self._finished_wait.clear()
            await self._finished_wait.wait()
            return
        try:
            written = await self._store.index_revisions([work.revision() for work in works], self._embedder.fingerprint)
        except Exception as error:
            if len(works) > 1:  # one of them may be at fault: each on its own
                for work in works:
                    await self._index_alone(work)
            else:
                await self._fail(works[0], error)
            return
        await self._written(works, written)

    async def _index_alone(self, work: Work) -> None:
        try:
            written = await self._store.index_revisions([work.revision()], self._embedder.fingerprint)
        except Exception as error:
            await self._fail(work, error)
        else:
            await self._written([work], written)

    async def _written(self, works: Sequence[Work], written: Sequence[bool]) -> None:
        try:
            await self._tell([work for work, done in zip(works, written, strict=True) if done], "completed")
        finally:
            for work in works:
                work.close_stage()
                self._leave(work)

    # Leaving

    def _leave(self, work: Work) -> None:
        self._works.pop(work.key, None)
        self._passages.discard(work)
        work.waiting.clear()
        self._taken.set()
        self._changed.set()
        self._wake.set()

    async def _fail(self, work: Work, error: Exception) -> None:
        """Record a failure. If even that fails, the lease runs out and the job is claimed again."""
        if work.failed or work.key not in self._works:
            return  # another batch of the same document failed before
        work.failed = True
        self._passages.discard(work)
        code = error.code if isinstance(error, KnowledgeError) and error.code in _FILE_FAULTS else "INGESTION_FAILED"
        if code == "INGESTION_FAILED":
            log.error("Ingestion of document %s failed", work.job.document_id, exc_info=error)
        known = ERROR_CODES[code]
        wait_ms = _RETRY_AFTER_MS[min(work.job.attempt, len(_RETRY_AFTER_MS)) - 1] if known.retried else None
        try:
            if await self._queue.fail(work.job, code, known.message, wait_ms):
                retried = wait_ms is not None and work.job.attempt < work.job.max_attempts
                await self._tell([work], "retrying" if retried else "failed", f"{code}: {known.message}")
        except Exception:
            log.exception("The failure of job %s could not be recorded", work.job.id)
        finally:
            self._leave(work)

    def _drop(self, work: Work) -> None:
        """Somebody else has the job, or it was cancelled: stop without a word."""
        self._leave(work)
        if task := self._tasks.get(work):
            task.cancel()

    async def _hand_back(self, works: Sequence[Work]) -> None:
        tasks = [task for work in works if (task := self._tasks.get(work))]
        for work in works:
            self._drop(work)
        await asyncio.gather(*tasks, return_exceptions=True)
        for work in works:
            await self._guarded(partial(self._queue.release, work.job))

    async def _finish(self) -> None:
        """See through what is nearly done, up to a limit of time."""
        large = [work for work in self._works.values() if len(work.waiting) > _FINISHABLE_PASSAGES]
        await self._hand_back(large)
        try:
            async with asyncio.timeout(_FINISH_S):
                while self._works:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.info("Handing back %d unfinished jobs", len(self._works))

    # Care

    async def _look_after(self) -> None:
        now = time.monotonic()
        moved = []
        for work in list(self._works.values()):
            if now - work.renewed > self._lease_ms / 3000:
                work.renewed = now
                if not await self._queue.renew(work.job, self._lease_ms):
                    self._drop(work)
                    continue
            state = (work.stage, work.done, work.total)
            if now - work.started > _SILENT_S and state != work.reported and work.job.kind == "ingest":
                work.reported = state
                if await self._queue.progress(work.job, *state):
                    moved.append(work)
                else:
                    self._drop(work)
        await self._tell(moved, "running")

    async def _tell(self, works: Sequence[Work], status: JobStatus, error: str | None = None) -> None:
        """Publish what became of jobs and their documents."""
        if not works:
            return
        for work in works:
            self._events.publish("job", _job_as(work, status, error))
        if self._events.reader_count:
            self._watched_until = time.monotonic() + _WATCHED_S
        if time.monotonic() > self._watched_until:
            return  # nobody follows: not worth the reading
        documents = await self._store.get_documents([work.job.document_id for work in works])
        for document in documents.values():
            self._events.publish("document", document)

    async def _recover(self) -> None:
        async with self._claiming:  # what is claimed but not yet among our works would look abandoned
            released = await release_abandoned_jobs(self._queue, self._name, self._works.keys())
        if released:
            self.wake()

    async def _sweep(self) -> None:
        await remove_orphan_blobs(self._store, self._blobs)

    # Loops that survive failures

    async def _forever(self, step: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._guarded(step)

    async def _every(self, seconds: float, step: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._guarded(step)
            await asyncio.sleep(seconds)

    async def _guarded(self, step: Callable[[], Awaitable[object]]) -> None:
        """Run a step; a failure (a locked database, a full disk) is logged, and the next try comes a moment later."""
        try:
            await step()
        except Exception:
            log.exception("The ingest worker met a failure and goes on")
            await asyncio.sleep(_POLL_S)


def _job_as(work: Work, status: JobStatus, error: str | None = None) -> Job:
    stage = work.stage if status == "running" else None
    return replace(work.job, status=status, stage=stage, done=work.done, total=work.total, error=error)
