"""Running the HTTP server, and finding one that runs already on a data directory."""

import asyncio
import errno
import fcntl
import json
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
import uvloop
from fastapi import FastAPI

from mcp_knowledge.errors import StartupError, disk_fault, opening
from mcp_knowledge.interfaces.connections import (
    PATIENCE,
    Connections,
    Patience,
    most_connections,
    raise_descriptor_limit,
)
from mcp_knowledge.interfaces.logs import log_uncaught
from mcp_knowledge.interfaces.protocol import GuardedProtocol
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

GRACEFUL_SHUTDOWN_S = 7  # for requests under way, while the worker ends too; all within 10 seconds
_BACKLOG = 1024
# What connections take over from their listener, on Linux. So many bytes of an answer the system keeps that the network
# has not taken yet, where it would take megabytes of whoever reads nothing; and for so many milliseconds it waits for a
# client that is gone without a word, where it would wait for a quarter of an hour.
_TCP_OPTIONS = tuple(
    (getattr(socket, name), value)
    for name, value in (("TCP_NOTSENT_LOWAT", 128 * 1024), ("TCP_USER_TIMEOUT", 60_000))
    if hasattr(socket, name)
)
_LOOPBACK = "127.0.0.1"
_BIND_STEPS = {
    errno.EADDRINUSE: "Stop the program that uses it, or set PORT to another one.",
    errno.EACCES: "Set PORT to one above 1023, or have the system let this user have it.",
}
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


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. `localhost` is this machine alone, whatever a hosts file says of it. Raises StartupError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for option, value in _TCP_OPTIONS:
        listener.setsockopt(socket.IPPROTO_TCP, option, value)
    try:
        listener.bind((_LOOPBACK if host == "localhost" else host, port))
        listener.listen(_BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        step = _BIND_STEPS.get(getattr(error, "errno", 0), "Set HOST to an address or a name of this machine.")
        reason = getattr(error, "strerror", None) or "no host name"
        raise StartupError(f"Cannot listen on {host}:{port} ({reason}). {step}") from None
    listener.setblocking(False)
    return listener


class _Server(uvicorn.Server):
    """Uvicorn, telling when it listens, and ending event streams as soon as it is asked to stop."""

    def __init__(
        self,
        config: uvicorn.Config,
        connections: Connections,
        on_listening: Callable[[], None],
        on_stop: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self.server_state = connections
        self._on_listening = on_listening
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_stop()
        super().handle_exit(sig, frame)


def serve(app: FastAPI, settings: Settings, announce: Callable[[str], None], patience: Patience = PATIENCE) -> None:
    """Serve until SIGTERM or SIGINT; `announce` gets the address once requests are answered. Raises StartupError."""
    connections = Connections(patience, most_connections(raise_descriptor_limit()))
    with server_note(settings) as note, bind(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        url = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{port}"

        def on_listening() -> None:
            try:
                temporary = note.with_suffix(".tmp")
                temporary.write_text(json.dumps({"url": url, "pid": os.getpid()}))
                temporary.replace(note)
            except OSError as error:
                log.warning("The command line will not find this server by itself: %s", disk_fault(error))
            announce(url)

        config = uvicorn.Config(
            app,
            http=GuardedProtocol,
            ws="none",
            proxy_headers=False,  # else anyone on this machine could choose the address that its requests come from
            lifespan="off",  # run below: a failed start is then an exception with a sentence, not a logged traceback
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_S,
        )

        async def run() -> None:
            async with app.router.lifespan_context(app):
                services, loop = app.state.services, asyncio.get_running_loop()
                loop.set_exception_handler(log_uncaught)
                stopping: list[asyncio.Task[None]] = []

                def on_stop() -> None:
                    stopping_in_order.set()
                    services.status.stop()
                    services.events.close()
                    loop.call_soon_threadsafe(connections.stop)
                    # Now, not after the last request: a client that never finishes must not cost the worker time.
                    loop.call_soon_threadsafe(lambda: stopping.append(asyncio.create_task(services.background.stop())))

                _share_out(app, connections.most)
                watching = asyncio.create_task(connections.watch())
                await _Server(config, connections, on_listening, on_stop).serve(sockets=[listener])
                watching.cancel()
                await asyncio.gather(*stopping)

        with (
            _signals() as stopping_in_order,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(run())


def _share_out(app: FastAPI, connections: int) -> None:
    """Leave room for short requests, however many clients follow events or send large files."""
    events, bodies = app.state.services.events, app.state.bodies
    events.most_readers = min(events.most_readers, connections // 2)
    bodies.at_once = min(bodies.at_once, connections // 4)


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """A signal ends a process at once that is only starting: nothing is under way, and what it waits for may take long.
    Once it serves, uvicorn takes the signals. It raises the one that ended it once more, for whoever handled it before;
    the clean-up comes first. Whoever stops in order sets the event.
    """
    in_order = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if not in_order.is_set():
            os._exit(128 + number)

    before = {kind: signal.signal(kind, handle) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield in_order
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
