import asyncio

import pytest
from contract_kit import FINGERPRINT, LEASE_MS, Backend, add, chunk, claim_one, indexed, new_document, new_revision

from mcp_knowledge.domain.documents import Document, Job, JobStatus
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BackgroundRun, Position


async def waiting_document(backend: Backend, text: str = "text") -> Document:
    document, duplicate = await backend.store.create_document(new_document(text))
    assert not duplicate
    return document


async def current(backend: Backend, job: Job) -> Job:
    found = await backend.queue.get(job.id)
    assert found is not None
    return found


async def status_of(backend: Backend, document: Document) -> str:
    found = await backend.store.get_document(document.id)
    assert found is not None
    return found.status


async def test_a_claimed_job_is_held_by_its_worker(backend: Backend) -> None:
    document = await waiting_document(backend)

    job = await claim_one(backend, "worker-7")

    assert (job.status, job.attempt, job.worker, job.max_attempts) == ("running", 1, "worker-7", 3)
    assert job.started_at_ms is not None
    assert await status_of(backend, document) == "processing"
    assert await backend.queue.claim("worker-8", 10, LEASE_MS) == []


async def test_jobs_are_claimed_oldest_first_up_to_the_limit(backend: Backend) -> None:
    documents = []
    for i in range(5):
        documents.append(await waiting_document(backend, str(i)))
        backend.clock.forward(1)

    first = await backend.queue.claim("worker-1", 2, LEASE_MS)
    second = await backend.queue.claim("worker-2", 10, LEASE_MS)

    assert [job.document_id for job in first + second] == [document.id for document in documents]


async def test_claims_at_once_never_hand_out_a_job_twice(backend: Backend) -> None:
    for i in range(20):
        await waiting_document(backend, str(i))

    batches = await asyncio.gather(*(backend.queue.claim(f"worker-{i}", 3, LEASE_MS) for i in range(10)))

    taken = [job.id for batch in batches for job in batch]
    assert len(taken) == len(set(taken)) == 20


async def test_a_job_whose_lease_ran_out_is_claimed_again(backend: Backend) -> None:
    await waiting_document(backend)
    first = await claim_one(backend, "worker-1", lease_ms=1000)
    backend.clock.forward(900)
    assert await backend.queue.renew(first, 1000)
    backend.clock.forward(900)
    assert await backend.queue.claim("worker-2", 1, 1000) == []
    backend.clock.forward(101)

    second = await claim_one(backend, "worker-2")

    assert (second.id, second.attempt, second.worker) == (first.id, 2, "worker-2")
    assert not await backend.queue.renew(first, 1000)
    assert not await backend.queue.progress(first, "embedding", 1, 1)
    assert not await backend.queue.release(first)
    assert not await backend.queue.fail(first, "INGESTION_FAILED", "Late.", 0)
    assert await current(backend, second) == second


async def test_a_job_that_loses_every_lease_fails_in_the_end(backend: Backend) -> None:
    document = await waiting_document(backend)
    for _ in range(3):
        await claim_one(backend, lease_ms=1000)
        backend.clock.forward(1001)

    assert await backend.queue.claim("worker-1", 1, 1000) == []

    failed = await backend.store.get_document(document.id)
    assert failed is not None and failed.status == "failed"
    assert failed.latest_error is not None and failed.latest_error.startswith("INGESTION_FAILED: ")
    (job,) = await backend.queue.list(10)
    assert (job.status, job.error) == ("failed", failed.latest_error)
    assert await backend.queue.next_due_ms() is None


async def test_exhausted_jobs_do_not_hide_the_ones_behind_them(backend: Backend) -> None:
    for i in range(3):
        await waiting_document(backend, str(i))
    for _ in range(3):
        assert len(await backend.queue.claim("worker-1", 3, 1000)) == 3
        backend.clock.forward(1001)
    wanted = await waiting_document(backend, "behind")

    claimed = await backend.queue.claim("worker-1", 1, 1000)

    assert [job.document_id for job in claimed] == [wanted.id]


async def test_a_failure_with_a_retry_waits_its_time(backend: Backend) -> None:
    document = await waiting_document(backend)
    job = await claim_one(backend)

    assert await backend.queue.fail(job, "INGESTION_TIMEOUT", "Ingestion timed out.", 5000)

    waiting = await current(backend, job)
    assert (waiting.status, waiting.error) == ("retrying", "INGESTION_TIMEOUT: Ingestion timed out.")
    assert await status_of(backend, document) == "pending"
    due = await backend.queue.next_due_ms()
    assert due is not None and backend.clock.now_ms() < due <= backend.clock.now_ms() + 5000
    assert await backend.queue.claim("worker-1", 1, LEASE_MS) == []
    backend.clock.forward(5001)
    assert (await claim_one(backend)).attempt == 2


async def test_the_last_attempt_fails_for_good(backend: Backend) -> None:
    document = await waiting_document(backend)
    for _ in range(3):
        assert await backend.queue.fail(await claim_one(backend), "INGESTION_FAILED", "Again.", 0)

    assert await backend.queue.claim("worker-1", 1, LEASE_MS) == []
    failed = await backend.store.get_document(document.id)
    assert failed is not None
    assert (failed.status, failed.latest_error, failed.progress) == ("failed", "INGESTION_FAILED: Again.", None)


async def test_a_failure_without_a_retry_fails_at_once(backend: Backend) -> None:
    document = await waiting_document(backend)
    job = await claim_one(backend)

    assert await backend.queue.fail(job, "DOCUMENT_EMPTY", "This document has no text.", None)

    assert await status_of(backend, document) == "failed"
    failed = await current(backend, job)
    assert failed.status == "failed" and failed.completed_at_ms is not None
    assert failed.duration_ms is not None


async def test_a_document_with_a_searchable_revision_stays_ready_when_a_newer_one_fails(backend: Backend) -> None:
    document = await add(backend, "old")
    await backend.store.create_revision(new_revision(document, "newer"))

    await backend.queue.fail(await claim_one(backend), "DOCUMENT_ENCRYPTED", "Locked.", None)

    after = await backend.store.get_document(document.id)
    assert after is not None
    assert (after.status, after.revision, after.latest_error) == ("ready", 1, "DOCUMENT_ENCRYPTED: Locked.")
    assert [item.content for item in await backend.store.list_chunks(document.id, 10)] == ["old"]


async def test_a_released_job_is_due_at_once_in_its_old_place_and_costs_no_attempt(backend: Backend) -> None:
    first = await waiting_document(backend, "first")
    backend.clock.forward(1)
    await waiting_document(backend, "second")
    backend.clock.forward(1)
    for _ in range(5):
        (job,) = await backend.queue.claim("worker-1", 1, LEASE_MS)
        assert job.document_id == first.id
        assert await backend.queue.release(job)
        assert await status_of(backend, first) == "pending"
        assert not await backend.queue.renew(job, LEASE_MS)

    (again,) = await backend.queue.claim("worker-1", 1, LEASE_MS)
    assert again.document_id == first.id
    assert again.max_attempts - again.attempt == 2


async def test_a_job_released_for_later_waits_so_long_and_costs_no_attempt(backend: Backend) -> None:
    document = await waiting_document(backend)
    job = await claim_one(backend)

    assert await backend.queue.release(job, 5000)

    assert await status_of(backend, document) == "pending"
    due = await backend.queue.next_due_ms()
    assert due is not None and backend.clock.now_ms() < due <= backend.clock.now_ms() + 5000
    assert await backend.queue.claim("worker-1", 1, LEASE_MS) == []
    backend.clock.forward(5001)
    again = await claim_one(backend)
    assert (again.id, again.max_attempts - again.attempt) == (job.id, 2)


async def test_a_failed_job_is_retried_with_fresh_attempts(backend: Backend) -> None:
    document = await waiting_document(backend)
    for _ in range(3):
        await backend.queue.fail(await claim_one(backend), "INGESTION_FAILED", "Again.", 0)
    (job,) = await backend.queue.list(10)

    queued = await backend.queue.retry(job.id)

    assert (queued.status, queued.error, queued.completed_at_ms) == ("queued", None, None)
    assert await status_of(backend, document) == "pending"
    for _ in range(3):
        await backend.queue.fail(await claim_one(backend), "INGESTION_FAILED", "Again.", 0)
    assert await status_of(backend, document) == "failed"


async def test_only_a_failed_job_that_still_matters_is_retried(backend: Backend) -> None:
    document = await waiting_document(backend)
    job = await claim_one(backend)
    with pytest.raises(KnowledgeError, match="JOB_NOT_FOUND"):
        await backend.queue.retry("job_unknown")
    with pytest.raises(KnowledgeError, match="JOB_NOT_RETRYABLE"):
        await backend.queue.retry(job.id)
    await backend.queue.fail(job, "DOCUMENT_EMPTY", "Empty.", None)
    await backend.store.create_revision(new_revision(document, "newer"))
    with pytest.raises(KnowledgeError, match="JOB_NOT_RETRYABLE"):
        await backend.queue.retry(job.id)
    await backend.store.index_revisions([indexed(await claim_one(backend), [chunk(0, "a")])], FINGERPRINT)
    with pytest.raises(KnowledgeError, match="JOB_NOT_RETRYABLE"):
        await backend.queue.retry(job.id)


async def test_a_newer_revision_leaves_one_active_job(backend: Backend) -> None:
    document = await waiting_document(backend)
    await backend.store.create_revision(new_revision(document, "second"))
    await backend.store.create_revision(new_revision(document, "third"))

    (job,) = await backend.queue.claim("worker-1", 10, LEASE_MS)

    newest = (await backend.store.list_revisions(document.id))[0]
    assert job.revision_id == newest.id
    statuses = [item.status for item in await backend.queue.list(10, document_id=document.id)]
    assert sorted(statuses) == ["cancelled", "cancelled", "running"]


async def test_a_failing_delete_is_tried_more_often_than_an_ingestion(backend: Backend) -> None:
    document = await add(backend)
    await backend.store.delete_document(document.id)
    for _ in range(5):
        assert await backend.queue.fail(await claim_one(backend), "INGESTION_FAILED", "Disk.", 0)

    assert await backend.store.finish_delete(await claim_one(backend))


async def test_jobs_are_listed_newest_first_by_status_and_document(backend: Backend) -> None:
    documents = []
    for i in range(5):
        documents.append(await waiting_document(backend, str(i)))
        backend.clock.forward(1)
    await backend.queue.claim("worker-1", 2, LEASE_MS)

    everything = await backend.queue.list(10)
    first = await backend.queue.list(2)
    rest = await backend.queue.list(10, after=Position(first[-1].created_at_ms, first[-1].id))

    assert [job.document_id for job in everything] == [document.id for document in reversed(documents)]
    assert first + rest == everything
    assert {job.document_id for job in await backend.queue.list(10, statuses=("running",))} == {
        document.id for document in documents[:2]
    }
    assert len(await backend.queue.list(10, document_id=documents[3].id)) == 1
    assert await backend.queue.list(10, document_id="doc_unknown") == []
    assert await backend.queue.get("job_unknown") is None
    waiting = await backend.queue.list(10, statuses=("queued", "retrying"))
    assert {job.document_id for job in waiting} == {document.id for document in documents[2:]}


async def test_jobs_are_counted_by_status_all_together_and_for_one_document(backend: Backend) -> None:
    document = await add(backend)
    await waiting_document(backend, "another")

    def counted(counts: dict[JobStatus, int]) -> dict[str, int]:
        return {status: number for status, number in counts.items() if number}

    assert counted(await backend.queue.counts()) == {"completed": 1, "queued": 1}
    assert counted(await backend.queue.counts(document.id)) == {"completed": 1}
    assert counted(await backend.queue.counts("doc_unknown")) == {}


async def fail_next(backend: Backend) -> Job:
    job = await claim_one(backend)
    assert await backend.queue.fail(job, "DOCUMENT_MALFORMED", "Broken.", None)
    return job


async def test_all_failed_jobs_are_queued_again_but_those_that_a_later_job_has_overtaken(backend: Backend) -> None:
    documents = []
    for number in range(4):
        documents.append(await waiting_document(backend, str(number)))
        await fail_next(backend)
        backend.clock.forward(1)
    await backend.store.reindex_document(documents[1].id)
    again = await fail_next(backend)
    await backend.store.delete_document(documents[2].id)
    await claim_one(backend)

    failed = await backend.queue.list(10, statuses=("failed",))
    overtaken = await backend.queue.overtaken(job.id for job in failed)
    assert {job.document_id for job in failed if job.id in overtaken} == {documents[1].id, documents[2].id}

    first, after = await backend.queue.retry_failed("", 2)
    assert after is not None
    rest, end = await backend.queue.retry_failed(after, 10)

    assert end is None and len(first) == 2
    queued = [*first, *rest]
    assert {job.document_id for job in queued} == {documents[0].id, documents[1].id, documents[3].id}
    assert again.id in {job.id for job in queued}
    assert {(job.status, job.error) for job in queued} == {("queued", None)}
    assert await backend.queue.retry_failed("", 10) == ([], None)
    assert await backend.queue.overtaken([]) == set()


async def test_the_pace_is_that_of_jobs_completed_lately(backend: Backend) -> None:
    assert (await backend.queue.pace(60_000)).completed == 0
    await add(backend, "long ago")
    backend.clock.forward(61_000)
    await add(backend, "lately")
    backend.clock.forward(2_000)
    await add(backend, "just now")

    pace = await backend.queue.pace(60_000)

    assert pace.completed == 2
    assert 2_000 <= pace.within_ms < 60_000


async def test_the_run_in_the_background_is_counted_until_it_has_ended(backend: Backend) -> None:
    for number in range(3):
        await add(backend, str(number))
    assert await backend.queue.background_run() == BackgroundRun(0, 0)
    first, after = await backend.store.reindex_documents("", 2)
    assert after is not None
    await backend.store.reindex_documents(after, 10)
    await waiting_document(backend, "not in the background")
    assert await backend.queue.background_run() == BackgroundRun(0, 3)

    jobs = await backend.queue.claim("worker-1", 10, LEASE_MS)
    (job,) = [job for job in jobs if job.document_id == first[0]]
    await backend.queue.fail(job, "DOCUMENT_MALFORMED", "Broken.", None)
    assert await backend.queue.background_run() == BackgroundRun(1, 3)
    assert (await backend.store.reindex_documents("", 10))[0] == [first[0]], "the others are at work"
    assert await backend.queue.background_run() == BackgroundRun(1, 4)
    for other in [*jobs, *await backend.queue.claim("worker-1", 10, LEASE_MS)]:
        await backend.queue.fail(other, "DOCUMENT_MALFORMED", "Broken.", None)
    assert await backend.queue.background_run() == BackgroundRun(0, 0)


async def test_the_queue_tells_when_the_next_job_is_due(backend: Backend) -> None:
    assert await backend.queue.next_due_ms() is None
    await waiting_document(backend)
    due = await backend.queue.next_due_ms()
    assert due is not None and due <= backend.clock.now_ms()
    before = backend.clock.now_ms()
    job = await claim_one(backend, lease_ms=5000)
    lease_end = await backend.queue.next_due_ms()
    assert lease_end is not None and before + 5000 <= lease_end <= backend.clock.now_ms() + 5000
    await backend.store.index_revisions([indexed(job, [chunk(0, "a")])], FINGERPRINT)
    assert await backend.queue.next_due_ms() is None
