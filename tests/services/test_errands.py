"""Changes of many documents, as the process that makes them and the others tell of them."""

import asyncio
from collections.abc import Callable

from front_door import until
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.ports import Topic
from mcp_knowledge.services import errands
from mcp_knowledge.services.bulk import BulkOutcome, Told
from mcp_knowledge.services.errands import Errand, Errands, errand_in

COUNTS = st.integers(0, 10**6)
OUTCOMES = st.builds(
    BulkOutcome,
    COUNTS,
    st.dictionaries(st.sampled_from(["DOCUMENT_NOT_FOUND", "DOCUMENT_BUSY", "DOCUMENT_EXISTS"]), COUNTS),
    st.none() | st.integers(1, 10**14),
)


class Line:
    """Carries what one says straight to the other."""

    reaches_others = True

    def __init__(self) -> None:
        self.hearers: list[Callable[[str], None]] = []
        self.other: Line = self

    def hear(self, topic: Topic, heard: Callable[[str], None]) -> None:
        self.hearers.append(heard)

    def send(self, message: str) -> None:
        for heard in self.other.hearers:
            heard(message)

    async def run(self) -> None: ...

    async def stop(self) -> None: ...


def two_processes() -> tuple[Errands, Errands]:
    one, other = Line(), Line()
    one.other, other.other = other, one
    return Errands(one), Errands(other)


@given(
    st.builds(Errand, st.sampled_from(["removed", "samples-added"]), COUNTS, done=COUNTS, outcome=st.none() | OUTCOMES)
)
def test_what_is_told_of_a_change_says_all_of_it(errand: Errand) -> None:
    assert errand_in(errand.message()) == errand
    assert len(errand.message()) <= 200


@given(st.text() | st.from_regex(r"errand:[0-9a-f]{16}:.*"))
def test_anything_else_that_is_said_is_no_change(message: str) -> None:
    errand = errand_in(message)
    assert errand is None or errand.message().startswith("errand:")


async def test_another_process_knows_how_far_a_change_is_and_what_came_of_it() -> None:
    one, other = two_processes()
    may_end = asyncio.Event()

    async def work(told: Told) -> BulkOutcome:
        told(100)
        await may_end.wait()
        return BulkOutcome(299, {"DOCUMENT_NOT_FOUND": 1}, 1_700_000_000_000)

    started = await one.run("removed", 300, work, 0.01)
    seen = other.get(started.id)
    assert seen is not None and (seen.name, seen.done, seen.total, seen.ended) == ("removed", 100, 300, False)
    may_end.set()
    await until(lambda: ended(other, started.id))
    assert other.get(started.id) == one.get(started.id)
    seen = other.get(started.id)
    assert seen is not None and seen.outcome == BulkOutcome(299, {"DOCUMENT_NOT_FOUND": 1}, 1_700_000_000_000)


async def test_a_change_of_a_process_that_has_fallen_silent_is_not_waited_for() -> None:
    one, other = two_processes()
    never = asyncio.Event()

    async def work(told: Told) -> BulkOutcome:
        await never.wait()
        raise AssertionError

    started = await one.run("tagged", 3, work, 0)
    assert other.get(started.id) is not None
    other._heard_s[started.id] -= errands._SILENCE_S
    assert other.get(started.id) is None and one.get(started.id) is not None
    await one.close()
    await until(lambda: ended(other, started.id))  # one that stops in order says so


def ended(process: Errands, errand_id: str) -> bool:
    errand = process.get(errand_id)
    return errand is not None and errand.ended


async def test_a_change_that_is_broken_off_is_told_as_such() -> None:
    one, other = two_processes()

    async def work(told: Told) -> BulkOutcome:
        told(1)
        raise RuntimeError("a fault")

    ended = await one.run("moved", 2, work, 5)
    assert ended.broken_off and other.get(ended.id) == ended


async def test_the_newest_changes_are_kept_and_those_under_way() -> None:
    one, other = two_processes()
    never = asyncio.Event()

    async def waits(told: Told) -> BulkOutcome:
        await never.wait()
        raise AssertionError

    async def at_once(told: Told) -> BulkOutcome:
        return BulkOutcome(1, {})

    under_way = await one.run("tagged", 1, waits, 0)
    ended = [await one.run("tagged", 1, at_once, 5) for _ in range(errands._KEPT + 5)]
    for process in (one, other):
        assert process.get(under_way.id) is not None and process.get(ended[-1].id) == ended[-1]
        assert process.get(ended[0].id) is None
    await one.close()
