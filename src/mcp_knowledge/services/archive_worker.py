"""The background importer: takes archives from their queue, one at a time."""

import asyncio
import logging
import time
from contextlib import suppress

from mcp_knowledge.domain.documents import ArchiveImport
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import ArchiveStore, BlobStore
from mcp_knowledge.services.archive_import import ArchiveImporter, ImportLostError
from mcp_knowledge.services.cleanup import MAX_QUICK_CLAIMS, worker_is_gone
from mcp_knowledge.services.events import Events

log = logging.getLogger(__name__)

_POLL_S = 1.0  # another process may have queued an archive
_RECOVER_S = 30.0
_RETRY_AFTER_MS = (2_000, 10_000, 60_000, 300_000, 3_600_000)  # for ever: an archive is not lost through our fault
OUR_FAULT = f"INGESTION_FAILED: {ERROR_CODES['INGESTION_FAILED'].message}"
_ARCHIVE_FAULTS = frozenset({"ARCHIVE_TOO_LARGE", "ARCHIVE_MALFORMED", "ARCHIVE_ENCRYPTED"})


class ArchiveWorker:
    """Works off the queue of archives.

    Args:
        name: `host:pid`, as for the ingest worker.
    """

    def __init__(
        self,
        store: ArchiveStore,
        blobs: BlobStore,
        importer: ArchiveImporter,
        events: Events,
        lease_ms: int,
        name: str,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._importer = importer
        self._events = events
        self._lease_ms = lease_ms
        self._name = name
        self._awake = asyncio.Event()
        self._ended = asyncio.Event()
        self._running = False
        self._stopping = False

    async def run(self) -> None:
        """Work until `stop`, which is final."""
        self._running = True
        recovered = -_RECOVER_S
        try:
            while not self._stopping:
                self._awake.clear()
                try:
                    if time.monotonic() - recovered >= _RECOVER_S:
                        recovered = time.monotonic()
                        await self._take_over()
                    if await self._import_next():
                        continue
                except Exception:
                    log.exception("The import of archives met a failure and goes on")
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S):
                        await self._awake.wait()
        finally:
            self._running = False
            self._ended.set()

    def wake(self) -> None:
        """An archive may wait: look at once. Called on the worker's own loop."""
        self._awake.set()

    async def stop(self) -> None:
        """Claim nothing more, and hand back an import after the file it is at."""
        self._stopping = True
        self._awake.set()
        if self._running:
            await self._ended.wait()

    async def _take_over(self) -> None:
        """Queue the imports of killed processes again, so that nobody waits for their leases."""
        for item in await self._store.unfinished():
            if item.state == "extracting" and item.worker and worker_is_gone(item.worker, self._name):
                # One that kills its process every time must let it live for a while.
                wait_ms = 0 if item.attempt < MAX_QUICK_CLAIMS else _RETRY_AFTER_MS[-1]
                await self._store.release(item, wait_ms, OUR_FAULT if wait_ms else None)

    async def _import_next(self) -> bool:
        held = await self._store.claim(self._name, self._lease_ms)
        if held is None:
            return False
        self._events.publish("archive", held)
        keeping = asyncio.create_task(self._keep_lease(held))
        try:
            await self._import(held)
        finally:
            keeping.cancel()
        return True

    async def _keep_lease(self, held: ArchiveImport) -> None:
        while True:
            await asyncio.sleep(self._lease_ms / 3000)
            with suppress(Exception):  # a busy database, a full disk: the next try is soon enough
                await self._store.renew(held, self._lease_ms)

    async def _import(self, held: ArchiveImport) -> None:
        try:
            if await self._importer.run(held, lambda: self._stopping):
                await self._finish(held, None)
            else:
                await self._store.release(held)
        except ImportLostError:
            return
        except KnowledgeError as error:
            if error.code in _ARCHIVE_FAULTS:
                await self._finish(held, f"{error.code}: {error.message}")
            else:
                await self._try_later(held, error)
        except Exception as error:
            await self._try_later(held, error)

    async def _finish(self, held: ArchiveImport, error: str | None) -> None:
        ended = await self._store.finish(held, error)
        if ended is None:
            return
        if held.blob_key is not None:
            await self._blobs.delete(held.blob_key)
        self._events.publish("archive", ended)

    async def _try_later(self, held: ArchiveImport, error: Exception) -> None:
        """After a fault of ours. If even that fails, the lease runs out and the import is claimed again."""
        if await self._store.get(held.id) is None:
            return  # purged meanwhile
        log.error("The import of archive %s failed and is tried again", held.id, exc_info=error)
        await self._store.release(held, _RETRY_AFTER_MS[min(held.attempt, len(_RETRY_AFTER_MS)) - 1], OUR_FAULT)
