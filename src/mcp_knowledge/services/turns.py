"""A few calls at a time, the others in the order in which they came; those that wait for the same share one."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from mcp_knowledge.services.looks import forget_failure

T = TypeVar("T")


class Turns(Generic[T]):
    """Hands out turns.

    Whoever asks for what another caller is still waiting for gets that one's result. What is already at work is never
    shared: it may have looked before a change that the new caller knows of.

    Args:
        at_once: calls that are at work at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._waiting: dict[Hashable, asyncio.Task[T]] = {}

    async def take(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """The result of `work`, or of the same work that began after this call.

        Args:
            key: equal for calls whose results are the same at the same moment.
        """
        if not self._free.locked():
            async with self._free:
                return await work()
        task = self._waiting.get(key)
        if task is None:
            task = self._waiting[key] = asyncio.create_task(self._in_turn(key, work))
            task.add_done_callback(forget_failure)
        return await asyncio.shield(task)  # whoever gives up does not take it from the others

    async def _in_turn(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        try:
            await self._free.acquire()
        finally:
            del self._waiting[key]
        try:
            return await work()
        finally:
            self._free.release()
