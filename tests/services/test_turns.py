"""Turns: few at a time, first come first served, the same work done once for all who wait for it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from front_door import until

from mcp_knowledge.services.turns import Turns


class Worker:
    """Work that ends when it is let go, and counts who was at it."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = asyncio.Event()
        self.at_work = self.most = 0

    def on(self, name: str) -> Callable[[], Awaitable[str]]:
        async def work() -> str:
            self.begun.append(name)
            self.at_work += 1
            self.most = max(self.most, self.at_work)
            try:
                await self.go_on.wait()
            finally:
                self.at_work -= 1
            if name == "wrong":
                raise ZeroDivisionError
            return f"{name} {len(self.begun)}"

        return work


def asked(turns: Turns[str], worker: Worker, *names: str) -> list["asyncio.Task[str]"]:
    return [asyncio.create_task(turns.take(name, worker.on(name))) for name in names]


async def test_others_wait_and_are_served_in_the_order_in_which_they_came() -> None:
    turns, worker = Turns[str](2), Worker()
    calls = asked(turns, worker, *"abcdefg")
    await until(lambda: worker.begun == ["a", "b"])

    worker.go_on.set()
    await asyncio.gather(*calls)

    assert (worker.begun, worker.most) == (list("abcdefg"), 2)


async def test_who_waits_for_the_same_shares_it_but_not_with_what_had_begun_before() -> None:
    turns, worker = Turns[str](1), Worker()
    calls = asked(turns, worker, "same", "same", "same", "other", "same")
    await until(lambda: worker.begun == ["same"])

    worker.go_on.set()

    assert len(set(await asyncio.gather(*calls[1:3], calls[4]))) == 1
    assert worker.begun == ["same", "same", "other"]
    assert await calls[0] != await calls[1]


async def test_who_gives_up_takes_nothing_from_the_others() -> None:
    turns, worker = Turns[str](1), Worker()
    calls = asked(turns, worker, "first", "same", "same", "last")
    await until(lambda: worker.begun == ["first"])

    calls[0].cancel()
    calls[1].cancel()
    worker.go_on.set()

    assert [await calls[2], await calls[3]] == ["same 2", "last 3"]


async def test_a_failure_is_told_to_all_who_waited_and_the_next_one_has_its_turn() -> None:
    turns, worker = Turns[str](1), Worker()
    calls = asked(turns, worker, "first", "wrong", "wrong", "last")
    await until(lambda: worker.begun == ["first"])
    worker.go_on.set()

    for call in calls[1:3]:
        with pytest.raises(ZeroDivisionError):
            await call
    assert await calls[3] == "last 3"
