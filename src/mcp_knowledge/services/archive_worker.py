"""The background importer: takes archives from their queue, one at a time."""

import asyncio
import logging
import math
import time
from contextlib import suppress

from mcp_knowledge.domain.documents import ArchiveImport
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import ArchiveStore, BlobStore, Locks
from mcp_knowledge.services.archive_import import ArchiveImporter, ImportLostError
from mcp_knowledge.services.cleanup import IMPORTER_LOCK, RECOVER_S, discard_blob, workers_gone
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.log_context import about
from mcp_knowledge.services.outages import MAX_QUICK_CLAIMS, Outage, put_off_ms

log = logging.getLogger(__name__)

_POLL_S = 1.0  # another process may have queued an archive
_RETRY_AFTER_MS = (2_000, 10_000, 60_000, 300_000, 3_600_000)  # for ever: an archive is not lost through our fault
OUR_FAULT = f"INGESTION_FAILED: {ERROR_CODES['INGESTION_FAILED'].message}"
_ARCHIVE_FAULTS = frozenset({"ARCHIVE_TOO_LARGE", "ARCHIVE_MALFORMED", "ARCHIVE_ENCRYPTED"})


class ArchiveWorker:
    """Works off the queue of archives.

    Args:
        name: as for the ingest worker.
    """

    def __init__(
        self,
        store: ArchiveStore,
        blobs: BlobStore,
        importer: ArchiveImporter,
        events: Events,
        locks: Locks,
        lease_ms: int,
        name: str,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._importer = importer
        self._events = events
        self._locks = locks
        self._lease_ms = lease_ms
        self._name = name
        self._outage = Outage(store.unfinished, blobs)
        self._awake = asyncio.Event()
        self._stopped = asyncio.Event()
        self._ended = asyncio.Event()
        self._running = False
        self._recovered = -math.inf

    async def run(self) -> None:
        """Work until `stop`, which is final."""
        self._running = True
        presence = f"{IMPORTER_LOCK}/{self._name}"
        try:
            with suppress(KnowledgeError):  # it is taken as soon as the database answers
                await self._locks.keep(presence)
            while not self._stopped.is_set():
                self._awake.clear()
                if self._outage.here:
                    await self._outage.outlast(self._stopped)
                    self._recovered = -math.inf  # whatever could not be written to must be taken back
                elif not await self._worked():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_POLL_S):
                            await self._awake.wait()
        finally:
            self._running = False
            await self._locks.drop(presence)
            self._ended.set()

    async def _worked(self) -> bool:
        """Do what there is to do; whether there may be more of it at once."""
        try:
            if time.monotonic() - self._recovered >= RECOVER_S:
                await self._take_over()
                self._recovered = time.monotonic()
            return await self._import_next()
        except Exception as error:
            if self._outage.note(error):
                return True
            log.exception("The import of archives met a failure and goes on")
            return False

    def wake(self) -> None:
        """An archive may wait: look at once. Called on the worker's own loop."""
        self._awake.set()

    async def stop(self) -> None:
        """Claim nothing more, and hand back an import after the file it is at."""
        self._stopped.set()
        self._awake.set()
        if self._running:
            await self._ended.wait()

    async def _take_over(self) -> None:
        """Queue the imports of killed processes again, so that nobody waits for their leases."""
        unfinished = await self._store.unfinished()
        names = {item.worker for item in unfinished if item.worker is not None}
        gone = await workers_gone(self._locks, IMPORTER_LOCK, names, self._name)
        for item in unfinished:
            if item.state == "extracting" and item.worker in gone:
                # One that kills its process every time must let it live for a while.
                wait_ms = 0 if item.attempt < MAX_QUICK_CLAIMS else _RETRY_AFTER_MS[-1]
                await self._store.release(item, wait_ms, OUR_FAULT if wait_ms else None)

    async def _import_next(self) -> bool:
        held = await self._store.claim(self._name, self._lease_ms)
        if held is None:
            return False
        self._events.publish("archive", held)
        with about(archiveId=held.id, attempt=held.attempt):
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
            if await self._importer.run(held, self._stopped.is_set):
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
        self._outage.forget()
        if ended is None:
            return
        self._events.publish("archive", ended)
        log.info("Archive %s", ended.state, extra={"fields": {"outcome": ended.state, "files": ended.outcomes}})
        if held.blob_key is not None:
            await discard_blob(self._blobs, held.blob_key)

    async def _try_later(self, held: ArchiveImport, error: Exception) -> None:
        """After a fault of ours. If even that fails, `_take_over` finds the import."""
        if self._outage.note(error):
            await self._store.release(held, put_off_ms(held.attempt))
            return
        if await self._store.get(held.id) is None:
            return  # purged meanwhile
        log.error("The import of archive %s failed and is tried again", held.id, exc_info=error)
        await self._store.release(held, _RETRY_AFTER_MS[min(held.attempt, len(_RETRY_AFTER_MS)) - 1], OUR_FAULT)
