"""Whether this process can do its work now: what `/ready` answers, within three seconds whatever hangs."""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from itertools import count

from mcp_knowledge.domain.seldom import Seldom
from mcp_knowledge.ports import BlobStore, Embedder, Store, StoreHealth
from mcp_knowledge.services.looks import Look

log = logging.getLogger(__name__)

PATIENCE_S = 2.5  # of the three seconds that an answer may take
_MODEL_HOLDS_S = 10.0  # for so long an answer of the model's counts
_MODEL_BUSY_S = 30.0  # and for so long where it only takes its time: many searches wait for it


class Readiness:
    """Looks at the parts.

    Args:
        worker_running: whether ingestion goes on in this process, or is none of its business.
    """

    def __init__(self, store: Store, blobs: BlobStore, embedder: Embedder, worker_running: Callable[[], bool]) -> None:
        self._embedder = embedder
        self._worker_running = worker_running
        self._database = Look(lambda: store.health())
        self._storage = Look(lambda: blobs.healthy())
        self._model = Look(self._ask_model)
        self._asked = count()
        self._answered_s = -math.inf  # when the model last answered, on the monotonic clock
        self._told = Seldom()
        self._stopping = False

    def stop(self) -> None:
        """From now on this process is not ready: it ends."""
        self._stopping = True

    async def checks(self) -> dict[str, bool]:
        """Each part, and whether it works."""
        database, storage, embedding = await asyncio.gather(self._health(), self.storage(), self.model())
        return {
            "database": database is not None and database.healthy,
            "storage": storage,
            "embedding": embedding,
            "migrations": database is not None and database.healthy and database.migrated,
            "worker": self._worker_running() and not self._stopping,
        }

    async def storage(self) -> bool:
        """Whether originals can be stored and read."""
        try:
            works = await self._storage.answer(PATIENCE_S)
        except Exception as error:
            self._tell("storage", error)
            return False
        if not works:
            self._tell("storage")
        return works

    async def model(self) -> bool:
        """Whether the model answers, or did a moment ago."""
        if time.monotonic() - self._answered_s < _MODEL_HOLDS_S:
            return True
        try:
            await self._model.answer(PATIENCE_S)
        except Exception as error:
            if isinstance(error, TimeoutError) and time.monotonic() - self._answered_s < _MODEL_BUSY_S:
                return True
            self._tell("embedding model", error)
            return False
        return True

    async def _health(self) -> StoreHealth | None:
        try:
            health = await self._database.answer(PATIENCE_S)
        except Exception as error:
            self._tell("database", error)
            return None
        if not (health.healthy and health.migrated):
            self._tell("schema of the database" if health.healthy else "database")
        return health

    async def _ask_model(self) -> None:
        # Another text each time: vectors of questions are remembered.
        await self._embedder.embed_query(f"ready {next(self._asked)}")
        self._answered_s = time.monotonic()

    def _tell(self, part: str, error: Exception | None = None) -> None:
        """A line in the log, once in a while: probes come every few seconds."""
        if not self._told.passes(part):
            return
        if error is None:
            log.warning("The %s cannot be used", part)
        elif isinstance(error, TimeoutError):
            log.warning("The %s does not answer in time", part)
        else:
            log.warning("The check of the %s failed", part, exc_info=error)
