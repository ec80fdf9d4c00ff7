"""All connections of a server together: how many there may be, and how long each may let us wait."""

import asyncio
import logging
import resource
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from uvicorn.server import ServerState

from mcp_knowledge.domain.seldom import Seldom

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 2048  # far beyond an office; an idle one costs some 20 KB, one that follows events some 50
# For the database, originals, parser processes, from-url and what else opens files: an idle server has 32 open.
_RESERVED_DESCRIPTORS = 96
_RESERVED_SHARE = 0.625  # where that would be nearly all
_DESCRIPTORS_EACH = 3  # a connection, the file that it sends or receives, and somebody new
_FEWEST_CONNECTIONS = 8
_STOPPING_STALLED_S = 1.5  # once the server ends
_STOPPING_S = 5.0  # before uvicorn cancels what is left, loudly
_MOMENT_S = 0.05  # in which whoever has sent something is read from
_ENOUGH_DESCRIPTORS = 65_536  # some systems allow a billion, and programs that close "all" of them take minutes then
_REFUSED_SHARE = 4  # this part of so many may be told at the same time that they are refused; any more are cut off


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a connection may let us wait, in seconds.

    Args:
        head_s: for a request's first line and headers, from their first byte; and for that first byte, on a connection
            that has sent none. As Apache's mod_reqtimeout and uvicorn's peers, give or take.
        idle_s: between two requests; longer than nginx keeps its connections to us (60), so that it is the proxy who
            closes, and none of its requests meets a connection that has just been closed.
        rest_s: for the rest of a body that nobody reads any more, its request being answered; after nginx's
            `lingering_time`.
        write_s: for `write_bytes` of an answer to be taken.
        write_bytes: as above: the slowest line that we go on with.
        stalled_s: after which whoever lets us wait, in the midst of a request or an answer, makes room when there is
            none for somebody new.
        sweep_s: how often all this is looked at.
    """

    head_s: float = 15.0
    idle_s: float = 75.0
    rest_s: float = 30.0
    write_s: float = 60.0
    write_bytes: int = 4096
    stalled_s: float = 10.0
    sweep_s: float = 1.0


PATIENCE = Patience()


class Connection(Protocol):
    """What is known of a connection here."""

    def check(self, now_s: float) -> None:
        """Close it if it lets us wait for too long."""
        ...

    def stalled_since(self) -> float | None:
        """Since when it lets us wait in the midst of a request or an answer; None when it does not."""
        ...

    def give_way(self) -> None:
        """Close it now: somebody else needs the room."""
        ...


class Connections(ServerState):
    """The connections of a server, in uvicorn's own registry. When all places are taken, new ones get those of whoever
    has let us wait longest between two requests or in the midst of a head; else of whoever has stalled longest in a
    body or an answer. Clients that get on with it are never cut off for others.

    For a moment twice as many are let in: many may come at once, and who of them gets on with it is known only when all
    were read from.

    Args:
        most: how many there may be in the long run.
    """

    def __init__(self, patience: Patience, most: int) -> None:
        super().__init__()
        self.patience, self.most = patience, most
        self.waiting: dict[Connection, None] = {}  # for a head, longest first
        self.refused: set[Connection] = set()
        self._stalled: deque[Connection] = deque()
        self._making_room: asyncio.TimerHandle | None = None
        self._stopping_since_s: float | None = None
        self._noted = Seldom()

    def has_room(self) -> bool:
        """Whether a connection that has just been made may stay, if only at the cost of another one."""
        above = len(self.connections) - self.most
        if above > self.most:
            self._note("Connections are refused: all %d places are taken, by clients that are served", self.most)
            return False
        if above > 0 and self._making_room is None:
            self._making_room = asyncio.get_running_loop().call_later(_MOMENT_S, self._make_room)
        return True

    def _note(self, message: str, *arguments: object) -> None:
        """Log it, unless the same was logged a moment ago."""
        if self._noted.passes(message):
            log.warning(message, *arguments)

    def _make_room(self) -> None:
        self._making_room = None
        self._note("All %d connections are taken: clients that let us wait make way for new ones", self.most)
        while len(self.connections) > self.most:
            victim = next(iter(self.waiting), None) or self._next_stalled()
            if victim is None:
                return
            self.waiting.pop(victim, None)
            self.connections.discard(victim)
            victim.give_way()

    def may_tell(self) -> bool:
        """Whether there is room to tell one more that it is refused."""
        return len(self.refused) < self.most // _REFUSED_SHARE

    def stop(self) -> None:
        """The server ends: wait for nobody who does nothing, and for nobody at last."""
        self._stopping_since_s = asyncio.get_running_loop().time()

    async def watch(self) -> None:
        """Look at every connection now and then, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.patience.sweep_s)
            now_s = loop.time()
            everybody: list[Connection] = [*self.connections, *self.refused]  # type: ignore[list-item]  # uvicorn's set names its own
            for connection in everybody:
                connection.check(now_s)
            stopping = self._stopping_since_s is not None
            tolerated_s = _STOPPING_STALLED_S if stopping else self.patience.stalled_s
            stalled = [(item.stalled_since(), item) for item in everybody]
            oldest = [(since, item) for since, item in stalled if since is not None and since < now_s - tolerated_s]
            self._stalled = deque(item for _, item in sorted(oldest, key=lambda pair: pair[0]))
            if self._stopping_since_s is not None:
                is_late = now_s > self._stopping_since_s + _STOPPING_S
                for connection in everybody if is_late else self._stalled:
                    connection.give_way()

    def _next_stalled(self) -> Connection | None:
        while self._stalled:
            item = self._stalled.popleft()
            if item in self.connections and item.stalled_since() is not None:
                return item
        return None


def raise_descriptor_limit() -> int:
    """Let the process open as many files as it is allowed to; how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS refuses more than its kernel's own bound
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _ENOUGH_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def most_connections(descriptors: int) -> int:
    """How many connections a process that may open so many files can serve."""
    reserved = min(_RESERVED_DESCRIPTORS, int(descriptors * _RESERVED_SHARE))
    return max(_FEWEST_CONNECTIONS, min(MAX_CONNECTIONS, (descriptors - reserved) // _DESCRIPTORS_EACH))
