"""Questions to a part that may hang: bounded for whoever asks, and never more than one at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Look(Generic[T]):
    """One question. Whoever asks it while it is being answered waits for the same answer.

    Args:
        ask: asks it; goes on when those who waited for the answer have left.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[T] | None = None

    async def answer(self, patience_s: float) -> T:
        """What the part says. Raises TimeoutError when it says nothing in time, and what the question raises."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._asked())
            self._asking.add_done_callback(forget_failure)
        async with asyncio.timeout(patience_s):
            return await asyncio.shield(self._asking)

    async def _asked(self) -> T:
        return await self._ask()


def forget_failure(task: "asyncio.Task[T]") -> None:
    """Callback of a task that nobody may be waiting for any more: then its failure is none of ours."""
    if not task.cancelled():
        task.exception()
