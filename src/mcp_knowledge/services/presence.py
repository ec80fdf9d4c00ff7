"""Which processes are at work."""

import asyncio
import logging

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Locks

log = logging.getLogger(__name__)

_WORKING, _ANSWERING = "server", "api"  # kinds of locks


class Presence:
    """Says to other processes that this one is there, while it runs.

    Args:
        name: of this process; no other one ever has it.
        works: whether it sees queued work through.
    """

    def __init__(self, locks: Locks, name: str, *, works: bool = True) -> None:
        self._locks = locks
        self._lock = f"{_WORKING if works else _ANSWERING}/{name}"
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Be there until `stop`."""
        try:
            await self._locks.keep(self._lock)
        except KnowledgeError as error:
            log.warning("The database does not answer; other processes learn of this one when it does: %s", error)
        try:
            await self._stopped.wait()
        finally:
            await self._locks.drop(self._lock)

    async def stop(self) -> None:
        """End `run`."""
        self._stopped.set()

    async def somebody_works(self) -> bool:
        """Whether a server or worker process runs, so that queued work is seen through without this process."""
        return await self._locks.anybody_holds(_WORKING)

    async def somebody_serves(self) -> bool:
        """Whether any server runs, also one that only answers."""
        return await self.somebody_works() or await self._locks.anybody_holds(_ANSWERING)
