"""A database or storage that cannot be used: nobody's fault, and over in the end without anything lost or stuck."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

import pytest
from ingest_kit import Bench, open_bench, until
from outage_kit import BrittleDatabase, short_pauses

from mcp_knowledge.domain.documents import Job
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import ingest, outages, workload
from mcp_knowledge.services.outages import MAX_QUICK_CLAIMS, Outage, put_off_ms
from mcp_knowledge.settings import Settings

__all__ = ["short_pauses"]
UNAVAILABLE = KnowledgeError("SERVICE_UNAVAILABLE")


@pytest.fixture
def database(settings: Settings) -> BrittleDatabase:
    return BrittleDatabase(settings.database_path)


@pytest.fixture
async def bench(settings: Settings, database: BrittleDatabase, short_pauses: None) -> AsyncIterator[Bench]:
    async with open_bench(settings, database) as made:
        yield made


def outage_of(bench: Bench) -> Outage:
    return bench.worker._load.outage


async def attempts_left(bench: Bench, document_id: str) -> int:
    """How many the job would still have if its present one failed."""
    job = await bench.job(document_id)
    return job.max_attempts - job.attempt


async def assert_ready_and_nothing_counted(bench: Bench, ids: list[str]) -> None:
    for document_id in ids:
        document, job = await bench.document(document_id), await bench.job(document_id)
        assert (document.status, document.latest_error, job.status) == ("ready", None, "completed")
        assert await attempts_left(bench, document_id) == 2
        assert len(await bench.texts(document_id)) == document.chunk_count == 1


@pytest.mark.parametrize("error", [UNAVAILABLE, OSError(errno.ENOSPC, "No space left"), OSError(errno.EIO, "I/O")])
async def test_an_outage_of_the_storage_uses_up_no_attempt(bench: Bench, error: Exception) -> None:
    bench.parser.faults["doc.txt"] = [error] * 7
    document_id = await bench.upload("doc", "Here at last.")
    await bench.worker.drain()
    await assert_ready_and_nothing_counted(bench, [document_id])
    assert (await bench.job(document_id)).attempt == 8


async def test_a_long_outage_of_the_database_leaves_nothing_failed_or_stuck(
    bench: Bench, database: BrittleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_CARE_S", 0.01)
    ids = [await bench.upload(f"d{number}", f"Text number {number}.") for number in range(20)]
    bench.embedder.gate.clear()
    async with bench.working():
        await until(lambda: len(bench.embedder.calls) == 2)
        database.down = True
        bench.embedder.gate.set()
        await until(lambda: not bench.worker.busy)
        await until(lambda: outage_of(bench)._pauses >= 3)
        database.down = False
        await until(lambda: sum(map(len, bench.store.groups)) >= 20)
        for document_id in ids:
            await until(partial(bench.is_ready, document_id))
    await assert_ready_and_nothing_counted(bench, ids)


async def test_no_job_is_claimed_while_an_outage_lasts_and_then_first_a_single_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, limits = bench.queue.claim, list[int]()
    healthy = False

    async def watched(worker: str, limit: int, lease_ms: int) -> list[Job]:
        jobs = await claim(worker, limit, lease_ms)
        limits.extend([limit] if jobs else [])
        return jobs

    async def is_healthy() -> bool:
        return healthy

    monkeypatch.setattr(bench.queue, "claim", watched)
    monkeypatch.setattr(bench.blobs, "healthy", is_healthy)
    bench.parser.faults["first.txt"] = [UNAVAILABLE]
    first = await bench.upload("first", "One text.")
    async with bench.working():
        await until(lambda: outage_of(bench)._pauses >= 3)
        others = [await bench.upload(f"d{number}", f"Text {number}.") for number in range(3)]
        await until(lambda: outage_of(bench)._pauses >= 6)
        assert limits == [ingest._MOST_JOBS]
        healthy = True
        for document_id in [first, *others]:
            await until(partial(bench.is_ready, document_id))
    assert limits[1] == 1
    assert outage_of(bench)._pauses == 0


async def test_a_delete_waits_for_the_storage_and_then_goes_through(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = await bench.upload("doomed", "Some text.")
    await bench.worker.drain()
    delete, failures = bench.blobs.delete, [OSError(errno.EIO, "I/O")] * 15  # more than the attempts that it has

    async def failing(key: str) -> None:
        if failures:
            raise failures.pop()
        await delete(key)

    monkeypatch.setattr(bench.blobs, "delete", failing)
    await bench.store.delete_document(document_id)
    await bench.worker.drain()
    assert (await bench.job(document_id)).status == "completed"
    assert await bench.keys() == [] and await bench.store.get_document(document_id) is None


async def test_a_file_that_is_at_fault_fails_even_if_that_cannot_be_written_at_first(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail, failures = bench.queue.fail, [UNAVAILABLE] * 4

    async def failing(job: Job, code: str, message: str, retry_after_ms: int | None) -> bool:
        if failures:
            raise failures.pop()
        return await fail(job, code, message, retry_after_ms)

    monkeypatch.setattr(bench.queue, "fail", failing)
    bench.parser.faults["bad.txt"] = [KnowledgeError("DOCUMENT_MALFORMED")] * 5
    document_id = await bench.upload("bad", "x")
    await bench.worker.drain()
    assert not failures
    assert str((await bench.document(document_id)).latest_error).startswith("DOCUMENT_MALFORMED")
    assert (await bench.job(document_id)).status == "failed"


async def test_jobs_whose_claim_was_committed_without_an_answer_are_taken_back(
    bench: Bench, database: BrittleDatabase
) -> None:
    ids = [await bench.upload(f"d{number}", f"Text {number}.") for number in range(5)]
    database.lost_answers = 1
    await bench.worker.drain()
    assert not database.lost_answers
    await assert_ready_and_nothing_counted(bench, ids)


async def test_a_document_whose_index_was_committed_without_an_answer_is_not_written_again(
    bench: Bench, database: BrittleDatabase
) -> None:
    bench.embedder.gate.clear()
    document_id = await bench.upload("doc", "Some text.")
    async with bench.working():
        await until(lambda: bench.embedder.calls)
        database.lost_answers = 1
        bench.embedder.gate.set()
        await until(lambda: outage_of(bench).ended)
    assert bench.store.groups == [["doc"]] and not database.lost_answers
    assert (await bench.job(document_id)).attempt == 1
    await assert_ready_and_nothing_counted(bench, [document_id])


async def test_a_large_document_goes_on_through_an_outage(
    bench: Bench, database: BrittleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_knowledge.services.embedding._KEPT_PASSAGES", 1)
    bench.embedder.closes_after = 2
    text = "\n".join(f"Paragraph {number}: " + "some words of it " * 60 for number in range(120))
    document_id = await bench.upload("large", text)
    async with bench.working():
        await until(lambda: len(bench.embedder.calls) >= 2)
        database.down = True
        bench.embedder.closes_after = 4
        bench.embedder.gate.set()
        await until(lambda: outage_of(bench).here)
        database.down = False
        await until(lambda: not outage_of(bench).here)
        bench.embedder.gate.set()
        await until(lambda: bench.is_ready(document_id))
    assert (await bench.job(document_id)).attempt == 1
    assert len(bench.embedder.texts) == (await bench.document(document_id)).chunk_count


async def test_a_stop_during_an_outage_does_not_wait_for_its_end(
    bench: Bench, database: BrittleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "_FIRST_PAUSE_S", 3600)
    monkeypatch.setattr(outages, "_LONGEST_PAUSE_S", 3600)
    document_id = await bench.upload("doc", "Some text.")
    bench.embedder.gate.clear()
    running = asyncio.create_task(bench.worker.run())
    await until(lambda: bench.embedder.calls)
    database.down = True
    bench.embedder.gate.set()
    await until(lambda: outage_of(bench).here and not bench.worker.busy)
    async with asyncio.timeout(5):
        await bench.worker.stop()
        await running
    database.down = False
    assert (await bench.job(document_id)).status == "running"  # in the name of a worker that has ended
    bench.worker = bench.new_worker()
    async with bench.working():
        await until(lambda: bench.is_ready(document_id))
    await assert_ready_and_nothing_counted(bench, [document_id])


async def test_a_stop_does_not_wait_for_a_database_that_hangs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_FINISH_S", 0.05)
    monkeypatch.setattr(workload, "_HAND_BACK_S", 0.05)
    bench.embedder.gate.clear()
    await bench.upload("doc", "Some text.")
    running = asyncio.create_task(bench.worker.run())
    await until(lambda: bench.embedder.calls)

    async def hang(job: Job, after_ms: int = 0) -> bool:
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(bench.queue, "release", hang)
    async with asyncio.timeout(5):
        await bench.worker.stop()
        await running
    bench.embedder.gate.set()


def test_a_job_that_always_meets_an_outage_waits_longer_each_time_and_in_the_end_very_long() -> None:
    waits = [put_off_ms(claims) for claims in range(1, MAX_QUICK_CLAIMS + 2)]
    assert waits[:6] == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]
    assert set(waits[6 : MAX_QUICK_CLAIMS - 1]) == {30_000}
    assert waits[-2:] == [3_600_000] * 2


async def test_the_pauses_grow_until_a_job_has_ended_well(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float | None] = []
    real = asyncio.timeout

    def noted(delay: float | None) -> asyncio.Timeout:
        pauses.append(delay)
        return real(0)

    outage, stopped = Outage(bench.queue.next_due_ms, bench.blobs), asyncio.Event()
    monkeypatch.setattr(outages, "_FIRST_PAUSE_S", 1.0)
    monkeypatch.setattr(outages, "_LONGEST_PAUSE_S", 30.0)
    monkeypatch.setattr(outages, "_PROBE_S", None)
    answers = iter([False] * 6 + [True] * 3)

    async def answer() -> bool:
        return next(answers)

    monkeypatch.setattr(outage, "_answer", answer)
    monkeypatch.setattr(asyncio, "timeout", noted)
    assert outage.note(UNAVAILABLE) and not outage.note(KnowledgeError("DOCUMENT_EMPTY"))
    with suppress(StopIteration):
        await outage.outlast(stopped)
        outage.note(UNAVAILABLE)
        await outage.outlast(stopped)
        outage.forget()
        outage.note(UNAVAILABLE)
        await outage.outlast(stopped)
    monkeypatch.undo()
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30, 1]
