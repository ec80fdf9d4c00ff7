"""The second half of ingestion: from chunks that wait for their vectors to a document that searches find."""

import asyncio
import time
from collections.abc import Sequence

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Embedder, Store
from mcp_knowledge.services import metrics
from mcp_knowledge.services.outages import is_outage
from mcp_knowledge.services.work import Prepared, Work
from mcp_knowledge.services.workload import Workload

_BATCH_PASSAGES = 32  # of one call to the embedder; the model itself is fed in smaller pieces
_KEPT_PASSAGES = 512  # some seconds of work: so much of a large document is lost at most when its ingestion stops


class Embedding:
    """Embeds the passages of the workload and writes each document as soon as it is complete."""

    def __init__(self, store: Store, embedder: Embedder, load: Workload) -> None:
        self._store, self._embedder, self._load = store, embedder, load
        self._finished: list[Work] = []  # embedded, not yet written
        self._passages_wait = asyncio.Event()
        self._finished_wait = asyncio.Event()

    def add(self, work: Work, prepared: Prepared) -> None:
        """Take over a chunked document."""
        work.enter("embedding")
        work.prepare_vectors(prepared, self._embedder.dimensions)
        if work.waiting:
            self._load.passages.add(work)
            self._passages_wait.set()
        else:
            self._complete(work)

    async def embed(self) -> None:
        """Take one batch of passages to the model; wait while there are none."""
        batch = self._load.passages.take(_BATCH_PASSAGES)
        if not batch:
            self._passages_wait.clear()
            await self._passages_wait.wait()
            return
        self._load.wake.set()
        self._load.passages_taken.set()
        try:
            texts = [work.text(index) for work, indexes in batch for index in indexes]
            vectors = await self._embedder.embed_passages(texts)
        except Exception as error:
            for work, _ in batch:
                await self._load.fail(work, error)
            return
        metrics.count_embedded(len(texts))
        first, unfinished = 0, []
        for work, indexes in batch:
            if work.embedded(indexes, vectors[first : first + len(indexes)]):
                self._complete(work)
            else:
                unfinished.append(work)
            first += len(indexes)
        for work in unfinished:
            await self._keep_on(work)

    async def _keep_on(self, work: Work) -> None:
        """Make sure of what a large document has so far, and stop it when its time is over."""
        late = time.monotonic() > work.deadline
        if len(work.unkept) >= (1 if late else _KEPT_PASSAGES) and self._load.holds(work):
            await self._keep(work)
        if late:
            await self._load.fail(work, KnowledgeError("INGESTION_TIMEOUT"))

    async def _keep(self, work: Work) -> None:
        kept = work.unkept
        try:
            await self._store.keep_vectors(work.job, *work.take_unkept(), self._embedder.fingerprint)
        except Exception as error:
            if not self._load.outage.note(error):
                raise
            work.unkept = kept + work.unkept  # the work goes on: at its end the database may answer again

    async def index(self) -> None:
        """Write what is complete; wait while nothing is."""
        works, self._finished = self._finished, []
        if not works:
            self._finished_wait.clear()
            await self._finished_wait.wait()
            return
        try:
            written = await self._write(works)
        except Exception as error:
            if len(works) == 1 or is_outage(error):
                await asyncio.gather(*(self._load.fail(work, error) for work in works))
                return
            for work in works:  # one of them may be at fault: each on its own
                await self._write_alone(work)
        else:
            await self._written(works, written)

    def _complete(self, work: Work) -> None:
        if self._load.holds(work):
            work.enter("indexing")
            self._finished.append(work)
            self._finished_wait.set()

    async def _write(self, works: Sequence[Work]) -> list[bool]:
        for work in works:
            work.writing = True
        try:
            return await self._store.index_revisions([work.revision() for work in works], self._embedder.fingerprint)
        finally:
            for work in works:
                work.writing = False

    async def _write_alone(self, work: Work) -> None:
        try:
            written = await self._write([work])
        except Exception as error:
            await self._load.fail(work, error)
        else:
            await self._written([work], written)

    async def _written(self, works: Sequence[Work], written: Sequence[bool]) -> None:
        self._load.outage.forget()
        try:
            await self._load.tell([work for work, done in zip(works, written, strict=True) if done], "completed")
        finally:
            for work, done in zip(works, written, strict=True):
                work.close_stage()
                self._load.leave(work, "completed" if done else "dropped")
