"""The embedded database: one writer thread, several reader threads, a connection each."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.sqlite.drivers import (
    DamagedFileError,
    DatabaseBusyError,
    DatabaseFault,
    DriverName,
    SqliteConnection,
    UnusableFileError,
    connect,
)
from mcp_knowledge.adapters.sqlite.migrate import applied_migration, check_file, migrate, migrations
from mcp_knowledge.errors import KnowledgeError, StartupError

__all__ = ["Connection", "Database", "DatabaseFault"]

T = TypeVar("T")
_SQLITE_HEADER = b"SQLite format 3\0"
_OPEN_WAIT_S = 30.0  # several processes may open a new file at once; the first one migrates
_LOCK_WAIT_S = 30.0  # another process may be writing a large document
_IDLE_CHECKPOINT_S = 1.0
_PAGE_BYTES = 8192
_WAL_CHECKPOINT_PAGES = 512  # 4 MiB
_READER_CACHE_KIB = 4096
_WRITER_CACHE_KIB = 8192
# Long full-text queries over 100,000 chunks took a third less time; the system takes the memory back when it is short.
_READER_MMAP_BYTES = 256 * 1024 * 1024


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
        self._open = False

    async def open(self) -> None:
        """Create or migrate the file.

        Raises:
            StartupError: the file is damaged, of a newer version, of another program, or cannot be opened.
        """
        await asyncio.get_running_loop().run_in_executor(self._writer, self._prepare_file)
        self._open = True

    async def close(self) -> None:
        """Finish the queued writes and close every connection."""
        self._open = False
        if self._checkpoint is not None:
            self._checkpoint.cancel()
        await asyncio.to_thread(self._shut_down)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a reader thread; all its statements see one snapshot.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed or stays locked.
        """
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction on the writer thread: committed when this returns, undone when `work` raises.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed or stays locked, or the disk is full.
        """
        self._check_open()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._writer, self._write, work)
        finally:
            if self._checkpoint is not None:
                self._checkpoint.cancel()
            self._checkpoint = loop.call_later(_IDLE_CHECKPOINT_S, self._queue_checkpoint)

    async def size_bytes(self) -> int:
        """Bytes on disk: the file and its write-ahead log. Raises OSError when the file is gone: what is still written
        to it would be lost.
        """
        return await asyncio.to_thread(self._size_bytes)

    def _size_bytes(self) -> int:
        log = self.path.with_name(self.path.name + "-wal")
        return self.path.stat().st_size + (log.stat().st_size if log.exists() else 0)

    def _check_open(self) -> None:
        if not self._open:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The service is shutting down.")

    def _read(self, work: Callable[[Connection], T]) -> T:
        with _answering():
            return _transaction(self._connection(_prepare_reader), "BEGIN", work)

    def _write(self, work: Callable[[Connection], T]) -> T:
        with _answering():
            return _transaction(self._connection(_prepare_writer), "BEGIN IMMEDIATE", work)

    def _connection(self, prepare: Callable[[Connection], None]) -> Connection:
        """This thread's own connection."""
        connection: SqliteConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.driver, self.path)
            self._connections.append(connection)
            _until_free(lambda: prepare(connection), _LOCK_WAIT_S)
            self._local.connection = connection
        return connection

    def _prepare_file(self) -> None:
        """Check, then migrate; nothing is written to a file that we refuse."""
        steps = migrations()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._check_header()
            connection = connect(self.driver, self.path)
            self._connections.append(connection)
            _until_free(lambda: check_file(connection, steps), _OPEN_WAIT_S)
            _until_free(lambda: _prepare_writer(connection), _OPEN_WAIT_S)
            _until_free(lambda: migrate(connection, steps), _OPEN_WAIT_S)
            self.migration = applied_migration(connection)
        except DamagedFileError as error:
            raise StartupError(
                "The database file is damaged or is not a database. Nothing was changed. "
                "Restore it from a backup, or set DATA_DIR to another folder."
            ) from error
        except DatabaseBusyError as error:
            raise StartupError("Another process keeps the database locked. Close it and try again.") from error
        except (OSError, DatabaseFault) as error:
            raise StartupError(f"The database file cannot be opened: {error}") from error
        self._local.connection = connection

    def _check_header(self) -> None:
        """SQLite takes some short files for empty databases and would overwrite them."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            header = file.read(len(_SQLITE_HEADER))
        if header and header != _SQLITE_HEADER:
            raise DamagedFileError("no SQLite header")

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
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # counts only while the file is new
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_CHECKPOINT_PAGES}")
    connection.execute("PRAGMA temp_store = MEMORY")


def _prepare_reader(connection: Connection) -> None:
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
    connection.execute(f"PRAGMA mmap_size = {_READER_MMAP_BYTES}")
    connection.execute("PRAGMA temp_store = MEMORY")


def _transaction(connection: Connection, begin: str, work: Callable[[Connection], T]) -> T:
    _until_free(lambda: connection.execute(begin), _LOCK_WAIT_S)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(DatabaseFault):  # some failures have ended the transaction already
            connection.execute("ROLLBACK")
        raise
    return result


@contextmanager
def _answering() -> Iterator[None]:
    """What is over after a time, and nobody's fault, becomes SERVICE_UNAVAILABLE."""
    try:
        yield
    except DatabaseBusyError as error:
        raise KnowledgeError("SERVICE_UNAVAILABLE", "The database is busy. Try again shortly.") from error
    except UnusableFileError as error:
        raise KnowledgeError("SERVICE_UNAVAILABLE", "The database file cannot be used right now.") from error


def _until_free(step: Callable[[], object], wait_s: float) -> None:
    """Repeat a step that another connection's lock stops. The wait is outside the driver, where it blocks nobody."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            step()
            return
        except DatabaseBusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
