"""Files on their way into a bucket."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

import obstore
from obstore.store import S3Store

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import MIB

# A file larger than one part goes up in several (S3 wants 5 MiB or more each, and 10,000 or fewer), two at a time, and
# of eight files at once. With one more of each file being read, that is some 200 MiB of memory at most.
PART_BYTES = 8 * MIB
_MAX_PARTS = 10_000
_PARTS_AT_ONCE = 2
_UPLOADS_AT_ONCE = 8
# S3 dates an object that went up in parts by its beginning. One that takes longer would look like one that no document
# holds before its document is written.
_LONGEST_UPLOAD_S = 600.0
_LAST_UPLOADS_S = 5.0


class Uploads:
    """Sends files, large ones in parts and no more than a few at once.

    Args:
        longest_wait_s: for a turn.
    """

    def __init__(self, store: S3Store, longest_wait_s: float) -> None:
        self._store = store
        self._longest_wait_s = longest_wait_s
        self._turns = asyncio.Semaphore(_UPLOADS_AT_ONCE)
        self._unwanted: set[asyncio.Future[object]] = set()

    async def send(self, key: str, path: Path) -> None:
        """Return when the server has all of the file.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when too many files wait.
            OSError, obstore.exceptions.BaseError: the upload failed or took too long.
        """
        async with self._turn():
            size_bytes = (await asyncio.to_thread(path.stat)).st_size
            part_bytes = max(PART_BYTES, math.ceil(size_bytes / _MAX_PARTS))
            await self._finish(
                obstore.put_async(self._store, key, path, chunk_size=part_bytes, max_concurrency=_PARTS_AT_ONCE)
            )

    async def close(self) -> None:
        """Let uploads end that nobody waits for any more, so that no part of them stays behind."""
        if self._unwanted:
            _, late = await asyncio.wait(self._unwanted, timeout=_LAST_UPLOADS_S)
            for upload in late:
                upload.cancel()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait until another upload may begin."""
        try:
            async with asyncio.timeout(self._longest_wait_s):
                await self._turns.acquire()
        except TimeoutError as error:
            raise KnowledgeError(
                "SERVICE_UNAVAILABLE", "Too many files wait to be stored. Try again shortly."
            ) from error
        try:
            yield
        finally:
            self._turns.release()

    async def _finish(self, upload: Awaitable[object]) -> None:
        """Wait for an upload. If the caller does not, it ends all the same: one that is broken off leaves parts in the
        bucket that nobody sees and everybody pays for. What it stores for nobody is cleaned up as an orphan.
        """
        future = asyncio.ensure_future(upload)
        try:
            async with asyncio.timeout(_LONGEST_UPLOAD_S):
                await asyncio.shield(future)
        except (asyncio.CancelledError, TimeoutError):
            self._unwanted.add(future)
            future.add_done_callback(self._forget)
            raise

    def _forget(self, upload: asyncio.Future[object]) -> None:
        self._unwanted.discard(upload)
        if not upload.cancelled():
            upload.exception()  # asked for, so that asyncio does not complain of it
