"""Events of this process, and of others that are told of by reference."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest_kit import until

from mcp_knowledge.domain.documents import Document, new_id
from mcp_knowledge.domain.evaluations import Run, RunSettings
from mcp_knowledge.domain.folder import ScanStatus
from mcp_knowledge.ports import Event, Topic
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.references import EventKind, Reference, ReferenceReader, reference_in


class Wire:
    """Carries what any process sends to all others at once."""

    def __init__(self) -> None:
        self.ends: list[WireEnd] = []
        self.sent: list[str] = []


class WireEnd:
    reaches_others = True

    def __init__(self, wire: Wire) -> None:
        self._wire, self.hearers = wire, list[Callable[[str], None]]()
        wire.ends.append(self)

    def hear(self, topic: Topic, heard: Callable[[str], None]) -> None:
        self.hearers.append(heard)

    def send(self, message: str) -> None:
        self._wire.sent.append(message)
        for end in self._wire.ends:
            if end is not self:
                for heard in end.hearers:
                    heard(message)

    async def run(self) -> None: ...

    async def stop(self) -> None: ...


class Shelf:
    """Documents as they are now, by id; counts how often it is read."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.runs: dict[str, Run] = {}
        self.reads: list[list[str]] = []
        self.fault: Exception | None = None

    async def get(self, ids: Iterable[str]) -> dict[str, Document]:
        self.reads.append(sorted(ids))
        if self.fault is not None:
            raise self.fault
        return {item: self.documents[item] for item in ids if item in self.documents}

    async def none(self, ids: Iterable[str]) -> dict[str, object]:
        return {}

    async def get_runs(self, ids: Iterable[str]) -> dict[str, Run]:
        return {item: self.runs[item] for item in ids if item in self.runs}

    async def scan(self) -> ScanStatus:
        return ScanStatus("completed", current_path="now")

    def reader(self) -> ReferenceReader:
        return ReferenceReader(self.get, self.none, self.none, self.get_runs, self.scan)  # type: ignore[arg-type]  # of nothing


@dataclass(frozen=True)
class Titled:
    """As much of a document as events look at."""

    id: str
    title: str


def document(document_id: str, title: str = "A title") -> Document:
    return cast(Document, Titled(document_id, title))


class Reader:
    """Follows events until it is stopped."""

    def __init__(self, events: Events, last_id: str | None = None) -> None:
        self.seen: list[Event] = []
        self._task = asyncio.create_task(self._follow(events, last_id))

    async def _follow(self, events: Events, last_id: str | None) -> None:
        async for batch in events.follow(last_id):
            self.seen.extend(batch)

    @property
    def data(self) -> Sequence[object]:
        return [event.data for event in self.seen]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def two(shelf: Shelf) -> tuple[Events, Events, Wire]:
    wire = Wire()
    return Events(WireEnd(wire), shelf.reader()), Events(WireEnd(wire), shelf.reader()), wire


async def test_a_change_of_another_process_is_read_as_it_is_now(shelf: Shelf, two: tuple[Events, Events, Wire]) -> None:
    worker, api, _ = two
    reader = Reader(api)
    await until(lambda: api.reader_count)
    one, other = new_id("doc"), new_id("doc")
    shelf.documents[one] = document(one, "as it is now")
    worker.publish("document", document(one, "as it was"))
    worker.refer("document", other)
    worker.publish("document", {"purged": True})
    worker.publish("scan", ScanStatus("scanning"))
    await until(lambda: len(reader.seen) == 4)
    expected = [shelf.documents[one], {"id": other, "status": "deleted"}, {"purged": True}]
    assert reader.data == [*expected, ScanStatus("completed", current_path="now")]


async def test_runs_of_another_process_are_read_and_deleted_ones_left_out(
    shelf: Shelf, two: tuple[Events, Events, Wire]
) -> None:
    here, api, _ = two
    reader = Reader(api)
    await until(lambda: api.reader_count)
    queued, gone = (
        Run(new_id("run"), "evs_1", "r", RunSettings(), "queued", 0, 0, {}, "generation:1", None, None, 1, None)
        for _ in range(2)
    )
    shelf.runs[queued.id] = replace(queued, state="running", done=7, total=9)
    here.publish("evaluation", gone)
    here.publish("evaluation", queued)
    await until(lambda: reader.seen)
    assert reader.data == [shelf.runs[queued.id]]


async def test_many_changes_of_one_thing_are_read_once(shelf: Shelf, two: tuple[Events, Events, Wire]) -> None:
    worker, api, _ = two
    reader = Reader(api)
    await until(lambda: api.reader_count)
    one = new_id("doc")
    shelf.documents[one] = document(one)
    for _ in range(50):
        worker.refer("document", one)
    await until(lambda: reader.seen)
    assert shelf.reads == [[one]] and len(reader.seen) == 1


async def test_nothing_is_read_while_nobody_follows_and_nothing_but_references_is_told(
    shelf: Shelf, two: tuple[Events, Events, Wire]
) -> None:
    worker, api, wire = two
    one = new_id("doc")
    worker.publish("document", document(one, "a secret title"))
    await asyncio.sleep(0)
    assert shelf.reads == [] and api.reader_count == 0
    (message,) = wire.sent
    assert message.startswith(f"document:{one}:evt_") and len(message) <= 200


async def test_who_comes_back_at_another_process_gets_what_was_missed_in_order(
    shelf: Shelf, two: tuple[Events, Events, Wire]
) -> None:
    worker, api, _ = two
    ids = [new_id("doc") for _ in range(4)]
    shelf.documents = {item: document(item) for item in ids}
    here = Reader(worker)
    await until(lambda: worker.reader_count)
    for item in ids:
        worker.publish("document", shelf.documents[item])
    await until(lambda: len(here.seen) == 4)
    there = Reader(api, here.seen[1].id)
    await until(lambda: len(there.seen) == 2)
    assert [event.id for event in there.seen] == [event.id for event in here.seen[2:]]


async def test_an_event_that_came_late_is_not_missed_at_another_process(
    shelf: Shelf, two: tuple[Events, Events, Wire]
) -> None:
    worker, api, _ = two
    one = new_id("doc")
    worker.refer("document", one)
    reader = Reader(api, new_id("evt"))  # of a third process, whose clock is a little ahead
    await until(lambda: len(reader.seen) == 1)
    assert reader.data == [{"id": one, "status": "deleted"}]


async def test_a_database_that_is_away_costs_events_but_no_reader(
    shelf: Shelf, two: tuple[Events, Events, Wire]
) -> None:
    worker, api, _ = two
    reader = Reader(api)
    await until(lambda: api.reader_count)
    shelf.fault = RuntimeError("away")
    worker.refer("document", new_id("doc"))
    await until(lambda: shelf.reads)
    shelf.fault = None
    later = new_id("doc")
    worker.refer("document", later)
    await until(lambda: reader.seen)
    assert reader.data == [{"id": later, "status": "deleted"}]


async def test_in_one_process_a_reader_that_returns_gets_what_nobody_had_at_hand(shelf: Shelf) -> None:
    events = Events(look_up=shelf.reader())
    one = new_id("doc")
    shelf.documents[one] = document(one)
    before = new_id("evt")
    events.refer("document", one)
    reader = Reader(events, before)
    await until(lambda: reader.seen)
    assert reader.data == [shelf.documents[one]]


@given(st.text(max_size=100))
def test_what_is_no_reference_is_passed_over(text: str) -> None:
    found = reference_in(text)
    assert found is None or found.message() == text


@pytest.mark.parametrize("kind", ["document", "job", "archive", "scan"])
def test_a_reference_survives_being_told(kind: EventKind) -> None:
    subject = "-" if kind == "scan" else new_id("doc")
    reference = Reference(new_id("evt"), kind, subject)
    assert reference_in(reference.message()) == reference


async def test_many_readers_are_woken_once_for_what_comes_at_about_the_same_time() -> None:
    events = Events()
    batches: list[list[Event]] = []

    async def count() -> None:
        async for batch in events.follow():
            batches.append(batch)

    readers = [asyncio.create_task(count()) for _ in range(200)]
    await until(lambda: events.reader_count == 200)
    for n in range(12):
        events.publish("job", {"n": n})
        await asyncio.sleep(0)  # as it is while a document goes through its stages
    await until(lambda: sum(map(len, batches)) == 12 * 200)
    assert len(batches) == 200 and all(
        [event.data for event in batch] == [{"n": n} for n in range(12)] for batch in batches
    )
    events.close()
    await asyncio.gather(*readers)
