"""Whether the storage has every original that a row names, as it was once taken in, and none besides."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable

from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.domain.documents import NamedOriginal
from mcp_knowledge.domain.faults import Fault
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore

_AT_ONCE = 4  # files that are read; whoever searches needs the disk too
SECOND_LOOK_S = 1.0  # an upload puts its original in place moments before its row is written


class OriginalsCheck:
    """Compares originals with rows. What looks wrong is looked at twice: work may have been under way.

    Args:
        named: reads the originals that the rows name now.
        advance: is told how many further bytes are done.
    """

    def __init__(
        self,
        blobs: BlobStore,
        named: Callable[[], Awaitable[list[NamedOriginal]]],
        advance: Callable[[int], None],
    ) -> None:
        self._blobs = blobs
        self._named = named
        self._advance = advance
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def run(self, originals: Iterable[NamedOriginal]) -> list[Fault]:
        """Read and compare every original, and look for those that no row names.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the storage does not answer.
        """
        strangers = await self._strangers(set())
        suspects = await self._compare([original for original in originals if not original.is_going])
        if suspects or strangers:
            await asyncio.sleep(SECOND_LOOK_S)
        now, doubtful = await self._named(), {fault.subject for fault in suspects}
        faults = await self._compare([item for item in now if item.key in doubtful and not item.is_going])
        keys = {original.key for original in now}
        left = await self._strangers(keys) & strangers if strangers else set[str]()
        return faults + [Fault("original-unnamed", "no document names it", subject=key) for key in sorted(left - keys)]

    async def _strangers(self, known: set[str]) -> set[str]:
        """Keys of ours in the storage that are not among the known ones; where none are known, those no row names."""
        listing = self._blobs.keys()
        found = {key async for key, _ in listing if is_own_key(key)}
        held = known or {original.key for original in await self._named()}
        return found - held

    async def _compare(self, originals: Iterable[NamedOriginal]) -> list[Fault]:
        async def one(original: NamedOriginal) -> Fault | None:
            async with self._free:
                return await self._look_at(original)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(original)) for original in originals]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [fault for task in tasks if (fault := task.result()) is not None]

    async def _look_at(self, original: NamedOriginal) -> Fault | None:
        digest, size_bytes = hashlib.sha256(), 0
        if not is_own_key(original.key):
            detail = f"its original is said to be where none is kept ({original.key!a:.80})"
            return Fault("database-damaged", detail, original.holder_id, subject=original.key)
        try:
            async for piece in self._blobs.read(original.key):
                digest.update(piece)
                size_bytes += len(piece)
                self._advance(len(piece))
        except KnowledgeError as error:
            if isinstance(error.__cause__, PermissionError):
                detail = "this user may not read it: run this as the service's user"
                return Fault("original-damaged", detail, original.holder_id, subject=original.key)
            if error.code == "DOCUMENT_CONTENT_UNAVAILABLE":
                return Fault("original-missing", "it is not in the storage", original.holder_id, subject=original.key)
            if not await self._blobs.healthy():
                raise
            return Fault("original-damaged", error.message, original.holder_id, subject=original.key)
        except OSError as error:
            detail = f"it cannot be read: {error.strerror}"
            return Fault("original-damaged", detail, original.holder_id, subject=original.key)
        if size_bytes != original.size_bytes:
            detail = f"it has {size_bytes:,} bytes instead of {original.size_bytes:,}"
        elif digest.hexdigest() != original.sha256:
            detail = "its SHA-256 is not that of the file that was taken in"
        else:
            return None
        return Fault("original-damaged", detail, original.holder_id, subject=original.key)
