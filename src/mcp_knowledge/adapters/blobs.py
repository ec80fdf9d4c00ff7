"""Originals as files below one folder."""

import asyncio
import errno
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from mcp_knowledge.adapters.durable import sync
from mcp_knowledge.adapters.upload_folder import UploadFolder
from mcp_knowledge.domain.blob_keys import checked_key, is_own_key
from mcp_knowledge.errors import KnowledgeError, disk_fault, storing

_UPLOADS = "uploads"  # temporary files, on the same file system as the blobs
_PIECE_BYTES = 64 * 1024  # and two of it for each download that is not read as fast as it is sent
_KEYS_AT_ONCE = 1000
_GONE = "The folder of the originals is gone. Mount its disk again, or put it back. Nothing is written meanwhile."

Keeps = Callable[[], Awaitable[bool]]


async def never() -> bool:
    """Nothing is kept."""
    return False


class LocalBlobStore:
    """Blobs in a folder of this machine; a key is the path below it.

    Args:
        root: the folder; made when it is missing.
        keeps: whether originals must stay for now, though no row names them: a backup is being made of them.
        mark: a file that lies in the folder as long as it is the right one. Without it the folder's disk is not there,
            and nothing may be written to what is in its place.
    """

    driver = "local"

    def __init__(self, root: Path, keeps: Keeps = never, mark: Path | None = None) -> None:
        self._root = root
        self._keeps = keeps
        self._mark = mark
        self._uploads = UploadFolder(root / _UPLOADS)

    async def put_file(self, key: str, path: Path) -> None:
        """Take over a finished temporary file. When this returns the blob survives a loss of power.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the disk is full, gone, or cannot be written.
        """
        await asyncio.to_thread(self._take_over, path, self._path(key))

    def upload_dir(self) -> Path:
        """Where temporary upload files belong. The first call removes what killed processes left there. Raises
        SERVICE_UNAVAILABLE.
        """
        self._check_there()
        return self._uploads.path()

    @asynccontextmanager
    async def local_copy(self, key: str) -> AsyncIterator[Path]:
        """The blob's own file: to be read, not changed. Raises DOCUMENT_CONTENT_UNAVAILABLE."""
        path = self._path(key)
        (await asyncio.to_thread(self._open, path)).close()
        yield path

    async def read(
        self, key: str, start: int = 0, length: int | None = None, *, of_bytes: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes from `start`, in pieces, up to `length` of them. Raises DOCUMENT_CONTENT_UNAVAILABLE."""
        file = await asyncio.to_thread(self._open, self._path(key))
        with file:
            if of_bytes not in (None, os.fstat(file.fileno()).st_size):
                raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
            file.seek(start)
            left = length
            while left is None or left > 0:
                piece = await asyncio.to_thread(file.read, _PIECE_BYTES if left is None else min(left, _PIECE_BYTES))
                if not piece:
                    return
                yield piece
                left = None if left is None else left - len(piece)

    async def delete(self, key: str) -> None:
        """Remove a blob, if it is there. What must stay for now is left to the sweep for files that no row names."""
        if is_own_key(key) and await self._keeps():
            await asyncio.to_thread(_make_old, self._path(key))
            return
        await asyncio.to_thread(self._remove, self._path(key))

    async def keys(self) -> AsyncIterator[tuple[str, int]]:
        """Every key and when its bytes were written (Unix milliseconds)."""
        found = _walk(self._root)
        while batch := await asyncio.to_thread(_take, found, _KEYS_AT_ONCE):
            for item in batch:
                yield item

    async def healthy(self) -> bool:
        """Whether a file can be written here now."""
        return await asyncio.to_thread(self._can_write)

    def _check_there(self) -> None:
        if self._mark is not None and not self._mark.exists():
            raise KnowledgeError("SERVICE_UNAVAILABLE", _GONE) from FileNotFoundError(self._mark)

    def _open(self, path: Path) -> BinaryIO:
        """Raises DOCUMENT_CONTENT_UNAVAILABLE, or SERVICE_UNAVAILABLE when no original is there at all."""
        try:
            return path.open("rb")
        except OSError as error:
            if error.errno in (errno.EIO, errno.ESTALE):
                message = f"The original cannot be read: {disk_fault(error)}"
                raise KnowledgeError("SERVICE_UNAVAILABLE", message) from error
            self._check_there()
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE") from error

    def _take_over(self, source: Path, target: Path) -> None:
        self._check_there()
        _move_durably(source, target)

    def _remove(self, path: Path) -> None:
        self._check_there()
        with storing():
            path.unlink(missing_ok=True)

    def _can_write(self) -> bool:
        try:
            self._check_there()
            self._root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._root) as file:
                file.write(b"ok")
                file.flush()
        except (OSError, KnowledgeError):
            return False
        return True

    def _path(self, key: str) -> Path:
        """Where a key lies; never outside the root, nor among the uploads."""
        return self._root / checked_key(key)


def _move_durably(source: Path, target: Path) -> None:
    with storing():
        sync(source)
        new_folders = [folder for folder in target.parents if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
        for folder in (target.parent, *(made.parent for made in new_folders)):
            sync(folder)


def _make_old(path: Path) -> None:
    """The sweep waits for no row of such a file."""
    with suppress(OSError):
        os.utime(path, (0, 0))


def _walk(root: Path) -> Iterator[tuple[str, int]]:
    for folder, subfolders, names in os.walk(root):
        if Path(folder) == root:
            subfolders[:] = [name for name in subfolders if name != _UPLOADS]
            continue  # no key is a bare name
        for name in names:
            path = Path(folder) / name
            with suppress(FileNotFoundError):  # deleted meanwhile
                yield path.relative_to(root).as_posix(), path.stat().st_mtime_ns // 1_000_000


def _take(items: Iterator[tuple[str, int]], count: int) -> list[tuple[str, int]]:
    return list(islice(items, count))
