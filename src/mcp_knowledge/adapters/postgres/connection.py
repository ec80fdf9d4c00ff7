"""PostgreSQL: a pool of connections, and work that runs on threads, one transaction each."""

import asyncio
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from mcp_knowledge.adapters.postgres.dialect import CHANNELS, PostgresDialect
from mcp_knowledge.adapters.postgres.migrate import migrate_server
from mcp_knowledge.adapters.postgres.silence import SilenceWatch
from mcp_knowledge.adapters.rows.dialect import Row, Topic
from mcp_knowledge.adapters.rows.sql import storable
from mcp_knowledge.errors import KnowledgeError, StartupError

T = TypeVar("T")
_READERS, _WRITERS = 8, 4  # threads; as many connections at most
_ANSWER_S = 5.0  # a request waits no longer for a server that is away
_LATE_S = 0.05  # or this, when it has waited so long for a thread that waited for the server
_CLOSING_S = 1.0  # for what is under way; what takes longer is undone
_WORKERS_S = 0.2  # for each of the threads that make connections
_IDLE_S = 1.0  # a connection that rested so long is tried before it is used: the server may have restarted
_TRIES = 8  # of a transaction that met another one
# What a transaction that met another one may end with; on the next try it sees what the other one wrote.
_RACES = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation, errors.ForeignKeyViolation)
_TOO_LARGE = (errors.ProgramLimitExceeded, errors.StatementTooComplex, errors.TooManyArguments)
_LOST = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
# Custom plans: how many rows a list or a bound leaves is known only with its values. JIT costs more than it saves here.
_SESSION = "SET plan_cache_mode = force_custom_plan; SET jit = off"
# A process that was halted in the midst of a transaction, or whose machine is gone, keeps others waiting no longer.
_BOUNDS = "SET idle_in_transaction_session_timeout = '30s'; SET lock_timeout = '15s'"
_KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000}
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
# What stands before the reason in libpq's texts.
_WHERE_AGAIN = re.compile(
    r"^(connection (failed|is bad): )?(connection to server (at|on) .*? failed: )?((FATAL|ERROR): +)?"
)


class PostgresConnection:
    """A pooled connection in the form that the shared statements run on.

    Args:
        raw: the connection itself, for what only PostgreSQL can do (COPY, vectors).
    """

    dialect = PostgresDialect()

    def __init__(self, raw: "psycopg.Connection[Row]") -> None:
        self.raw = raw
        self.corpus_changed = False
        self.topics: set[Topic] = set()

    def execute(self, sql: str, params: Sequence[Any] = ()) -> Iterator[Row]:
        """Run one statement with `?` parameters; its rows."""
        cursor = self.raw.execute(translated(sql), storable(params), binary=True)
        return iter(cursor.fetchall()) if cursor.description is not None else iter(())

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement once per row of parameters, without waiting for each answer."""
        with self.raw.cursor() as cursor:
            cursor.executemany(translated(sql), map(storable, rows))

    def begin(self, statement: str) -> None:
        """Begin a transaction."""
        self.corpus_changed, self.topics = False, set()
        self.raw.execute(statement)

    def settle(self) -> None:
        """Do what is left for the end of a transaction, so that writers wait for each other only while they commit."""
        for topic in sorted(self.topics):
            self.raw.execute("SELECT pg_notify(%s, '')", (CHANNELS[topic],))
        if self.corpus_changed:
            self.raw.execute("UPDATE meta SET value = (value::bigint + 1)::text WHERE key = 'generation'")


@lru_cache(maxsize=1024)
def translated(sql: str) -> str:
    """A statement with `?` parameters as psycopg reads it."""
    return sql.replace("%", "%%").replace("?", "%s")


class PostgresDatabase:
    """A database on a server, used by any number of processes at once.

    Args:
        dsn: `postgresql://user:password@host:port/database?…`.
        dimensions: length of the vectors.
        readers, writers: threads; so many connections are opened at most.
    """

    driver = "postgres"

    def __init__(self, dsn: str, dimensions: int, readers: int = _READERS, writers: int = _WRITERS) -> None:
        self.dsn = dsn
        self.migration = 0
        self._dimensions = dimensions
        self._size = readers + writers
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="db-read")
        self._writers = ThreadPoolExecutor(writers, thread_name_prefix="db-write")
        self._pool: ConnectionPool[psycopg.Connection[Row]] | None = None
        self._used_s: WeakKeyDictionary[psycopg.Connection[Row], float] = WeakKeyDictionary()
        self._silence = SilenceWatch(dsn)
        self._suspicious_until_s = 0.0
        self._is_away = False

    async def open(self) -> None:
        """Migrate the database and fill the pool.

        Raises:
            StartupError: the server does not answer, is too old or has no pgvector, or the database is not ours.
        """
        await asyncio.to_thread(self._open)

    async def close(self) -> None:
        """Let what is under way end if it soon does, and close every connection."""
        pool, self._pool = self._pool, None
        await asyncio.to_thread(self._shut_down, pool)

    async def read(self, work: Callable[[PostgresConnection], T]) -> T:
        """Run `work` on a reader thread; all its statements see one snapshot.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed or does not answer.
        """
        return await self._run(self._readers, _READ, work)

    async def write(self, work: Callable[[PostgresConnection], T]) -> T:
        """Run `work` in one transaction: committed when this returns, undone when `work` raises. A transaction that
        met another one is run again.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed, does not answer or its disk is full. When
                the connection was lost while it committed, the change may have been made or not.
        """
        return await self._run(self._writers, _WRITE, work)

    async def check(self) -> None:
        """Whether the server takes writes: one that stands by for another does not. Raises SERVICE_UNAVAILABLE."""
        if await self.read(lambda c: next(c.execute("SELECT pg_is_in_recovery()"))[0]):
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The database server only answers: another one takes writes.")

    async def size_bytes(self) -> int:
        """Bytes on the server's disk."""
        return await self.read(lambda c: int(next(c.execute("SELECT pg_database_size(current_database())"))[0]))

    def _open(self) -> None:
        try:
            with psycopg.connect(self.dsn, connect_timeout=10, autocommit=True) as first:
                self.migration = migrate_server(first, self._dimensions)
                register_vector(first)
                self._pool = ConnectionPool(
                    self.dsn,
                    kwargs={"autocommit": True, "connect_timeout": 5, "context": first, **_KEEPALIVE},
                    min_size=1,
                    max_size=self._size,
                    timeout=_ANSWER_S,
                    reconnect_timeout=_ANSWER_S,
                    configure=self._configure,
                    check=self._check,
                    name="database",
                    open=True,
                )
                self._silence.start()
        except psycopg.Error as error:
            raise StartupError(unreachable(self.dsn, error)) from None

    def _check(self, raw: "psycopg.Connection[Row]") -> None:
        """Try a connection that may have died; one that was just used need not be tried."""
        now = time.monotonic()
        if now - self._used_s.get(raw, 0.0) > _IDLE_S or now < self._suspicious_until_s:
            with self._silence.over(raw):
                ConnectionPool.check_connection(raw)

    def _configure(self, raw: "psycopg.Connection[Row]") -> None:
        with self._silence.over(raw):
            raw.execute(f"{_SESSION}; {_BOUNDS}")

    async def _run(self, threads: Executor, begin: str, work: Callable[[PostgresConnection], T]) -> T:
        self._check_open()
        deadline = time.monotonic() + _ANSWER_S  # from here on: who waits for a thread waits for the server too
        return await asyncio.get_running_loop().run_in_executor(threads, self._transaction, begin, work, deadline)

    def _transaction(self, begin: str, work: Callable[[PostgresConnection], T], deadline: float) -> T:
        tries = 0
        while True:
            tries += 1
            committing = False
            try:
                with self._lent(deadline) as connection:
                    connection.begin(begin)
                    self._is_away = False
                    try:
                        result = work(connection)
                        connection.settle()
                        committing = begin == _WRITE
                        connection.raw.execute("COMMIT")
                        return result
                    except BaseException:
                        _roll_back(connection.raw)
                        raise
            except _RACES:
                if tries >= _TRIES:
                    raise
                time.sleep(random.uniform(0, 0.01 * 2**tries))
            except _TOO_LARGE:  # psycopg counts them among the faults of the server; the next try would meet them too
                raise
            except errors.LockNotAvailable as error:
                raise KnowledgeError(
                    "SERVICE_UNAVAILABLE", "Another change of the same documents takes long. Try again shortly."
                ) from error
            except errors.DiskFull as error:
                raise KnowledgeError("SERVICE_UNAVAILABLE", "The database's disk is full.") from error
            except (PoolTimeout, PoolClosed) as error:
                self._is_away = True
                raise KnowledgeError("SERVICE_UNAVAILABLE") from error
            except _LOST as error:
                self._suspicious_until_s = time.monotonic() + 2 * _ANSWER_S
                if committing or time.monotonic() > deadline:
                    raise KnowledgeError("SERVICE_UNAVAILABLE") from error

    def _check_open(self) -> "ConnectionPool[psycopg.Connection[Row]]":
        if self._pool is None:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The service is shutting down.")
        return self._pool

    @contextmanager
    def _lent(self, deadline: float) -> Iterator[PostgresConnection]:
        """A connection of the pool, for the time of a block."""
        pool = self._check_open()
        left_s = deadline - time.monotonic()
        raw = pool.getconn(max(left_s, _LATE_S if self._is_away else _ANSWER_S))
        try:
            with self._silence.over(raw):
                yield PostgresConnection(raw)
        finally:
            self._used_s[raw] = time.monotonic()
            pool.putconn(raw)

    def _shut_down(self, pool: "ConnectionPool[psycopg.Connection[Row]] | None") -> None:
        if pool is not None:
            pool.close(_WORKERS_S)  # whoever waits for a connection waits no more; those in use are closed afterwards
        breaking = threading.Timer(_CLOSING_S, self._silence.break_all)
        breaking.start()
        self._writers.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        breaking.cancel()
        self._silence.stop()


def _roll_back(raw: "psycopg.Connection[Row]") -> None:
    try:
        raw.execute("ROLLBACK")
    except psycopg.Error:
        raw.close()  # the pool makes another one


def unreachable(dsn: str, error: psycopg.Error) -> str:
    """A sentence for whoever starts the service, with the server's reason and without the password."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:  # its text may hold what was meant to be the password
        return (
            "DATABASE_URL cannot be read: its form is postgresql://user:password@host:port/database?option=value with "
            "the options of libpq, and signs such as % and @ in a password are written as %25 and %40."
        )
    lines = str(error).splitlines() or [type(error).__name__]  # the first is the reason, others guess
    reason = _WHERE_AGAIN.sub("", lines[0]).strip().rstrip(".")
    where = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"
    return f"PostgreSQL at {where} cannot be used: {reason}. Check DATABASE_URL and the server."
