"""Locks as files of the data directory, for a database that is a file: its processes run on one machine."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TextIO

from mcp_knowledge.errors import opening, storing


class FileLocks:
    """The `Locks` port. A lock is a lock of the operating system (flock) on a file, which dies with the process.

    Args:
        folder: where the files are; made on first need.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, TextIO] = {}
        self._is_made = False

    def prepare(self) -> None:
        """Find out whether locks can be made here. Raises StartupError."""
        with opening(f"The folder {self._folder}"):
            self._make()
            tempfile.TemporaryFile(dir=self._folder).close()

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[bool]:
        """Hold a lock while the block runs if it is free; whether it is. It never gets lost."""
        file = self._open(name)
        with file:
            yield _locked(file)

    async def keep(self, name: str) -> None:
        """Hold a lock that nobody else wants until `drop`."""
        self._remove_traces(name.partition("/")[0])
        while (file := self._open(name)) and _locked(file):
            if _stands(file, self._path(name)):
                self._kept[name] = file
                return
            file.close()  # another process has just removed it as a trace
        file.close()

    async def drop(self, name: str) -> None:
        """Give back what `keep` holds."""
        file = self._kept.pop(name, None)
        if file is not None:
            _unlink(self._path(name))
            file.close()

    async def free(self, names: Iterable[str]) -> set[str]:
        """Those that nobody holds. What is left of a killed process's lock is removed."""
        free = set()
        for name in names:
            path = self._path(name)
            if _is_free(path):
                _unlink(path)
                free.add(name)
        return free

    async def anybody_holds(self, kind: str) -> bool:
        """Whether some process holds a lock of this kind."""
        return any(not _is_free(path) for path in self._folder.glob(f"{kind}-*.lock"))

    def _remove_traces(self, kind: str) -> None:
        """Remove what killed processes have left."""
        for path in self._folder.glob(f"{kind}-*.lock"):
            if _is_free(path):
                _unlink(path)

    def _open(self, name: str) -> TextIO:
        with storing():
            self._make()
            return self._path(name).open("w")

    def _make(self) -> None:
        """Once: should it vanish later, what is in its place is not for our files."""
        if not self._is_made:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._is_made = True

    def _path(self, name: str) -> Path:
        kind, _, rest = name.partition("/")
        tail = f"-{hashlib.sha256(rest.encode()).hexdigest()[:16]}" if rest else ""  # a name may have any characters
        return self._folder / f"{kind}{tail}.lock"


def _unlink(path: Path) -> None:
    with suppress(OSError):  # it is there no more, or stays as a trace: the lock is what counts
        path.unlink()


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stands(file: TextIO, path: Path) -> bool:
    """Whether the open file is still the one at the path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _is_free(path: Path) -> bool:
    try:
        with path.open("r") as file:
            return _locked(file)
    except FileNotFoundError:
        return True
    except OSError:  # nobody can tell
        return False
