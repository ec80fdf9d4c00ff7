"""What works beside the requests."""

import asyncio
from typing import Protocol


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
                group.create_task(loop.run())

    async def stop(self) -> None:
        """Stop all of them at the same time."""
        await asyncio.gather(*(loop.stop() for loop in self._loops))
