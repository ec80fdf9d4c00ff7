"""One connection, two drivers on the same file: `apsw` (the default) and `libsql`. Their differences stay here."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import apsw

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import storable
from mcp_knowledge.adapters.sqlite.dialect import SqliteDialect

DriverName = Literal["sqlite", "libsql"]
BUSY_TIMEOUT_MS = 5000
# libsql waits for a lock holding the GIL, which would stop the whole process: it gives up soon and we wait outside.
_LIBSQL_BUSY_TIMEOUT_S = 0.02
_STATEMENT_CACHE = 200
_FULL = "The disk of the database is full. Nothing was changed. Make room on it."
_READ_ONLY = "The database file is read-only. Mount its disk for writing, or give the user of the service the right to."
_BROKEN = "The database file cannot be read or written: its disk is gone or broken, or its folder is not for this user."
_UNUSABLE = ("disk I/O error", "unable to open database file")  # as SQLite itself says it


class DatabaseBusyError(Exception):
    """Another connection holds the lock that this statement needs."""


class DatabaseFault(Exception):
    """The database failed for a reason that is no client's: a broken file, a full disk, a wrong statement."""


class UnusableFileError(DatabaseFault):
    """The file cannot be read or written now: its disk is full, read-only, gone or broken. The message is a sentence
    for the user.
    """


class BrokenFileError(UnusableFileError):
    """The file cannot be used, and SQLite does not say why: a disk without a single free block shows like this too."""


class DamagedFileError(DatabaseFault):
    """The file is not a database, or is a broken one."""


class SqliteConnection(Connection, Protocol):
    """A connection to the file. Statements commit by themselves outside BEGIN … COMMIT."""

    def close(self) -> None:
        """Close; a second call does nothing."""
        ...


def connect(driver: DriverName, path: Path, *, create: bool = False) -> SqliteConnection:
    """Open the file with the named driver.

    Args:
        create: make it when it is missing. Where it was there before, an empty one in its place would be taken for all
            that is known.

    Raises:
        DatabaseFault: the file cannot be opened, or the driver is not installed.
    """
    if not create and not path.exists():
        raise UnusableFileError("The database file is gone. Mount its disk again, or put it back.")
    return _LibsqlConnection(path) if driver == "libsql" else _ApswConnection(path, create)


class _ApswConnection:
    dialect = SqliteDialect()

    def __init__(self, path: Path, create: bool) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        try:
            self._connection = apsw.Connection(str(path), flags, statementcachesize=_STATEMENT_CACHE)
        except apsw.Error as error:
            raise _apsw_error(error) from error
        self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def execute(self, sql: str, params: Sequence[Any] = ()) -> Iterator[Row]:
        try:
            return iter(self._connection.execute(sql, storable(params)).fetchall())
        except apsw.Error as error:
            raise _apsw_error(error) from error
        except UnicodeDecodeError as error:  # all text was written as UTF-8
            raise DamagedFileError(str(error)) from error

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            self._connection.executemany(sql, map(storable, rows))
        except apsw.Error as error:
            raise _apsw_error(error) from error

    def close(self) -> None:
        self._connection.close()


def _apsw_error(error: apsw.Error) -> Exception:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return DatabaseBusyError(str(error))
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return DamagedFileError(str(error))
    if isinstance(error, apsw.FullError):
        return UnusableFileError(_FULL)
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
        return UnusableFileError(_READ_ONLY)
    if isinstance(error, apsw.IOError | apsw.CantOpenError):
        return BrokenFileError(_BROKEN)
    return DatabaseFault(f"{type(error).__name__}: {error}")


class _LibsqlConnection:
    dialect = SqliteDialect()

    def __init__(self, path: Path) -> None:
        try:
            libsql = importlib.import_module("libsql")
        except ImportError as error:
            raise DatabaseFault("The libsql driver is not installed: pip install 'mcp-knowledge[libsql]'.") from error
        try:
            self._connection: Any = libsql.connect(
                str(path), timeout=_LIBSQL_BUSY_TIMEOUT_S, isolation_level=None, _check_same_thread=False
            )
        except ValueError as error:
            raise _libsql_error(error) from error

    def execute(self, sql: str, params: Sequence[Any] = ()) -> Iterator[Row]:
        try:
            return iter(self._open().execute(sql, storable(params)).fetchall() or ())
        except ValueError as error:
            raise _libsql_error(error) from error

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        connection = self._open()
        try:
            for row in rows:
                connection.execute(sql, storable(row))
        except ValueError as error:
            raise _libsql_error(error) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> Any:
        if self._connection is None:  # the package itself would panic
            raise DatabaseFault("The connection is closed.")
        return self._connection


def _libsql_error(error: ValueError) -> Exception:
    """Every failure of the package is a bare ValueError: SQLite's own sentences tell them apart."""
    text = str(error)
    if "is locked" in text:
        return DatabaseBusyError(text)
    if "not a database" in text or "malformed" in text:
        return DamagedFileError(text)
    if "disk is full" in text:
        return UnusableFileError(_FULL)
    if "readonly database" in text:
        return UnusableFileError(_READ_ONLY)
    if any(sign in text for sign in _UNUSABLE):
        return BrokenFileError(_BROKEN)
    return DatabaseFault(text)
