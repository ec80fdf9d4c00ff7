"""The bodies of all requests together: none slower than a bad line, few large ones at a time."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_knowledge.errors import KnowledgeError

WINDOW_S = 60.0  # so much of our waiting must bring WINDOW_BYTES of a body; a modem brings 200 KB
WINDOW_BYTES = 4096
LARGE_BYTES = 64 * 1024  # a body beyond this needs a turn; below, it costs little more than its connection
LARGE_AT_ONCE = 32  # most hold 1 to 2 MB, and files of judged queries 17; more would bring nothing, for the disk is one
GRACE_S = 3.0  # of waiting, during which nobody is called slow
_SLOW_BYTES_A_SECOND = 32 * 1024  # who is slower makes way for who waits
_MAX_WAITING = 256  # for a turn; each holds its connection and LARGE_BYTES
_WAIT_S = 30.0  # at most; clients seldom wait longer for anything
_LOOK_S = 0.5  # while somebody waits, the slowest is looked for so often
_AGAIN_S = 10  # told in Retry-After: a turn takes seconds
_LATE = "The request's body did not arrive in time. Send it again."


class Bodies:
    """Which large bodies are under way, and who waits for a turn.

    Args:
        at_once: how many large ones; counts until the first is met.
        window_s: for each WINDOW_BYTES of a body.
        grace_s: of waiting for a body, during which it is not called slow.
    """

    def __init__(self, at_once: int = LARGE_AT_ONCE, window_s: float = WINDOW_S, grace_s: float = GRACE_S) -> None:
        self.at_once, self.window_s, self.grace_s = at_once, window_s, grace_s
        self._turns: asyncio.Semaphore | None = None
        self._large: set[Body] = set()
        self._waiting = 0

    async def join(self, body: "Body") -> None:
        """Wait for a turn. Raises SERVICE_UNAVAILABLE when too many wait, or for too long."""
        busy = KnowledgeError(
            "SERVICE_UNAVAILABLE", "Many large requests are under way. Try again shortly.", retry_after_s=_AGAIN_S
        )
        if self._waiting >= _MAX_WAITING:
            raise busy
        self._turns = self._turns or asyncio.Semaphore(self.at_once)
        turn = asyncio.create_task(self._turns.acquire())
        self._waiting += 1
        try:
            async with asyncio.timeout(_WAIT_S):
                while not (await asyncio.wait((turn,), timeout=_LOOK_S))[0]:
                    self._end_slowest()
        except TimeoutError:
            raise busy from None
        finally:
            self._waiting -= 1
            if turn.done():
                self._large.add(body)
            else:
                turn.cancel()

    def leave(self, body: "Body") -> None:
        """Give the turn back, if it had one."""
        if body in self._large and self._turns is not None:
            self._large.remove(body)
            self._turns.release()

    def _end_slowest(self) -> None:
        slowest = max(self._large, key=Body.slowness_s, default=None)
        if slowest is not None and slowest.slowness_s() > 0:
            slowest.end()


class Body:
    """One request's body, as the application receives it.

    Args:
        bodies: all of them.
        receive: gives the messages of the connection.
    """

    def __init__(self, bodies: Bodies, receive: Receive) -> None:
        self._bodies, self._receive = bodies, receive
        self._received_bytes = 0
        self._waited_s = 0.0
        self._window_bytes, self._window_start_s = 0, 0.0  # of the present window, in `_waited_s`
        self._is_large = self._is_complete = self._is_ended = False
        self._waiting: tuple[asyncio.Timeout, float] | None = None  # and since when

    async def receive(self) -> Message:
        """The next message.

        Raises:
            KnowledgeError: REQUEST_TIMEOUT when too little comes, SERVICE_UNAVAILABLE when no turn does.
        """
        if self._is_complete:
            return await self._receive()
        if self._received_bytes > LARGE_BYTES and not self._is_large:
            self._is_large = True
            await self._bodies.join(self)
        message = await self._next()
        size_bytes = len(message.get("body", b""))
        self._received_bytes += size_bytes
        self._window_bytes += size_bytes
        if self._window_bytes >= WINDOW_BYTES:
            self._window_bytes, self._window_start_s = 0, self._waited_s
        self._is_complete = not message.get("more_body", False)
        return message

    async def _next(self) -> Message:
        loop = asyncio.get_running_loop()
        left_s = self._window_start_s + self._bodies.window_s - self._waited_s
        began_s = loop.time()
        try:
            async with asyncio.timeout(0 if self._is_ended else left_s) as timeout:
                self._waiting = timeout, began_s
                return await self._receive()
        except TimeoutError:
            raise KnowledgeError("REQUEST_TIMEOUT", _LATE) from None
        finally:
            self._waiting = None
            self._waited_s += loop.time() - began_s

    def slowness_s(self) -> float:
        """Seconds by which it came later than it should, where somebody else needs its turn; 0 when it gets on, and
        once it was told to end: the next who waits finds another one.
        """
        if self._waiting is None or self._is_ended:
            return 0.0
        waited_s = self._waited_s + asyncio.get_running_loop().time() - self._waiting[1]
        return 0.0 if waited_s < self._bodies.grace_s else waited_s - self._received_bytes / _SLOW_BYTES_A_SECOND

    def end(self) -> None:
        """Wait for no more of it."""
        self._is_ended = True
        if self._waiting is not None and not self._waiting[0].expired():  # else it is about to hear that time is up
            self._waiting[0].reschedule(asyncio.get_running_loop().time())

    def close(self) -> None:
        """The request is answered."""
        self._bodies.leave(self)


class BodyGuard:
    """The ASGI layer that hands on bodies like that.

    Args:
        bodies: of all requests.
    """

    def __init__(self, app: ASGIApp, bodies: Bodies) -> None:
        self._app, self._bodies = app, bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = Body(self._bodies, receive)
        try:
            await self._app(scope, body.receive if scope["type"] == "http" else receive, send)
        finally:
            body.close()
