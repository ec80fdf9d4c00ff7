"""What a killed process leaves behind: jobs that nobody works on, and originals that no row knows."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Container

from mcp_knowledge.domain.documents import Job, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, JobQueue, Position, Store
from mcp_knowledge.services.outages import MAX_QUICK_CLAIMS, is_outage

log = logging.getLogger(__name__)
# An upload puts its original in place moments before its row is written; after this long, no row will come.
ORPHAN_AGE_MS = 15 * 60 * 1000
_PAGE = 100


def worker_is_gone(worker: str, own_name: str) -> bool:
    """Whether a worker named `host:pid` certainly runs no more. Only processes of this machine can be told.

    Args:
        own_name: the asking worker's. The same name on a job that it does not know is that of a process before it, with
            the same number (as in a container, where it is always 1).
    """
    if worker == own_name:
        return True
    host, _, pid = worker.rpartition(":")
    if os.name != "posix" or host != own_name.rpartition(":")[0] or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


async def release_abandoned_jobs(queue: JobQueue, own_name: str, own_jobs: Container[tuple[str, int]]) -> int:
    """Queue the jobs of killed workers again, so that nobody waits for their leases; how many there were.

    Args:
        own_jobs: (id, attempt) of the jobs that the asking worker is at.
    """
    released = 0
    async for job in _running(queue):
        # One that kills its worker every time must end: it waits for its lease to run out, which counts as an attempt.
        if job.worker is None or (job.id, job.attempt) in own_jobs or job.attempt >= MAX_QUICK_CLAIMS:
            continue
        if worker_is_gone(job.worker, own_name) and await queue.release(job):
            released += 1
    if released:
        log.info("Took over %d jobs of a process that has ended", released)
    return released


async def _running(queue: JobQueue) -> AsyncIterator[Job]:
    after: Position | None = None
    while page := await queue.list(_PAGE, after, status="running"):
        for job in page:
            yield job
        after = Position(page[-1].created_at_ms, page[-1].id)


async def discard_blob(blobs: BlobStore, key: str) -> None:
    """Delete an original that no row holds. If that fails now, `remove_orphan_blobs` does it later."""
    try:
        await blobs.delete(key)
    except Exception as error:
        log.warning("A file that no document holds could not be removed and stays for a while", exc_info=error)


async def discard_after(blobs: BlobStore, key: str, error: KnowledgeError) -> None:
    """Delete an original whose row could not be written, unless the row may be there all the same: the answer to a
    commit can get lost. `remove_orphan_blobs` removes what is left for nothing.
    """
    if not is_outage(error):
        await discard_blob(blobs, key)


async def remove_orphan_blobs(store: Store, blobs: BlobStore, age_ms: int = ORPHAN_AGE_MS) -> int:
    """Delete originals that no revision holds and that are older than `age_ms`; how many there were."""
    before = now_ms() - age_ms
    # The blobs are listed first: one whose row is written meanwhile is known when the rows are read.
    listing = blobs.keys()
    old = [key async for key, written_ms in listing if written_ms < before]
    if not old:
        return 0
    held = await store.blob_keys()
    orphans = [key for key in old if key not in held]
    for key in orphans:
        await blobs.delete(key)
        await asyncio.sleep(0)
    if orphans:
        log.info("Removed %d files that no document holds", len(orphans))
    return len(orphans)
