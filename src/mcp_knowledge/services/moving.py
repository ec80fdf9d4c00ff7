"""Originals from one storage to another, each one read back and compared."""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.errors import KnowledgeError, StartupError, storing
from mcp_knowledge.ports import BlobStore

_AT_ONCE = 8  # files on their way; each takes a piece of memory and a temporary file


@dataclass(frozen=True, slots=True)
class Original:
    """A file that a row holds. `sha256` in hexadecimal."""

    key: str
    sha256: str


@dataclass(slots=True)
class Moved:
    """What became of the originals."""

    files: int = 0
    size_bytes: int = 0
    missing: list[str] = field(default_factory=list)  # were not in the source
    damaged: list[str] = field(default_factory=list)  # are not in the source what was once taken in; copied as they are


class OriginalsMove:
    """Copies originals.

    Args:
        source: is only read.
        target: None where they stay in the source's storage: then they are read and compared alone.
        advance: is told how many further files are done.
    """

    def __init__(self, source: BlobStore, target: BlobStore | None, advance: Callable[[int], None]) -> None:
        self._source = source
        self._target = target
        self._advance = advance
        self._free = asyncio.Semaphore(_AT_ONCE)
        self.moved = Moved()

    async def refuse_others(self, held: frozenset[str]) -> None:
        """Keep out of a storage with somebody else's originals: the sweep for lost files would delete them.

        Args:
            held: the keys that are to be moved.

        Raises:
            StartupError: there are some.
        """
        if self._target is None:
            return
        async for key, _ in self._target.keys():
            if is_own_key(key) and key not in held:
                raise StartupError(
                    "The target's storage holds originals of another corpus. Nothing was changed. "
                    "Use an empty folder or bucket."
                )

    async def take(self, originals: Sequence[Original]) -> None:
        """Copy some, several at a time.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when a storage fails, or gives back something else than it was given.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for original in originals:
                    group.create_task(self._copy(original))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def missing_in_target(self, held: frozenset[str]) -> int:
        """How many of the keys the target does not have, apart from those that the source lacks."""
        storage = self._target or self._source
        listing = storage.keys()
        found = {key async for key, _ in listing}
        absent = held - found
        return len(absent - await self._absent_in_source(absent))

    async def _absent_in_source(self, keys: frozenset[str]) -> frozenset[str]:
        return frozenset({key for key in keys if not await self._is_readable(key)})

    async def _is_readable(self, key: str) -> bool:
        try:
            async for _ in self._source.read(key, 0, 1):
                break
        except KnowledgeError as error:
            if error.code == "DOCUMENT_CONTENT_UNAVAILABLE":
                return False
            raise
        return True

    async def _copy(self, original: Original) -> None:
        async with self._free:
            try:
                sha256, size_bytes = await self._transfer(original.key)
            except KnowledgeError as error:
                if error.code != "DOCUMENT_CONTENT_UNAVAILABLE":
                    raise
                self.moved.missing.append(original.key)
            else:
                self.moved.files += 1
                self.moved.size_bytes += size_bytes
                if sha256 != original.sha256:
                    self.moved.damaged.append(original.key)
        self._advance(1)

    async def _transfer(self, key: str) -> tuple[str, int]:
        """Copy one file; its SHA-256 and size."""
        if self._target is None:
            return await _digest(self._source.read(key))
        path = await asyncio.to_thread(self._target.upload_dir) / f"{secrets.token_hex(16)}.moving"
        try:
            given = await _write(self._source.read(key), path)
            await self._target.put_file(key, path)
        finally:
            await asyncio.to_thread(path.unlink, missing_ok=True)
        kept = await _digest(self._target.read(key))
        if kept != given:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The target's storage does not give back what it was given.")
        return given


async def _write(pieces: AsyncIterator[bytes], path: Path) -> tuple[str, int]:
    digest, size_bytes = hashlib.sha256(), 0
    with storing():
        file = await asyncio.to_thread(path.open, "wb")
    with file:
        async for piece in pieces:
            digest.update(piece)
            size_bytes += len(piece)
            with storing():
                await asyncio.to_thread(file.write, piece)
    return digest.hexdigest(), size_bytes


async def _digest(pieces: AsyncIterator[bytes]) -> tuple[str, int]:
    digest, size_bytes = hashlib.sha256(), 0
    async for piece in pieces:
        digest.update(piece)
        size_bytes += len(piece)
    return digest.hexdigest(), size_bytes
