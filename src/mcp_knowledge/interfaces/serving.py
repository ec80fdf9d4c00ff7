"""Running the HTTP server."""

import asyncio
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
import uvloop
from fastapi import FastAPI

from mcp_knowledge.errors import disk_fault
from mcp_knowledge.interfaces.allocator import give_memory_back
from mcp_knowledge.interfaces.connections import (
    PATIENCE,
    Connections,
    Patience,
    most_connections,
    raise_descriptor_limit,
)
from mcp_knowledge.interfaces.listener import bind
from mcp_knowledge.interfaces.logs import log_uncaught
from mcp_knowledge.interfaces.protocol import GuardedProtocol
from mcp_knowledge.interfaces.running_servers import server_note
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

GRACEFUL_SHUTDOWN_S = 7  # for requests under way, while the worker ends too; all within 10 seconds


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
    give_memory_back()
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
