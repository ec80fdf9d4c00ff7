"""Locks as PostgreSQL's advisory locks of one connection: the server frees them when that ends."""

import asyncio
import logging
import time
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from mcp_knowledge.adapters.postgres.session import Session
from mcp_knowledge.errors import KnowledgeError

log = logging.getLogger(__name__)

_LOOK_S = 5.0  # between two looks whether the connection still stands
# Somebody who has lost the connection has it back sooner, and is not taken for dead.
_PATIENCE_S = 10.0
_NOT_HELD = -1  # by no connection
_TAKE = "SELECT pg_try_advisory_lock(%s, %s)"
_GIVE = "SELECT pg_advisory_unlock(%s, %s)"
_ALL = """
    SELECT classid::bigint, objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


@dataclass(slots=True, eq=False)
class _Hold:
    """Who holds a lock for the time of a block."""

    task: "asyncio.Task[object]"
    taken: bool = False
    lost: bool = False


class PostgresLocks:
    """The `Locks` port.

    Args:
        session: the connection that holds the locks.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        session.when_lost = self._lose
        self._holds: dict[str, _Hold] = {}
        self._kept: dict[str, int] = {}  # and the number of the connection that holds them
        self._missing_since_s: dict[str, float] = {}
        self._watch: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[bool]:
        """Hold a lock while the block runs if it is free; whether it is.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE; in the midst of the block when the connection was lost.
        """
        task = asyncio.current_task()
        assert task is not None
        if name in self._holds:  # one connection may take its own lock twice
            yield False
            return
        hold = self._holds[name] = _Hold(task)
        try:
            hold.taken = await self._take(name)
            if hold.taken:
                self._look_after()
            yield hold.taken
        except asyncio.CancelledError:
            if hold.lost and task.uncancel() == 0:
                raise KnowledgeError("SERVICE_UNAVAILABLE", "The connection to the database was lost.") from None
            raise
        finally:
            del self._holds[name]
            if hold.taken and not hold.lost:
                await self._give(name)

    async def keep(self, name: str) -> None:
        """Hold a lock that nobody else wants until `drop`; it is taken anew after the connection was lost."""
        self._kept[name] = _NOT_HELD
        self._look_after()
        await self._keep_all()

    async def drop(self, name: str) -> None:
        """Give back what `keep` holds."""
        if self._kept.pop(name, _NOT_HELD) == self._session.number:
            await self._give(name)

    async def free(self, names: Iterable[str]) -> set[str]:
        """Those that nobody has held for ten seconds, as far as this process has looked."""
        wanted = set(names)
        if not wanted:
            return set()
        taken = {(row[0], row[1]) for row in await self._session.fetch(_ALL)}
        missing = {name for name in wanted if tuple(map(_unsigned, _keys(name))) not in taken}
        now, kinds = time.monotonic(), {_kind(name) for name in wanted}
        since_s = {name: self._missing_since_s.get(name, now) for name in missing}
        # Of other kinds somebody else has asked, who goes on from what was seen then.
        others = {name: since for name, since in self._missing_since_s.items() if _kind(name) not in kinds}
        self._missing_since_s = others | since_s
        return {name for name, since in since_s.items() if now - since >= _PATIENCE_S}

    async def anybody_holds(self, kind: str) -> bool:
        """Whether some process holds a lock of this kind."""
        wanted = _unsigned(_hash(kind))
        return any(row[0] == wanted for row in await self._session.fetch(_ALL))

    async def close(self) -> None:
        """Look after nothing any more."""
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch

    async def _take(self, name: str) -> bool:
        return bool((await self._session.fetch(_TAKE, _keys(name)))[0][0])

    async def _give(self, name: str) -> None:
        await self._session.fetch_if_open(_GIVE, _keys(name))

    async def _keep_all(self) -> None:
        for name, number in list(self._kept.items()):
            if number != self._session.number and await self._take(name) and name in self._kept:
                self._kept[name] = self._session.number

    def _look_after(self) -> None:
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """Notice a lost connection that nobody happens to use, while something is held."""
        while self._holds or self._kept:
            await asyncio.sleep(_LOOK_S)
            try:
                await self._session.fetch("SELECT 1")
                await self._keep_all()
            except KnowledgeError as error:
                log.warning("Locks of the database are lost until it answers again", exc_info=error.__cause__)

    def _lose(self) -> None:
        for hold in self._holds.values():
            if hold.taken and not hold.lost:
                hold.lost = True
                hold.task.cancel()


def _hash(text: str) -> int:
    """A signed number of 32 bits."""
    value = zlib.crc32(b"mcp-knowledge " + text.encode())
    return value - 2**32 if value >= 2**31 else value


def _kind(name: str) -> str:
    return name.partition("/")[0]


def _keys(name: str) -> tuple[int, int]:
    """The two numbers of an advisory lock: its kind's, and its own."""
    return _hash(_kind(name)), _hash(name)


def _unsigned(value: int) -> int:
    return value % 2**32
