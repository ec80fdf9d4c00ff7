"""One connection: requests that are not even HTTP get the one error shape as well, and neither a client that sends
slowly or without end nor one that reads nothing holds more than a little of us for more than a while.
"""

import asyncio
from typing import Any, Literal, cast

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.connections import Connections
from mcp_knowledge.interfaces.heads import (
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    NOT_HTTP,
    fault_of_head,
    head_without_upgrade,
    too_large,
)
from mcp_knowledge.interfaces.refusals import refusal
from mcp_knowledge.interfaces.rest.hosts import with_host_of_target

MAX_PIPELINED = 32  # requests that wait for the answers of those before; clients that send ahead at all send a few
_AGAIN_S = 5  # told in Retry-After: places come free within seconds, see `Patience`
_TOLD_S = 2.0  # for whoever is told that its connection ends, to read that
_PAUSE_S = 0.05  # between two pieces, of up to 256 KB, of what nobody needs
_BRISK_BYTES = 64 * 1024  # whoever sends so much of a body within `Patience.stalled_s` gets on with it

Phase = Literal["head", "idle", "body", "answer", "rest"]

_TOO_MANY = f"A connection may have {MAX_PIPELINED} requests that wait for those before. Use several connections."


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with bounds on what a client may send and on how long it may take. How long is looked at
    in `check`, from outside, for all connections together.
    """

    def __init__(
        self,
        config: Config,
        server_state: Connections,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._all = server_state
        self._phase: Phase = "head"
        self._since_s = 0.0  # when the phase began, or much of a body came
        self._body_bytes = 0  # since then
        self._unproductive_bytes = 0  # since a head was complete or a piece of a body came: heads, trailers, extensions
        self._advanced = False
        self._in_head = False
        self._running: RequestResponseCycle | None = None
        self._complaint = KnowledgeError("INVALID_REQUEST", NOT_HTTP)
        self._refusal: KnowledgeError | None = None
        self._ending = False  # all has been said; what still comes is not read
        self._unsent: tuple[int, float] | None = None  # bytes of answers that wait to be taken, and since when

    # The connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connected; where there is no room, it is told so at once."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._enter("head")
        if not self._all.has_room():
            self._turn_away()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever works on an answer; uvicorn tells only the last one that was asked for."""
        for cycle in (self._running, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                _disconnect(cycle)
        self.pipeline.clear()
        self._all.waiting.pop(self, None)
        self._all.refused.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, unless it only makes a head grow beyond the limit."""
        if self._phase == "rest":
            self._read_on_later()
        if self._ending or self._refusal is not None:
            return
        self._advanced = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._go_on_without_upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            self._refuse(self._complaint)
            return
        self._unproductive_bytes = 0 if self._advanced else self._unproductive_bytes + len(data)
        if self._unproductive_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(too_large())

    def shutdown(self) -> None:
        """The server ends: finish what is being answered, and nothing else."""
        self.pipeline.clear()
        if self._running is None or self._running.response_complete:
            self.transport.close()
        else:
            self._running.keep_alive = False

    # What the parser finds, in this order

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._in_head = True
        if self._phase in ("idle", "head"):
            self._enter("head")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. Those that follow a body are left out: they must not pass for headers (RFC 9110 section 6.5.1)."""
        if not self._in_head:
            return
        if len(self.headers) >= MAX_HEADERS:
            self._give_up(too_large())
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A head is complete: begin to answer it."""
        self._advanced = True
        self._in_head = False
        self._check_head()
        if self.parser.should_upgrade():
            return  # it comes again, without
        self.headers[:] = with_host_of_target(self.url, self.headers)
        super().on_headers_complete()
        if self._running is self.cycle:
            self._enter("body")

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._advanced = True
        self._body_bytes += len(body)
        if self._body_bytes >= _BRISK_BYTES and self._phase == "body":
            self._enter("body")
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request."""
        if self.parser.should_upgrade():
            return
        if self._phase == "rest":
            self._enter("idle")
        elif self._phase == "body":
            self._enter("answer")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is complete: on to the next request, which may be here already."""
        self._all.total_requests += 1
        if self.transport.is_closing() or self._ending:
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
            self._enter("body" if cycle.more_body else "answer")
        elif self._refusal is not None:
            self._tell(self._refusal)
        elif self.cycle.more_body:
            self._enter("rest")
        else:
            self._enter("head" if self._in_head else "idle")
        self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        """Answer and close: where the next request would begin is unknown."""
        self._refuse(self._complaint)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        cycle.transport = _Answering(self)
        super()._start_asgi_task(cycle, app)

    def _check_head(self) -> None:
        """Raises to the parser, which gives up."""
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if complaint := fault_of_head(method, self.url, version, self.headers):
            self._give_up(complaint)
        if len(self.pipeline) >= MAX_PIPELINED:
            self._give_up(KnowledgeError("INVALID_REQUEST", _TOO_MANY))

    def _give_up(self, complaint: KnowledgeError) -> None:
        self._complaint = complaint
        raise ValueError(complaint.message)

    def _go_on_without_upgrade(self, rest: bytes) -> None:
        """Read a request that offers another protocol as if it did not. The parser would skip its body: Java's client
        offers HTTP/2 in every first request.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        head = head_without_upgrade(method, self.url, version, self.headers)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
        self.data_received(head + rest)

    # Refusing and ending

    def _refuse(self, error: KnowledgeError) -> None:
        """Answer with an error and end, after the answers that are under way: a client counts them."""
        self._refusal = error
        running = self._running
        if running is None or running.response_complete:
            self._tell(error)
        elif running is self.cycle and running.more_body:
            _disconnect(running)
            if running.response_started:
                self.transport.close()
            else:
                self._tell(error)

    def _turn_away(self) -> None:
        self._all.connections.discard(self)
        self._all.waiting.pop(self, None)
        if not self._all.may_tell():
            self.transport.abort()
            return
        self._all.refused.add(self)
        self._refuse(
            KnowledgeError(
                "SERVICE_UNAVAILABLE", "Too many clients are connected. Try again shortly.", retry_after_s=_AGAIN_S
            )
        )

    def _tell(self, error: KnowledgeError) -> None:
        self.transport.write(refusal(error))
        self.end()

    def end(self) -> None:
        """Say that nothing more will come, and let the client finish: closing while it still sends would destroy what
        it has not read yet (RFC 9112 section 9.6).
        """
        if self._ending or self.transport.is_closing():
            return
        self._ending = True
        self._enter("rest")
        self.transport.write_eof()
        self.flow.resume_reading()

    def _read_on_later(self) -> None:
        """Nobody needs what comes now. It is read slowly, so that those who are served do not feel it."""
        self.flow.pause_reading()
        self.loop.call_later(_PAUSE_S, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def close_after_answer(self) -> None:
        """Close the connection, once the client has what was written."""
        if self._running is not None and self._running.more_body:
            self.end()
        else:
            self.transport.close()

    # How long it takes

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since_s, self._body_bytes = phase, self.loop.time(), 0
        self._all.waiting.pop(self, None)
        if phase in ("head", "idle"):
            self._all.waiting[self] = None

    def check(self, now_s: float) -> None:
        """Close the connection if it lets us wait for too long."""
        patience = self._all.patience
        limits: dict[Phase, float] = {"head": patience.head_s, "idle": patience.idle_s, "rest": patience.rest_s}
        limit_s = _TOLD_S if self._refusal is not None and self._ending else limits.get(self._phase)
        if limit_s is not None and now_s - self._since_s > limit_s:
            if self._phase == "head" and self._in_head:
                self._refuse(KnowledgeError("REQUEST_TIMEOUT"))
            elif self._phase == "rest":
                self.transport.abort()
            else:
                self.transport.close()
        self._check_writing(now_s)

    def _check_writing(self, now_s: float) -> None:
        size = self.transport.get_write_buffer_size()
        patience = self._all.patience
        if not size:
            self._unsent = None
        elif self._unsent is None or size <= self._unsent[0] - patience.write_bytes:
            self._unsent = size, now_s
        elif now_s - self._unsent[1] > patience.write_s:
            self.transport.abort()
        else:
            self._unsent = max(size, self._unsent[0]), self._unsent[1]

    def stalled_since(self) -> float | None:
        """Since when it lets us wait in the midst of a request or an answer; None when it does not."""
        reading = self._since_s if self._phase in ("body", "rest") else None
        writing = self._unsent[1] if self._unsent else None
        return min((since for since in (reading, writing) if since is not None), default=None)

    def give_way(self) -> None:
        """Close it now: somebody else needs the room."""
        if self._phase == "idle":
            self.transport.close()
        else:
            self.transport.abort()


class _Answering(asyncio.Transport):
    """What a request's answer is written to. Uvicorn closes it after an answer that is the last one."""

    def __init__(self, protocol: GuardedProtocol) -> None:
        super().__init__()
        self._protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send."""
        self._protocol.transport.write(data)

    def close(self) -> None:
        """Close the connection, once the client has all of it."""
        self._protocol.close_after_answer()

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._protocol.transport.is_closing()


def _disconnect(cycle: RequestResponseCycle) -> None:
    cycle.disconnected = True
    cycle.message_event.set()
