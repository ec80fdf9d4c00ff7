"""The embedded database: one writer thread, several reader threads, a connection each."""

import asyncio
import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.sqlite.drivers import (
    BrokenFileError,
    DamagedFileError,
    DatabaseBusyError,
    DatabaseFault,
    DriverName,
    SqliteConnection,
    UnusableFileError,
    connect,
)
from mcp_knowledge.adapters.sqlite.file_state import FileState
from mcp_knowledge.adapters.sqlite.migrate import applied_migration, check_file, migrate, migrations
from mcp_knowledge.errors import KnowledgeError, StartupError, opening

__all__ = ["Connection", "Database", "DatabaseFault"]

T = TypeVar("T")
_OPEN_WAIT_S = 30.0  # several processes may open a new file at once; the first one migrates
_LOCK_WAIT_S = 30.0  # another process may be writing a large document
_LOCK_STEP_MS = 1000  # of it, within the driver: `close` waits no longer for a lock
_IDLE_CHECKPOINT_S = 1.0
_PAGE_BYTES = 8192
_WAL_CHECKPOINT_PAGES = 512  # 4 MiB
_READER_CACHE_KIB = 4096
_WRITER_CACHE_KIB = 8192
# What reading rows that were written whole can fail with, where bytes of the file have changed since.
_GARBLED = (UnicodeDecodeError, json.JSONDecodeError, zlib.error)
_DAMAGED = "The database file is damaged. Stop the service and restore a backup; 'mcp-knowledge verify' says more."


class Database:
    """The file, opened by any number of processes at once.

    Args:
        path: the database file; its folder is made when it is missing.
        driver: which package reads it.
        readers: threads (and connections) for reading.
    """

    def __init__(self, path: Path, driver: DriverName = "sqlite", readers: int = 4) -> None:
        self.path = path
        self.driver: DriverName = driver
        self.migration = 0
        self._readers: Executor = ThreadPoolExecutor(readers, thread_name_prefix="db-read")
        self._writer: Executor = ThreadPoolExecutor(1, thread_name_prefix="db-write")
        self._local = threading.local()
        self._connections: list[SqliteConnection] = []
        self._checkpoint: asyncio.TimerHandle | None = None
        self._file = FileState(path)
        self._damaged = False
        self._write_failed = False  # the last write did, for a reason that is the disk's
        self._open = False
        self._closing = threading.Event()

    async def open(self) -> None:
        """Create or migrate the file.

        Raises:
            StartupError: the file is damaged, of a newer version, of another program, or cannot be opened.
        """
        await asyncio.get_running_loop().run_in_executor(self._writer, self._prepare_file)
        self._open = True

    async def close(self) -> None:
        """Finish the queued writes and close every connection. What waits for another process's lock gives up."""
        self._open = False
        self._closing.set()
        if self._checkpoint is not None:
            self._checkpoint.cancel()
        await asyncio.to_thread(self._shut_down)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a reader thread; all its statements see one snapshot.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed, stays locked, or cannot be read.
        """
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction on the writer thread: committed when this returns, undone when `work` raises.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed or stays locked, or the disk is full,
                read-only, gone or broken.
        """
        self._check_open()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._writer, self._write, work)
        finally:
            if self._checkpoint is not None:
                self._checkpoint.cancel()
            self._checkpoint = loop.call_later(_IDLE_CHECKPOINT_S, self._queue_checkpoint)

    async def check(self) -> None:
        """Whether everything could be read and written now. Once damage was met, the answer stays no.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE, with the reason.
        """
        await asyncio.to_thread(self._check)
        if self._write_failed:
            await self.write(_try_to_write)

    def _check(self) -> None:
        with self._answering():
            if self._damaged:
                raise DamagedFileError(_DAMAGED)
            self._file.check_there()
            self._file.check_room()

    async def size_bytes(self) -> int:
        """Bytes on disk: the file and its write-ahead log."""
        return await asyncio.to_thread(self._size_bytes)

    def _size_bytes(self) -> int:
        log = self.path.with_name(self.path.name + "-wal")
        return self.path.stat().st_size + (log.stat().st_size if log.exists() else 0)

    def _check_open(self) -> None:
        if not self._open:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The service is shutting down.")

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self._answering():
            return self._transaction(self._connection(_prepare_reader), "BEGIN", work)

    def _write(self, work: Callable[[Connection], T]) -> T:
        try:
            with self._answering():
                self._file.check_there()
                result = self._transaction(self._connection(_prepare_writer), "BEGIN IMMEDIATE", work)
        except KnowledgeError as error:
            self._write_failed |= isinstance(error.__cause__, UnusableFileError)
            raise
        self._write_failed = False
        return result

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """What is nobody's fault who asks becomes SERVICE_UNAVAILABLE."""
        try:
            yield
        except DatabaseBusyError as error:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The database is busy. Try again shortly.") from error
        except UnusableFileError as error:
            raise KnowledgeError("SERVICE_UNAVAILABLE", self._sentence(error)) from error
        except (DamagedFileError, *_GARBLED) as error:
            self._damaged = True
            raise KnowledgeError("SERVICE_UNAVAILABLE", _DAMAGED) from error

    def _sentence(self, error: UnusableFileError) -> str:
        """What is the matter with the file, for the user."""
        if isinstance(error, BrokenFileError):
            try:
                self._file.check_room()
            except (UnusableFileError, OSError) as reason:
                return str(reason) if isinstance(reason, UnusableFileError) else str(error)
        return str(error)

    def _connection(self, prepare: Callable[[Connection], None]) -> Connection:
        """This thread's own connection."""
        connection: SqliteConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.driver, self.path)
            self._connections.append(connection)
            self._until_free(lambda: prepare(connection), _LOCK_WAIT_S)
            self._local.connection = connection
        return connection

    def _transaction(self, connection: Connection, begin: str, work: Callable[[Connection], T]) -> T:
        self._until_free(lambda: connection.execute(begin), _LOCK_WAIT_S)
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(DatabaseFault):  # some failures have ended the transaction already
                connection.execute("ROLLBACK")
            raise
        return result

    def _until_free(self, step: Callable[[], object], wait_s: float) -> None:
        """Repeat a step that another connection's lock stops. We wait outside the driver, where it blocks nobody."""
        deadline = time.monotonic() + wait_s
        while True:
            try:
                step()
                return
            except DatabaseBusyError:
                if self._closing.is_set() or time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)

    def _prepare_file(self) -> None:
        """Check, then migrate; nothing is written to a file that we refuse."""
        steps = migrations()
        try:
            with opening(f"The database file {self.path}"):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file.check_header()
                if self.path.exists():
                    self._file.check_access()
            connection = connect(self.driver, self.path, create=True)
            self._connections.append(connection)
            self._until_free(lambda: check_file(connection, steps), _OPEN_WAIT_S)
            self._until_free(lambda: _prepare_writer(connection), _OPEN_WAIT_S)
            self._until_free(lambda: migrate(connection, steps), _OPEN_WAIT_S)
            self.migration = applied_migration(connection)
            self._file.remember()
        except DamagedFileError as error:
            raise StartupError(
                f"The database file {self.path} is damaged or is not a database. Nothing was changed. Restore a backup "
                "into an empty folder, and keep this one until that is done; or set DATA_DIR to another folder."
            ) from error
        except DatabaseBusyError as error:
            raise StartupError("Another process keeps the database locked. Close it and try again.") from error
        except UnusableFileError as error:
            raise StartupError(f"{self.path} cannot be used. {self._sentence(error)}") from error
        except (OSError, DatabaseFault) as error:
            raise StartupError(f"The database file {self.path} cannot be opened: {error}") from error
        self._local.connection = connection

    def _queue_checkpoint(self) -> None:
        if self._open:
            self._writer.submit(self._truncate_log)

    def _truncate_log(self) -> None:
        """Move the write-ahead log into the file while nobody writes. A busy reader puts it off."""
        connection = self._connection(_prepare_writer)
        usual_ms = next(connection.execute("PRAGMA busy_timeout"))[0]
        try:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except DatabaseBusyError:
            pass
        finally:
            connection.execute(f"PRAGMA busy_timeout = {usual_ms}")

    def _shut_down(self) -> None:
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        for connection in self._connections:
            connection.close()
        self._connections.clear()


def _prepare_writer(connection: Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")  # a file from elsewhere may hold more than tables
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # counts only while the file is new
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    usual_ms = next(connection.execute("PRAGMA busy_timeout"))[0]
    connection.execute(f"PRAGMA busy_timeout = {min(usual_ms, _LOCK_STEP_MS)}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_CHECKPOINT_PAGES}")
    connection.execute("PRAGMA temp_store = MEMORY")


def _prepare_reader(connection: Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
    # Through a mapped file, a fault of the disk or a shortened file would end the process (SIGBUS), not the request.
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA temp_store = MEMORY")


def _try_to_write(connection: Connection) -> None:
    """Change a page and leave everything as it was. (A row that is set to what it is changes none.)"""
    connection.execute("INSERT INTO meta (key, value) VALUES ('trial', 0)")
    connection.execute("DELETE FROM meta WHERE key = 'trial'")
