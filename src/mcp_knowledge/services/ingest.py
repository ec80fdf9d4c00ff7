"""The worker: takes jobs from the queue and sees them through.

Several loops share the work, so that parsing, embedding and writing go on at the same time and whatever has piled up
before a step is done in one go: `_claim_jobs` takes jobs and starts a task for each that parses and chunks,
`Embedding.embed` (twice, for two cores) turns passages into vectors, `Embedding.index` writes finished documents in one
transaction, `Workload.look_after` renews leases and reports progress. Nothing waits for a batch to fill: a lone
document goes straight through.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, Embedder, JobQueue, Locks, Parser, Store
from mcp_knowledge.services.cleanup import RECOVER_S, WORKER_LOCK, release_abandoned_jobs, remove_orphan_blobs
from mcp_knowledge.services.embedding import Embedding
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.log_context import about
from mcp_knowledge.services.preparing import Preparation
from mcp_knowledge.services.work import Work
from mcp_knowledge.services.workload import Workload
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

_POLL_S = 1.0  # another process may have queued a job
_MOST_JOBS = 32  # claimed at a time
_FEW_JOBS = 8  # claim more when fewer than this are still to be embedded: claims then come in groups
_EMBED_LOOPS = 2
_CARE_S = 0.5
_LARGE_BACKLOG = 1_000  # passages; beyond that no further large file is parsed, to bound memory
_FINISH_S = 5.0  # of the 10 seconds that a shutdown may take
_FINISHABLE_PASSAGES = 200  # what two cores embed in that time
_SWEEP_S = 3600.0
_DRAIN_AHEAD_MS = 35_000  # `drain` waits for jobs that are due so soon: retries, and those that met an outage


class IngestWorker:
    """Works off the job queue.

    Args:
        locks: tell which workers run.
        name: begins with `host:pid`; no other process ever has it. Shown with the jobs.
    """

    def __init__(
        self,
        store: Store,
        queue: JobQueue,
        blobs: BlobStore,
        parser: Parser,
        embedder: Embedder,
        events: Events,
        locks: Locks,
        settings: Settings,
        name: str,
    ) -> None:
        self._store, self._queue, self._blobs, self._locks = store, queue, blobs, locks
        self._load = Workload(store, queue, blobs, events, settings.job_lease_ms)
        self._preparation = Preparation(store, blobs, parser, embedder, settings)
        self._embedding = Embedding(store, embedder, self._load)
        self._lease_ms = settings.job_lease_ms
        self._name = name
        self._claiming = asyncio.Lock()
        self._ended = asyncio.Event()
        self._stopped = asyncio.Event()
        self._jobs_may_wait = True
        self.running = False

    async def run(self) -> None:
        """Work until `stop`."""
        self.running = True
        self._stopped.clear()
        self._ended.clear()
        presence = f"{WORKER_LOCK}/{self._name}"
        with suppress(KnowledgeError):  # it is taken as soon as the database answers
            await self._locks.keep(presence)
        loops: list[Coroutine[Any, Any, None]] = [
            self._claim_jobs(),
            *(self._forever(self._embedding.embed) for _ in range(_EMBED_LOOPS)),
            self._forever(self._embedding.index),
            self._every(_CARE_S, self._load.look_after),
            self._every(RECOVER_S, self._recover),
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
            await self._load.hand_back(list(self._load.works.values()))
            await self._locks.drop(presence)
            self._ended.set()

    @property
    def busy(self) -> bool:
        """Whether a job is at work."""
        return bool(self._load.works)

    @property
    def paused(self) -> bool:
        """Whether it claims nothing until a database or a storage answers again."""
        return self.running and self._load.outage.here

    def wake(self) -> None:
        """A job may wait: look at once. Called on the worker's own loop."""
        self._jobs_may_wait = True
        self._load.wake.set()

    async def stop(self) -> None:
        """Claim nothing more, finish what is nearly done and hand back the rest; within 10 seconds."""
        self._stopped.set()
        self._load.wake.set()
        if self.running:
            await self._ended.wait()

    async def drain(self) -> None:
        """Work until no job is at work or due, retries included. Starts and stops the loops if they do not run."""
        own = None if self.running else asyncio.create_task(self.run())
        try:
            while not await self._drained():
                self._load.left.clear()
                waiters = [asyncio.create_task(self._load.left.wait())] + ([own] if own else [])
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
            if self._load.works or self._load.outage.here:
                return False  # asked first: what fails while the queue is read shows as running there
            try:
                due = await self._queue.next_due_ms()
            except Exception as error:
                if not self._load.outage.note(error):
                    raise
                return False
            return due is None or due > time.time() * 1000 + _DRAIN_AHEAD_MS

    async def _claim_jobs(self) -> None:
        looked = time.monotonic()
        while not self._stopped.is_set():
            self._load.wake.clear()
            if self._load.outage.here:
                await self._outlast()
            if time.monotonic() - looked >= _POLL_S:
                looked, self._jobs_may_wait = time.monotonic(), True
            await self._guarded(self._claim_some)
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._load.wake.wait()

    async def _outlast(self) -> None:
        """Wait until there is no outage any more, and take back what was claimed but could not be written to."""
        await self._load.outage.outlast(self._stopped)
        if not self._stopped.is_set():
            await self._guarded(self._recover)
            self._jobs_may_wait = True

    def _room(self) -> int:
        load = self._load
        if not load.outage.trying:
            return _MOST_JOBS - len(load.works)
        return 1 - sum(work.started >= load.outage.ended for work in load.works.values())

    async def _claim_some(self) -> None:
        load = self._load
        while not self._stopped.is_set() and not load.outage.here:
            before_model = len(load.tasks) + len(load.passages.works)
            room = self._room()
            if before_model >= _FEW_JOBS or room <= 0 or not self._jobs_may_wait:
                return
            self._jobs_may_wait = False  # before the claim: what is queued meanwhile sets it again
            async with self._claiming:
                jobs = await self._queue.claim(self._name, room, self._lease_ms)
                works = [Work(job) for job in jobs]
                load.works |= {work.key: work for work in works}
            if not works:
                return
            if len(works) == room:
                self._jobs_may_wait = True
            for work in works:
                load.tasks[work] = asyncio.create_task(self._start(work))
            await load.tell(works, "running")

    async def _start(self, work: Work) -> None:
        """A job's own task: until its passages wait for the model, or the document is deleted."""
        with about(**work.log_fields()):
            try:
                if work.job.kind == "delete":
                    await self._delete(work)
                    return
                prepared = await self._preparation.prepare(work, self._room_for_large_files)
                self._load.outage.prove()
                self._embedding.add(work, prepared)
            except TimeoutError:
                await self._load.fail(work, KnowledgeError("INGESTION_TIMEOUT"))
            except Exception as error:
                await self._load.fail(work, error)
            finally:
                self._load.tasks.pop(work, None)
                self._load.wake.set()

    async def _room_for_large_files(self) -> None:
        while len(self._load.passages) >= _LARGE_BACKLOG:
            self._load.passages_taken.clear()
            await self._load.passages_taken.wait()

    async def _delete(self, work: Work) -> None:
        """Originals first: as long as the revisions are there, a killed worker's successor knows the keys."""
        for revision in await self._store.list_revisions(work.job.document_id):
            await self._blobs.delete(revision.blob_key)
        gone = await self._store.finish_delete(work.job)
        if gone:
            self._load.tell_deleted(work)
        self._load.outage.forget()
        self._load.leave(work, "completed" if gone else "dropped")

    async def _finish(self) -> None:
        """See through what is nearly done, up to a limit of time."""
        load = self._load
        try:
            async with asyncio.timeout(_FINISH_S):
                await load.hand_back([work for work in load.works.values() if _takes_long(work)])
                while load.works and not load.outage.here:
                    load.left.clear()
                    await load.left.wait()
        except TimeoutError:
            log.info("Handing back %d unfinished jobs", len(load.works))

    async def _recover(self) -> None:
        async with self._claiming:  # what is claimed but not yet among our works would look abandoned
            released = await release_abandoned_jobs(self._queue, self._locks, self._name, self._load.works.keys())
        if released:
            self.wake()

    async def _sweep(self) -> None:
        async with self._locks.held("sweep") as ours:
            if ours:  # else another process is at it
                await remove_orphan_blobs(self._store, self._blobs)

    async def _forever(self, step: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._guarded(step)

    async def _every(self, seconds: float, step: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._guarded(step)
            await asyncio.sleep(seconds)

    async def _guarded(self, step: Callable[[], Awaitable[object]]) -> None:
        """Run a step; after a failure the next try comes a moment later."""
        try:
            await step()
        except Exception as error:
            if self._load.outage.note(error):
                self._load.wake.set()  # whoever claims jobs must know
            else:
                log.exception("The ingest worker met a failure and goes on")
            await asyncio.sleep(_POLL_S)


def _takes_long(work: Work) -> bool:
    """Whether there is no hope to see a document through before the process must end."""
    return len(work.waiting) > _FINISHABLE_PASSAGES or (work.is_large and work.prepared is None)
