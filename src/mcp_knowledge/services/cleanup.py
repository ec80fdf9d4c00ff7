"""What a killed process leaves behind: jobs that nobody works on, and originals that no row knows."""

import asyncio
import logging
from collections.abc import AsyncIterator, Container, Set

from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.domain.documents import Job, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import ArchiveStore, BlobStore, JobQueue, Locks, Position, Store
from mcp_knowledge.services.outages import MAX_QUICK_CLAIMS, is_outage

log = logging.getLogger(__name__)
# An upload puts its original in place moments before its row is written; after this long, no row will come.
ORPHAN_AGE_MS = 15 * 60 * 1000
RECOVER_S = 12.0  # between two looks: what nobody works on goes on within half a minute
WORKER_LOCK, IMPORTER_LOCK = "worker", "importer"  # kinds of locks, held by their names
_PAGE = 100


async def workers_gone(locks: Locks, kind: str, names: Set[str], own_name: str) -> set[str]:
    """Those of some workers that certainly run no more.

    Args:
        kind: WORKER_LOCK or IMPORTER_LOCK: what each of them holds while it runs.
        own_name: the asking worker's. What stands under it and is none of its tasks, nobody works on.
    """
    others = names - {own_name}
    free = await locks.free(f"{kind}/{name}" for name in others)
    return {name for name in others if f"{kind}/{name}" in free} | (names & {own_name})


async def release_abandoned_jobs(
    queue: JobQueue, locks: Locks, own_name: str, own_jobs: Container[tuple[str, int]]
) -> int:
    """Queue the jobs of killed workers again, so that nobody waits for their leases; how many there were.

    Args:
        own_jobs: (id, attempt) of the jobs that the asking worker is at.
    """
    # One that kills its worker every time must end: it waits for its lease to run out, which counts as an attempt.
    jobs = [
        job
        async for job in _running(queue)
        if job.worker is not None and (job.id, job.attempt) not in own_jobs and job.attempt < MAX_QUICK_CLAIMS
    ]
    gone = await workers_gone(locks, WORKER_LOCK, {job.worker for job in jobs if job.worker is not None}, own_name)
    released = 0
    for job in jobs:
        if job.worker in gone and await queue.release(job):
            released += 1
    if released:
        log.info("Took over %d jobs of a process that has ended", released)
    return released


async def _running(queue: JobQueue) -> AsyncIterator[Job]:
    after: Position | None = None
    while page := await queue.list(_PAGE, after, ("running",)):
        for job in page:
            yield job
        after = Position(page[-1].created_at_ms, page[-1].id)


async def release_running(queue: JobQueue, archives: ArchiveStore) -> None:
    """Queue again what was under way in a database that was copied: nobody need wait for the end of its leases."""
    async for job in _running(queue):
        await queue.release(job)
    for item in await archives.unfinished():
        if item.state == "extracting":
            await archives.release(item)


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
    """Delete originals that no revision holds and that are older than `age_ms`; how many there were.

    What else lies in the folder or bucket stays.
    """
    before = now_ms() - age_ms
    # The blobs are listed first: one whose row is written meanwhile is known when the rows are read.
    listing = blobs.keys()
    old = [key async for key, written_ms in listing if written_ms < before and is_own_key(key)]
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
