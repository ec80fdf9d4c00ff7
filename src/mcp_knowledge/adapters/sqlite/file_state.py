"""Whether the database file is still there, and whether it can be written to."""

import os
import tempfile
from pathlib import Path

from mcp_knowledge.adapters.sqlite.drivers import DamagedFileError, UnusableFileError

_HEADER = b"SQLite format 3\0"
_LEAST_FREE_BYTES = 8 * 1024 * 1024  # a document of some size takes that while it is written
_GONE = "The database file is gone. Mount its disk again, or put it back. Nothing is written meanwhile."
_ANOTHER = "The database file was replaced by another one. Start the service again."


class FileState:
    """The file at a path, as it was when it was opened.

    A file that was moved away, deleted, or whose disk was unmounted can still be written through open handles: what is
    written then is lost with them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: os.stat_result | None = None

    def check_header(self) -> None:
        """SQLite takes some short files for empty databases and would overwrite them.

        Raises:
            DamagedFileError: it is not a database, or a shortened one.
            OSError: it cannot be read.
        """
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            header = file.read(len(_HEADER))
        if header and header != _HEADER:
            raise DamagedFileError("no SQLite header")

    def check_access(self) -> None:
        """Raises OSError when this user may not write the file and beside it."""
        with self._path.open("r+b"), tempfile.TemporaryFile(dir=self._path.parent):
            pass

    def remember(self) -> None:
        """This is the file that connections have open. Raises OSError."""
        self._opened = self._path.stat()

    def check_there(self) -> None:
        """Raises UnusableFileError when what connections have open is not what lies at the path."""
        try:
            now = self._path.stat()
        except OSError as error:
            raise UnusableFileError(_GONE) from error
        if self._opened is not None and not os.path.samestat(now, self._opened):
            raise UnusableFileError(_ANOTHER)

    def check_room(self) -> None:
        """Raises UnusableFileError when its disk is full or read-only."""
        disk = os.statvfs(self._path.parent)
        if disk.f_flag & os.ST_RDONLY:
            raise UnusableFileError("The disk of the database is read-only. Mount it for writing.")
        free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
        if free * disk.f_frsize < _LEAST_FREE_BYTES:
            raise UnusableFileError("The disk of the database is full. Make room on it.")
