"""Tar files of plain files, written so that any tool opens them, and read so strictly that nothing else gets in.

Python's tarfile knows links, devices, sparse files and extended headers. None of them belongs into a backup, and what
is not read cannot lead astray; of tarfile only the coding of a single header is used.
"""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from mcp_knowledge.errors import StartupError

Advance = Callable[[int], None]  # is told how many further bytes are done
PIECE_BYTES = 1024 * 1024
_BLOCK = tarfile.BLOCKSIZE
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)
_MODE = 0o600


class TarWriter:
    """Writes members one after another.

    Args:
        modified_s: the time of all members, in Unix seconds.
    """

    def __init__(self, file: BinaryIO, modified_s: int) -> None:
        self._file = file
        self._modified_s = modified_s

    def add(self, name: str, source: BinaryIO, size_bytes: int, advance: Advance = lambda count: None) -> str:
        """Write a member from the next bytes of a source; the SHA-256 of what was written in hexadecimal.

        Where a source ends too early or its disk is broken, zeros stand for the rest: the hash tells.
        """
        header = tarfile.TarInfo(name)
        header.size, header.mode, header.mtime = size_bytes, _MODE, self._modified_s
        self._file.write(header.tobuf(tarfile.GNU_FORMAT))
        digest, left = hashlib.sha256(), size_bytes
        while left:
            piece = _next_piece(source, min(left, PIECE_BYTES))
            digest.update(piece)
            self._file.write(piece)
            left -= len(piece)
            advance(len(piece))
        self._file.write(bytes(-size_bytes % _BLOCK))
        return digest.hexdigest()

    def add_bytes(self, name: str, data: bytes) -> str:
        """Write a member; its SHA-256 in hexadecimal."""
        return self.add(name, io.BytesIO(data), len(data))

    def finish(self) -> None:
        """Write the end, and make all of it durable."""
        self._file.write(bytes(2 * _BLOCK))
        self._file.flush()
        os.fsync(self._file.fileno())


def _next_piece(source: BinaryIO, count: int) -> bytes:
    try:
        return source.read(count) or bytes(count)
    except OSError:
        return bytes(count)


class TarReader:
    """Reads members in their order, each of them whole before the next.

    Args:
        file: a regular file, at its beginning.
    """

    def __init__(self, file: BinaryIO, advance: Advance) -> None:
        self._file = file
        self._left = os.fstat(file.fileno()).st_size
        self._advance = advance

    def next(self) -> tuple[str, int] | None:
        """The next member's name and size in bytes; None at the end, behind which nothing may follow.

        Raises:
            StartupError: the file ends too early, or what follows is no plain file.
        """
        block = self._take(_BLOCK)
        if not any(block):
            self._check_rest()
            return None
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise StartupError("This is not a backup, or a damaged one: a header in it cannot be read.") from error
        if header.type not in _PLAIN or header.linkname:
            raise StartupError(f"This backup holds something that is no plain file ({header.name!a:.80}).")
        if not 0 <= header.size <= self._left:
            raise _truncated()
        return header.name, header.size

    def read(self, size_bytes: int) -> Iterator[bytes]:
        """The member's bytes, in pieces. Raises StartupError."""
        left = size_bytes
        while left:
            piece = self._take(min(left, PIECE_BYTES))
            left -= len(piece)
            yield piece
        if any(self._take(-size_bytes % _BLOCK)):
            raise StartupError("This backup is damaged: there is something between its files.")

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise _truncated()
        self._left -= count
        self._advance(count)
        return data

    def _check_rest(self) -> None:
        """An end is two empty blocks; some tools write more of them."""
        if self._left < _BLOCK:
            raise _truncated()
        while self._left:
            if any(self._take(min(self._left, PIECE_BYTES))):
                raise StartupError("This backup is damaged: something follows its end.")


def _truncated() -> StartupError:
    return StartupError("This backup is damaged: it ends too early.")


def new_file(path: Path) -> BinaryIO:
    """A new file that only this user can read, from its first byte. Raises FileExistsError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb")


def copy_to(path: Path, pieces: Iterator[bytes]) -> str:
    """Write a new file that only this user can read; the SHA-256 of its bytes in hexadecimal."""
    digest = hashlib.sha256()
    with new_file(path) as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()
