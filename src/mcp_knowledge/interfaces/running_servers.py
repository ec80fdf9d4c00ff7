"""The servers that run on a data directory: finding one, and being one. Cheap to import, as commands do it too."""

import fcntl
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_knowledge.errors import StartupError, opening
from mcp_knowledge.settings import Settings

_SERVER = "server"  # begins the names of a server's files
_STARTED_S = 60.0  # by then a server holds its lock


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server at work on a data directory."""

    url: str
    pid: int


def find_server(data_dir: Path) -> RunningServer | None:
    """A server that runs on this data directory, None when there is none."""
    for lock in sorted(data_dir.glob(f"{_SERVER}*.lock")):
        if not _is_free(lock):
            try:
                data = json.loads(lock.with_suffix(".json").read_text())
                return RunningServer(data["url"], data["pid"])
            except (OSError, ValueError, KeyError):
                continue  # it is only just starting
    return None


def _is_free(lock: Path) -> bool:
    try:
        with lock.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def server_lock(data_dir: Path) -> Iterator[None]:
    """Hold the data directory for one server. The lock dies with the process, however it ends. Raises StartupError."""
    with _locked(data_dir / f"{_SERVER}.lock"):
        yield


@contextmanager
def server_note(settings: Settings) -> Iterator[Path]:
    """Be one of the servers of the data directory: a database in a file has one, of PostgreSQL there may be any number.
    The file that this server's address belongs in.

    Raises:
        StartupError: another server has the data directory.
    """
    data_dir = settings.data_dir
    if settings.database_driver != "postgres":
        with server_lock(data_dir):
            yield from _note(data_dir / f"{_SERVER}.json")
        return
    _remove_traces(data_dir)
    lock = data_dir / f"{_SERVER}-{secrets.token_hex(4)}.lock"
    with _locked(lock):
        try:
            yield from _note(lock.with_suffix(".json"))
        finally:
            lock.unlink(missing_ok=True)


def _note(path: Path) -> Iterator[Path]:
    try:
        yield path
    finally:
        with suppress(OSError):  # its disk may have gone meanwhile
            path.unlink()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with opening(f"The data directory {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    with file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            running = find_server(path.parent)
            where = f" at {running.url} (process {running.pid})" if running else ""
            raise StartupError(
                f"A server{where} already uses this data directory. Stop it, or choose another DATA_DIR."
            ) from None
        yield


def _remove_traces(data_dir: Path) -> None:
    """Remove what killed servers have left, of those that have a name of their own."""
    for lock in data_dir.glob(f"{_SERVER}-*.lock"):
        if lock.stat().st_mtime < time.time() - _STARTED_S and _is_free(lock):  # a new one is about to be locked
            lock.with_suffix(".json").unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
