"""The ingest worker: every path a job can take, over a real store and queue."""

import asyncio
import logging
import math
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ingest_kit import NAME, Bench, open_bench, until

from mcp_knowledge.adapters.file_locks import FileLocks
from mcp_knowledge.domain.documents import Document, Job
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.services import embedding, ingest, workload
from mcp_knowledge.services.cleanup import WORKER_LOCK, release_abandoned_jobs, remove_orphan_blobs, workers_gone
from mcp_knowledge.settings import Settings, load_settings


async def job_is(bench: Bench, document_id: str, status: str) -> bool:
    return (await bench.job(document_id)).status == status


async def stage_is(bench: Bench, document_id: str, stage: str) -> bool:
    progress = (await bench.document(document_id)).progress
    return progress is not None and progress.stage == stage


async def lease_ends_after(bench: Bench, moment_ms: int) -> bool:
    return (await bench.queue.next_due_ms() or 0) >= moment_ms


LONG_TEXT = "\n".join(f"Paragraph {number}: " + "some words of it " * 12 for number in range(3000))


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_RETRY_AFTER_MS", (1, 2))
    monkeypatch.setattr(ingest, "_POLL_S", 0.01)


@pytest.fixture
async def bench(settings: Settings, quick_retries: None) -> AsyncIterator[Bench]:
    async with open_bench(settings) as made:
        yield made


async def test_a_document_becomes_searchable_with_its_versions_and_events(bench: Bench) -> None:
    document_id = await bench.upload("tides", "The tide rises.")
    seen: list[str] = []

    async def follow() -> None:
        async for batch in bench.events.follow():
            seen.extend(f"{e.kind} {e.data.status}" for e in batch if isinstance(e.data, Job | Document))

    following = asyncio.create_task(follow())
    await until(lambda: bench.events.reader_count)
    await bench.worker.drain()
    document = await bench.document(document_id)
    assert (document.status, document.title, document.chunk_count) == ("ready", "tides", 1)
    assert document.metadata == {"document": {"lines": 1}}
    (revision,) = await bench.store.list_revisions(document_id)
    assert revision.versions is not None
    assert revision.versions.parser_name == "lines" and revision.versions.embedding_model == "scripted"
    job = await bench.job(document_id)
    assert (job.status, job.attempt, job.worker) == ("completed", 1, NAME)
    bench.events.close()
    await following
    assert seen[0] == "job running" and "job completed" in seen and seen[-1] == "document ready"


async def test_a_lone_document_is_not_kept_waiting_and_many_are_written_together(bench: Bench) -> None:
    bench.embedder.gate.clear()
    async with bench.working():
        for number in range(20):
            await bench.upload(f"d{number}", f"Text number {number}.")
        await until(lambda: len(bench.worker._load.passages.works) >= 8)
        bench.embedder.gate.set()
        await until(lambda: sum(map(len, bench.store.groups)) == 20)
    assert len(bench.store.groups) < 20
    assert sorted(title for group in bench.store.groups for title in group) == sorted(f"d{n}" for n in range(20))


@pytest.mark.parametrize(
    "code",
    ["DOCUMENT_MALFORMED", "DOCUMENT_ENCRYPTED", "DOCUMENT_NEEDS_OCR", "DOCUMENT_UNSUPPORTED_FORMAT", "DOCUMENT_EMPTY"],
)
async def test_what_is_the_files_fault_fails_at_once_with_the_fixed_words(bench: Bench, code: str) -> None:
    bench.parser.faults["bad.txt"] = [KnowledgeError(code, "secret path /etc/passwd")]
    document_id = await bench.upload("bad", "x")
    await bench.worker.drain()
    document, job = await bench.document(document_id), await bench.job(document_id)
    assert (document.status, document.latest_error) == ("failed", f"{code}: {ERROR_CODES[code].message}")
    assert (job.status, job.attempt, job.error) == ("failed", 1, document.latest_error)
    assert await bench.texts(document_id) == []


async def test_a_verdict_that_may_hide_a_fault_of_ours_shows_in_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    suspicious, plain = KnowledgeError("DOCUMENT_MALFORMED"), KnowledgeError("DOCUMENT_MALFORMED")
    suspicious.__cause__ = RuntimeError("IndexError at mcp_knowledge.reader:12")
    bench.parser.faults |= {"odd.txt": [suspicious], "bad.txt": [plain]}
    odd, bad = await bench.upload("odd", "x"), await bench.upload("bad", "y")
    with caplog.at_level(logging.WARNING):
        await bench.worker.drain()
    assert f"Document {odd} could not be read: IndexError at mcp_knowledge.reader:12" in caplog.text
    assert bad not in caplog.text


@pytest.mark.parametrize("code", ["INGESTION_TIMEOUT", "INGESTION_FAILED"])
async def test_a_passing_failure_is_tried_again(bench: Bench, code: str) -> None:
    bench.parser.faults["slow.txt"] = [KnowledgeError(code), KnowledgeError(code)]
    document_id = await bench.upload("slow", "Here at last.")
    await bench.worker.drain()
    assert (await bench.document(document_id)).status == "ready"
    assert (await bench.document(document_id)).latest_error is None
    assert (await bench.job(document_id)).attempt == 3


@pytest.mark.parametrize("error", [RuntimeError("boom"), OSError(13, "Permission denied")])
async def test_a_fault_of_ours_ends_after_three_attempts_and_blames_nobody(bench: Bench, error: Exception) -> None:
    bench.parser.faults["doc.txt"] = [error] * 3
    document_id = await bench.upload("doc", "x")
    await bench.worker.drain()
    document = await bench.document(document_id)
    assert document.latest_error == f"INGESTION_FAILED: {ERROR_CODES['INGESTION_FAILED'].message}"
    assert (await bench.job(document_id)).attempt == 3


async def test_a_drain_waits_for_a_job_that_fails_while_the_queue_is_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    next_due_ms = bench.queue.next_due_ms
    attempts: list[int] = []

    async def read_as_a_job_fails() -> int | None:
        due = await next_due_ms()
        job = await bench.job(document_id)
        if job.status == "running":
            await until(lambda: bench.worker.busy is False)
            attempts.append(job.attempt)
        return due

    monkeypatch.setattr(bench.queue, "next_due_ms", read_as_a_job_fails)
    bench.parser.faults["doc.txt"] = [KnowledgeError("INGESTION_FAILED")]
    document_id = await bench.upload("doc", "x")
    await bench.worker.drain()
    assert (await bench.document(document_id)).status == "ready"
    assert not attempts  # the queue is not asked while a job is at work


@pytest.mark.parametrize("damage", ["missing", "shortened"])
async def test_an_original_that_is_not_what_was_uploaded_is_told_and_changes_nothing(bench: Bench, damage: str) -> None:
    document_id = await bench.upload("hurt", "Still here.")
    await bench.worker.drain()
    (revision,) = await bench.store.list_revisions(document_id)
    path = bench.settings.blobs_path / revision.blob_key
    path.unlink() if damage == "missing" else path.write_bytes(b"Stil")

    await bench.store.reindex_document(document_id)
    await bench.worker.drain()

    document = await bench.document(document_id)
    code = "DOCUMENT_CONTENT_UNAVAILABLE"
    assert (document.status, document.latest_error) == ("ready", f"{code}: {ERROR_CODES[code].message}")
    assert await bench.texts(document_id) == ["Still here."]


async def test_a_document_without_text_is_empty(bench: Bench) -> None:
    document_id = await bench.upload("blank", "  \n \n")
    await bench.worker.drain()
    assert str((await bench.document(document_id)).latest_error).startswith("DOCUMENT_EMPTY")


async def test_too_many_chunks_are_a_resource_limit(tmp_path: Path, quick_retries: None) -> None:
    async with open_bench(load_settings(data_dir=tmp_path, max_chunks_per_document=3)) as bench:
        document_id = await bench.upload("long", LONG_TEXT)
        await bench.worker.drain()
        assert str((await bench.document(document_id)).latest_error).startswith("DOCUMENT_RESOURCE_LIMIT")


async def test_an_ingestion_that_takes_too_long_times_out(tmp_path: Path, quick_retries: None) -> None:
    async with open_bench(load_settings(data_dir=tmp_path, ingestion_timeout_ms=50)) as bench:
        bench.parser.faults["stuck.txt"] = [asyncio.Event() for _ in range(3)]
        document_id = await bench.upload("stuck", "x")
        await bench.worker.drain()
        assert str((await bench.document(document_id)).latest_error).startswith("INGESTION_TIMEOUT")
        assert (await bench.job(document_id)).attempt == 3


async def test_a_failing_model_fails_the_attempt_not_the_worker(bench: Bench) -> None:
    bench.embedder.fault = RuntimeError("no memory")
    first = await bench.upload("first", "Some text.")
    await bench.worker.drain()
    assert str((await bench.document(first)).latest_error).startswith("INGESTION_FAILED")
    bench.embedder.fault = None
    second = await bench.upload("second", "Other text.")
    await bench.worker.drain()
    assert (await bench.document(second)).status == "ready"


async def test_one_document_that_cannot_be_written_does_not_fail_the_others(bench: Bench) -> None:
    bench.store.refused = {"bad"}
    bench.embedder.gate.clear()
    async with bench.working():
        ids = [await bench.upload(name, f"Text of {name}.") for name in ("a", "b", "bad", "c", "d")]
        await until(lambda: bench.embedder.calls)
        bench.embedder.gate.set()
        await until(lambda: sum(map(len, bench.store.groups)) == 4)
        await until(lambda: job_is(bench, ids[2], "failed"))
    assert [(await bench.document(item)).status for item in ids] == ["ready", "ready", "failed", "ready", "ready"]


async def test_unchanged_chunks_are_not_embedded_again(bench: Bench) -> None:
    paragraphs = [f"Paragraph {number}. " + f"word{number} " * 150 for number in range(4)]
    document_id = await bench.upload("notes", "\n".join(paragraphs))
    await bench.worker.drain()
    before = await bench.store.list_chunks(document_id, 100)
    bench.embedder.calls.clear()
    await bench.store.reindex_document(document_id)
    await bench.worker.drain()
    assert bench.embedder.calls == []
    assert [chunk.id for chunk in await bench.store.list_chunks(document_id, 100)] == [chunk.id for chunk in before]


async def test_a_new_revision_replaces_the_old_at_once_and_a_failed_one_leaves_it(bench: Bench) -> None:
    document_id = await bench.upload("page", "The old words.")
    await bench.worker.drain()
    bench.parser.faults["new.txt"] = [KnowledgeError("DOCUMENT_MALFORMED")]
    await bench.revise(document_id, "Broken words.")
    await bench.worker.drain()
    document = await bench.document(document_id)
    assert document.status == "ready" and str(document.latest_error).startswith("DOCUMENT_MALFORMED")
    assert await bench.texts(document_id) == ["The old words."]
    await bench.revise(document_id, "The new words.")
    await bench.worker.drain()
    assert await bench.texts(document_id) == ["The new words."]
    assert (await bench.document(document_id)).latest_error is None


async def test_a_small_document_does_not_wait_behind_a_large_one(bench: Bench) -> None:
    async with bench.working():
        bench.embedder.gate.clear()
        large = await bench.upload("large", LONG_TEXT)
        await until(lambda: bench.embedder.calls)
        small = await bench.upload("small", "A short note.")
        await until(lambda: len(bench.worker._load.passages.works) == 2)
        bench.embedder.gate.set()
        await until(lambda: ["large"] in bench.store.groups, 60)
    assert bench.store.groups == [["small"], ["large"]]
    assert (await bench.document(small)).status == (await bench.document(large)).status == "ready"


async def test_progress_shows_while_a_large_document_is_embedded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_SILENT_S", 0.0)
    monkeypatch.setattr(ingest, "_CARE_S", 0.01)
    bench.embedder.gate.clear()
    async with bench.working():
        document_id = await bench.upload("large", LONG_TEXT)
        await until(lambda: bench.embedder.calls)
        await until(lambda: stage_is(bench, document_id, "embedding"))
        progress = (await bench.document(document_id)).progress
        assert progress is not None and progress.total > 100


async def test_the_lease_is_renewed_while_the_work_goes_on(
    tmp_path: Path, quick_retries: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_CARE_S", 0.01)
    async with open_bench(load_settings(data_dir=tmp_path, job_lease_ms=300)) as bench:
        bench.embedder.gate.clear()
        async with bench.working():
            document_id = await bench.upload("doc", "Some text.")
            await until(lambda: bench.embedder.calls)
            first_end = await bench.queue.next_due_ms()
            assert first_end is not None
            await until(lambda: lease_ends_after(bench, first_end + 300))
            bench.embedder.gate.set()
            await until(lambda: bench.store.groups)
        assert (await bench.job(document_id)).attempt == 1


async def test_stopping_does_not_wait_until_a_large_document_is_chunked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_FINISH_S", 3600)
    threads = ThreadPoolExecutor(4)
    asyncio.get_running_loop().set_default_executor(threads)
    counting, go_on, counts = threading.Event(), threading.Event(), list[int]()

    def slow_count(texts: Sequence[str]) -> list[int]:
        counts.append(len(texts))
        counting.set()
        go_on.wait(60)
        return [len(text.split()) for text in texts]

    monkeypatch.setattr(bench.embedder, "count_tokens", slow_count)
    document_id = await bench.upload("large", LONG_TEXT)
    running = asyncio.create_task(bench.worker.run())
    await until(counting.is_set)
    async with asyncio.timeout(20):
        await bench.worker.stop()
        await running
    assert (await bench.job(document_id)).status == "queued"
    go_on.set()
    threads.shutdown()  # waits for the thread, which a process does too before it ends
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(4))
    assert len(counts) == 1


async def test_stopping_hands_unfinished_work_back_and_the_next_worker_does_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_FINISH_S", 0.05)
    bench.embedder.gate.clear()
    running = asyncio.create_task(bench.worker.run())
    document_id = await bench.upload("doc", "Some text.")
    large_id = await bench.upload("large", LONG_TEXT)
    await until(lambda: len(bench.embedder.calls) == 2)
    await bench.worker.stop()
    await running
    assert not bench.worker.running
    for item in (document_id, large_id):
        job = await bench.job(item)
        assert (job.status, job.worker) == ("queued", None)
        assert job.max_attempts - job.attempt == 3
    bench.embedder.gate.set()
    bench.worker = bench.new_worker("this-host:2")
    await bench.worker.drain()
    assert (await bench.document(document_id)).status == (await bench.document(large_id)).status == "ready"


async def test_a_large_document_goes_on_where_its_ingestion_was_interrupted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "_KEPT_PASSAGES", 64)
    bench.embedder.closes_after = 9
    running = asyncio.create_task(bench.worker.run())
    document_id = await bench.upload("large", LONG_TEXT)
    await until(lambda: len(bench.embedder.calls) >= 9)
    await bench.worker.stop()
    await running
    first = bench.embedder.texts
    kept = await bench.store.reusable_vectors(document_id, first, bench.embedder.fingerprint)
    assert len(first) - 3 * 64 <= len(kept) < len(first)

    bench.embedder.calls.clear()
    bench.embedder.closes_after = 0
    bench.embedder.gate.set()
    bench.worker = bench.new_worker("this-host:2")
    await bench.worker.drain()

    document = await bench.document(document_id)
    assert document.status == "ready"
    assert set(bench.embedder.texts).isdisjoint(kept)
    assert len(bench.embedder.texts) == document.chunk_count - len(kept)


async def test_an_ingestion_that_times_out_keeps_what_it_has_for_the_next_attempt(
    tmp_path: Path, quick_retries: None
) -> None:
    async with open_bench(load_settings(data_dir=tmp_path)) as bench:
        bench.embedder.closes_after = 3
        async with bench.working():
            document_id = await bench.upload("large", LONG_TEXT)
            await until(lambda: len(bench.embedder.calls) >= 3)
            (work,) = bench.worker._load.works.values()
            work.deadline = 0.0  # its time is over
            bench.embedder.gate.set()
            await until(lambda: bench.is_ready(document_id))
        document = await bench.document(document_id)
        assert (await bench.job(document_id)).attempt == 2
        assert len(bench.embedder.texts) == document.chunk_count


async def test_waiting_for_its_turn_is_not_counted_as_a_files_time(tmp_path: Path, quick_retries: None) -> None:
    async with open_bench(load_settings(data_dir=tmp_path, ingestion_timeout_ms=2_000)) as bench:
        first_is_read = asyncio.Event()
        bench.parser.faults["first.txt"] = [first_is_read]
        async with bench.working():
            first = await bench.upload("first", "One text.")
            await until(lambda: bench.parser.parsed)
            second = await bench.upload("second", "Another text.")
            await until(lambda: len(bench.worker._load.works) == 2)
            assert [work.deadline for work in bench.worker._load.works.values()][1] == math.inf
            first_is_read.set()
            await until(lambda: bench.is_ready(second))
        assert (await bench.document(first)).status == "ready"


async def test_a_document_deleted_on_the_way_leaves_nothing_behind(bench: Bench) -> None:
    bench.embedder.gate.clear()
    async with bench.working():
        document_id = await bench.upload("doomed", "Some text.")
        await until(lambda: bench.embedder.calls)
        (revision,) = await bench.store.list_revisions(document_id)
        await bench.store.delete_document(document_id)
        bench.worker.wake()
        bench.embedder.gate.set()
        await until(lambda: job_is(bench, document_id, "completed"))
    assert await bench.store.get_document(document_id) is None
    assert await bench.texts(document_id) == []
    assert await bench.keys() == []
    assert revision.blob_key not in await bench.store.blob_keys()


async def test_jobs_of_a_killed_worker_run_again_at_once_and_use_up_no_attempt(bench: Bench) -> None:
    names = ["this-host:2", NAME, "this-host:3", "other-host:1"]
    for living in names[2:]:
        await bench.locks.keep(f"{WORKER_LOCK}/{living}")
    ids = [await bench.upload(f"d{number}", f"Text {number}.") for number in range(len(names))]
    for name in names:
        assert len(await bench.queue.claim(name, 1, 60_000)) == 1
    async with bench.working():
        await until(lambda: bench.is_ready(ids[0]))
        await until(lambda: bench.is_ready(ids[1]))
    jobs = [await bench.job(item) for item in ids]
    assert [job.status for job in jobs] == ["completed", "completed", "running", "running"]
    assert [job.max_attempts for job in jobs] == [4, 4, 3, 3]


async def test_the_jobs_of_a_killed_worker_are_found_behind_many_that_are_at_work(bench: Bench) -> None:
    names = ["this-host:999999999", *["elsewhere:1"] * 120]
    ids = [await bench.upload(f"d{number}", f"Text {number}.") for number in range(len(names))]
    for name in names:
        await bench.queue.claim(name, 1, 60_000)
    await bench.locks.keep(f"{WORKER_LOCK}/elsewhere:1")
    assert await release_abandoned_jobs(bench.queue, bench.locks, NAME, set()) == 1
    assert [(await bench.job(item)).status for item in ids[:2]] == ["queued", "running"]


async def test_a_worker_holds_its_lock_while_it_runs_and_is_gone_afterwards(bench: Bench) -> None:
    others = FileLocks(bench.settings.data_dir / "locks")
    async with bench.working():
        await until(lambda: others.anybody_holds(WORKER_LOCK))
        assert await workers_gone(others, WORKER_LOCK, {NAME}, "this-host:2") == set()
    assert await workers_gone(others, WORKER_LOCK, {NAME}, "this-host:2") == {NAME}


async def test_originals_that_no_document_holds_are_removed_when_they_are_old(bench: Bench) -> None:
    document_id = await bench.upload("kept", "Some text.")
    (revision,) = await bench.store.list_revisions(document_id)
    _, orphan = await bench._blob("left behind by a killed upload")
    assert await remove_orphan_blobs(bench.store, bench.blobs) == 0  # an upload may be about to write its row
    assert await remove_orphan_blobs(bench.store, bench.blobs, age_ms=-1000) == 1
    assert await bench.keys() == [revision.blob_key]
    assert orphan != revision.blob_key


async def test_the_title_is_the_documents_own_or_the_file_name(bench: Bench) -> None:
    document_id = await bench.upload("annual report", "Some text.")
    await bench.worker.drain()
    assert (await bench.document(document_id)).title == "annual report"
    (chunk,) = await bench.store.list_chunks(document_id, 10)
    assert chunk.content == "Some text."
    assert bench.embedder.calls[-1] == ["Document: annual report\n\nSome text."]
