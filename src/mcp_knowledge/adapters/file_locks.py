"""Locks as files of the data directory, for a database that is a file: its processes run on one machine."""

import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO


class FileLocks:
    """The `Locks` port. A lock is a lock of the operating system (flock) on a file, which dies with the process.

    Args:
        folder: where the files are; made on first need.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, TextIO] = {}

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
            self._path(name).unlink(missing_ok=True)
            file.close()

    async def free(self, names: Iterable[str]) -> set[str]:
        """Those that nobody holds. What is left of a killed process's lock is removed."""
        free = set()
        for name in names:
            path = self._path(name)
            if _is_free(path):
                path.unlink(missing_ok=True)
                free.add(name)
        return free

    async def anybody_holds(self, kind: str) -> bool:
        """Whether some process holds a lock of this kind."""
        return any(not _is_free(path) for path in self._folder.glob(f"{kind}-*.lock"))

    def _remove_traces(self, kind: str) -> None:
        """Remove what killed processes have left."""
        for path in self._folder.glob(f"{kind}-*.lock"):
            if _is_free(path):
                path.unlink(missing_ok=True)

    def _open(self, name: str) -> TextIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._path(name).open("w")

    def _path(self, name: str) -> Path:
        kind, _, rest = name.partition("/")
        tail = f"-{hashlib.sha256(rest.encode()).hexdigest()[:16]}" if rest else ""  # a name may have any characters
        return self._folder / f"{kind}{tail}.lock"


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
