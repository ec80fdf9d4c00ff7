"""What works beside the requests."""

import asyncio
import logging
from typing import Protocol

from mcp_knowledge.services.log_context import about

log = logging.getLogger(__name__)


class Loop(Protocol):
    """Work that goes on until it is told to stop."""

    async def run(self) -> None:
        """Work until `stop`."""
        ...

    async def stop(self) -> None:
        """Finish or hand back; within 10 seconds."""
        ...


class Background:
    """Several loops with one life."""

    def __init__(self, *loops: Loop) -> None:
        self._loops = loops

    async def run(self) -> None:
        """Run all of them until `stop`. The failure of one ends all."""
        async with asyncio.TaskGroup() as group:
            for loop in self._loops:
                group.create_task(_run(loop))

    async def stop(self) -> None:
        """Stop all of them at the same time."""
        await asyncio.gather(*(loop.stop() for loop in self._loops))


async def _run(loop: Loop) -> None:
    with about(loop=type(loop).__name__):
        try:
            await loop.run()
        except Exception:
            log.critical("A loop in the background has failed: this process works on nothing until it is restarted")
            raise
