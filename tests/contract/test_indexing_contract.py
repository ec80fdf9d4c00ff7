import asyncio
from dataclasses import replace

import numpy as np
import pytest
from contract_kit import (
    FINGERPRINT,
    VERSIONS,
    Backend,
    add,
    chunk,
    claim_one,
    fake_vector,
    indexed,
    long_document,
    new_document,
    new_revision,
)

from mcp_knowledge.domain.blocks import Code, Heading, ListBlock, NormalizedDocument, Paragraph, SourceLocation, Table
from mcp_knowledge.ports import DocumentQuery, IndexedRevision, OutlineEntry


async def test_a_chunk_comes_back_as_it_was_indexed(backend: Backend) -> None:
    new = new_document()
    await backend.store.create_document(new)
    made = replace(
        chunk(0, "Text\nwith a line break, ünïcode 🧪 and 'quotes'", ("Top", 'A "section", quoted')),
        location=SourceLocation(page_start=2, page_end=3, section="S"),
        metadata={"rows": [1, 2]},
    )
    await backend.store.index_revisions([indexed(await claim_one(backend), [made])], FINGERPRINT)

    (stored,) = await backend.store.list_chunks(new.id, 10)

    assert (stored.id, stored.document_id, stored.revision_id) == (made.id, new.id, new.revision_id)
    assert (stored.content, stored.heading_path, stored.location) == (made.content, made.heading_path, made.location)
    assert (stored.sequence, stored.token_count, stored.content_hash, stored.metadata) == (
        0,
        made.token_count,
        made.content_hash,
        {"rows": [1, 2]},
    )
    assert await backend.store.find_chunk(made.id) == stored
    assert (await backend.store.get_passages([stored.chunk_no, stored.chunk_no + 99]))[0] == {stored.chunk_no: stored}
    assert await backend.store.find_chunk("chk_unknown") is None


async def test_several_documents_switch_in_one_transaction(backend: Backend) -> None:
    for name in ("one", "two", "three"):
        await backend.store.create_document(new_document(name))
    jobs = await backend.queue.claim("worker-1", 10, 60_000)
    before = await backend.store.generation()

    written = await backend.store.index_revisions([indexed(job, [chunk(0, job.id)]) for job in jobs], FINGERPRINT)

    assert written == [True, True, True]
    assert await backend.store.generation() == before + 1
    ready = await backend.store.list_documents(DocumentQuery(statuses=("ready",)))
    assert len(ready) == 3
    assert {job.status for job in await backend.queue.list(10)} == {"completed"}


async def test_a_lost_job_writes_nothing_and_does_not_hold_up_the_others(backend: Backend) -> None:
    documents = [(await backend.store.create_document(new_document(name)))[0] for name in ("lost", "held")]
    jobs = {job.document_id: job for job in await backend.queue.claim("worker-1", 10, 60_000)}
    lost, held = (jobs[document.id] for document in documents)
    stale = replace(lost, attempt=lost.attempt - 1)

    written = await backend.store.index_revisions(
        [indexed(stale, [chunk(0, "lost")]), indexed(held, [chunk(0, "held")])], FINGERPRINT
    )

    assert written == [False, True]
    assert await backend.store.list_chunks(lost.document_id, 10) == []
    unchanged = await backend.store.get_document(lost.document_id)
    assert unchanged is not None and unchanged.status == "processing"


async def test_a_worker_that_lost_its_lease_cannot_overwrite_the_next_one(backend: Backend) -> None:
    new = new_document()
    await backend.store.create_document(new)
    slow = await claim_one(backend, "slow", lease_ms=1000)
    backend.clock.forward(1001)
    fast = await claim_one(backend, "fast")
    assert fast.attempt == slow.attempt + 1

    assert await backend.store.index_revisions([indexed(fast, [chunk(0, "fast")])], FINGERPRINT) == [True]
    assert await backend.store.index_revisions([indexed(slow, [chunk(0, "slow")])], FINGERPRINT) == [False]
    assert not await backend.queue.fail(slow, "INGESTION_FAILED", "Too late.", None)

    assert [item.content for item in await backend.store.list_chunks(new.id, 10)] == ["fast"]


async def test_a_worker_at_an_older_revision_cannot_overwrite_the_newer(backend: Backend) -> None:
    document = await add(backend, "first")
    await backend.store.create_revision(new_revision(document, "second"))
    second = await claim_one(backend, "worker-2")
    await backend.store.create_revision(new_revision(document, "third"))
    third = await claim_one(backend, "worker-3")

    assert not await backend.queue.renew(second, 60_000)
    assert await backend.store.index_revisions([indexed(third, [chunk(0, "third")])], FINGERPRINT) == [True]
    assert await backend.store.index_revisions([indexed(second, [chunk(0, "second")])], FINGERPRINT) == [False]

    assert [item.content for item in await backend.store.list_chunks(document.id, 10)] == ["third"]
    cancelled = await backend.queue.get(second.id)
    assert cancelled is not None and cancelled.status == "cancelled"


async def test_a_new_revision_takes_the_place_of_the_former_chunks_and_blocks(backend: Backend) -> None:
    document = await add(backend, "one", "two", "three")
    former = await backend.store.list_chunks(document.id, 10)
    await backend.store.create_revision(new_revision(document, "newer"))
    job = await claim_one(backend)
    assert await backend.store.list_chunks(document.id, 10) == former

    await backend.store.index_revisions([indexed(job, [chunk(0, "two"), chunk(1, "four")])], FINGERPRINT)

    now = await backend.store.list_chunks(document.id, 10)
    assert [item.content for item in now] == ["two", "four"]
    assert not {item.chunk_no for item in former} & {item.chunk_no for item in now}
    assert (await backend.store.get_passages([item.chunk_no for item in former]))[0] == {}
    assert await backend.store.block_page(former[0].revision_id, 0, 1) is None
    assert await backend.store.block_page(now[0].revision_id, 0, 1) is not None


async def test_readers_see_the_old_chunks_or_the_new_ones_but_never_a_mixture(backend: Backend) -> None:
    document = await add(backend, *(f"0 {i}" for i in range(5)))
    seen: set[tuple[str, ...]] = set()

    async def read(until: asyncio.Event) -> None:
        while not until.is_set():
            seen.add(tuple(item.content.split()[0] for item in await backend.store.list_chunks(document.id, 10)))

    done = asyncio.Event()
    readers = [asyncio.create_task(read(done)) for _ in range(3)]
    for round_no in range(1, 15):
        await backend.store.reindex_document(document.id)
        chunks = [chunk(i, f"{round_no} {i}") for i in range(5)]
        await backend.store.index_revisions([indexed(await claim_one(backend), chunks)], FINGERPRINT)
    done.set()
    await asyncio.gather(*readers)

    assert seen
    assert all(len(contents) == 5 and len(set(contents)) == 1 for contents in seen)


async def test_chunks_are_read_in_pages_ranges_and_sections(backend: Backend) -> None:
    new = new_document()
    await backend.store.create_document(new)
    paths = [(), ("A",), ("A", "B"), ("A", "B", "C"), ("A", "BB"), ("AB",), ('A"',), ("B",)]
    chunks = [chunk(i, f"text {i}", path) for i, path in enumerate(paths)]
    await backend.store.index_revisions([indexed(await claim_one(backend), chunks)], FINGERPRINT)

    async def section(*path: str) -> list[int]:
        return [item.sequence for item in await backend.store.section_chunks(new.id, path)]

    assert [item.sequence for item in await backend.store.list_chunks(new.id, 3)] == [0, 1, 2]
    assert [item.sequence for item in await backend.store.list_chunks(new.id, 3, 5)] == [6, 7]
    assert [item.sequence for item in await backend.store.chunk_range(new.id, -2, 1)] == [0, 1]
    assert [item.sequence for item in await backend.store.chunk_range(new.id, 6, 99)] == [6, 7]
    assert await section("A") == [1, 2, 3, 4]
    assert await section("A", "B") == [2, 3]
    assert await section('A"') == [6]
    assert await section() == list(range(8))
    assert await section("C") == []


async def test_a_page_of_blocks_is_the_same_as_that_part_of_the_whole(backend: Backend) -> None:
    new, document = new_document(), long_document(300)
    await backend.store.create_document(new)
    item = indexed(await claim_one(backend), [chunk(0, "text")], normalized=document)
    await backend.store.index_revisions([item], FINGERPRINT)

    for first, limit in ((0, 1), (0, 300), (57, 100), (299, 5), (300, 5), (150, 0)):
        page = await backend.store.block_page(new.revision_id, first, limit)
        assert page is not None
        assert (page.first, page.total) == (first, 300)
        assert page.blocks == document.blocks[first : first + limit]
        assert (page.title, page.metadata) == ("A long document", {"author": "Ada"})
    outline = await backend.store.outline(new.revision_id)
    assert outline is not None and len(outline) == 30
    assert outline[1] == OutlineEntry(10, 2, "Heading 10")


async def test_every_kind_of_block_comes_back_as_it_was(backend: Backend) -> None:
    new = new_document()
    await backend.store.create_document(new)
    document = NormalizedDocument(
        None,
        {},
        (
            Heading(2, "Heading", SourceLocation(section="x")),
            Paragraph("Zeile\nmit Umbruch, \u2028 und \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")),
            ListBlock(True, ("one", "  two")),
            Table(("a", "b"), (("1", "2"), ("3", ""))),
            Table(None, (("1",),)),
            Code("def f():\n\treturn 1", "python"),
        ),
    )
    chunks = [chunk(0, "Zeile\nmit Umbruch"), chunk(1, "def f():\n\treturn 1")]
    await backend.store.index_revisions([indexed(await claim_one(backend), chunks, normalized=document)], FINGERPRINT)

    page = await backend.store.block_page(new.revision_id, 0, 10)
    assert page is not None and page.blocks == document.blocks


@pytest.mark.parametrize("chunk_count", [0, 3])
async def test_a_document_without_blocks_has_an_empty_page(backend: Backend, chunk_count: int) -> None:
    new = new_document()
    await backend.store.create_document(new)
    item: IndexedRevision = indexed(
        await claim_one(backend), [chunk(i, str(i)) for i in range(chunk_count)], normalized=NormalizedDocument(None)
    )
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]

    page = await backend.store.block_page(new.revision_id, 0, 10)

    assert page is not None and (page.total, page.blocks) == (0, ())
    assert await backend.store.outline(new.revision_id) == []


async def test_content_of_a_revision_that_was_never_indexed_is_missing(backend: Backend) -> None:
    new = new_document()
    await backend.store.create_document(new)

    assert await backend.store.block_page(new.revision_id, 0, 1) is None
    assert await backend.store.outline("rev_unknown") is None
    assert await backend.store.get_revision("rev_unknown") is None


async def test_vectors_of_unchanged_texts_are_offered_again(backend: Backend) -> None:
    document = await add(backend, "same", "other")

    found = await backend.store.reusable_vectors(document.id, ["same", "changed"], FINGERPRINT)

    assert list(found) == ["same"]
    np.testing.assert_array_equal(found["same"], fake_vector("same"))
    assert await backend.store.reusable_vectors(document.id, ["same"], "model-b") == {}
    assert await backend.store.reusable_vectors("doc_unknown", ["same"], FINGERPRINT) == {}


async def test_vectors_that_were_kept_are_offered_to_the_next_attempt_alone_and_go_with_the_document(
    backend: Backend,
) -> None:
    document, _ = await backend.store.create_document(new_document())
    job = await claim_one(backend)
    vectors = np.stack([fake_vector("one"), fake_vector("two")])

    assert await backend.store.keep_vectors(job, ["one", "two"], vectors, FINGERPRINT)

    found = await backend.store.reusable_vectors(document.id, ["one", "three"], FINGERPRINT)
    assert list(found) == ["one"]
    np.testing.assert_array_equal(found["one"], fake_vector("one"))
    assert await backend.store.reusable_vectors(document.id, ["one"], "model-b") == {}
    other = await add(backend, "other")
    assert await backend.store.reusable_vectors(other.id, ["one"], FINGERPRINT) == {}

    await backend.queue.release(job)
    assert not await backend.store.keep_vectors(job, ["late"], vectors[:1], FINGERPRINT)
    assert await backend.store.reusable_vectors(document.id, ["late"], FINGERPRINT) == {}
    again = await claim_one(backend)
    assert await backend.store.index_revisions([indexed(again, [chunk(0, "two")])], FINGERPRINT) == [True]
    assert list(await backend.store.reusable_vectors(document.id, ["one", "two"], FINGERPRINT)) == ["two"]


async def test_the_fingerprint_is_a_models_only_while_all_vectors_are_its(backend: Backend) -> None:
    assert await backend.store.fingerprint() is None
    first = await add(backend, "one")
    second = await add(backend, "two")
    assert await backend.store.fingerprint() == FINGERPRINT

    async def embed_again(document_id: str, fingerprint: str) -> None:
        await backend.store.reindex_document(document_id)
        item = indexed(await claim_one(backend), [chunk(0, "text")])
        assert await backend.store.index_revisions([item], fingerprint) == [True]

    await embed_again(first.id, "model-b")
    assert await backend.store.fingerprint() not in (FINGERPRINT, "model-b", None)
    await embed_again(second.id, "model-b")
    assert await backend.store.fingerprint() == "model-b"


async def test_every_change_a_catalog_reader_could_see_raises_the_generation(backend: Backend) -> None:
    last = await backend.store.generation()

    async def rises(what: str) -> None:
        nonlocal last
        now = await backend.store.generation()
        assert now > last, what
        last = now

    collection = await backend.store.create_collection("Shelf", None)
    last = await backend.store.generation()
    document, _ = await backend.store.create_document(new_document())
    await rises("created")
    job = await claim_one(backend)
    await rises("processing")
    await backend.store.index_revisions([indexed(job, [chunk(0, "a")])], FINGERPRINT)
    await rises("ready")
    await backend.store.update_document(document.id, title="T")
    await rises("title")
    await backend.store.update_document(document.id, metadata={"a": 1})
    await rises("metadata")
    await backend.store.update_document(document.id, collection_id=collection.id)
    await rises("collection")
    await backend.store.create_revision(new_revision(document, "newer"))
    await rises("new revision")
    job = await claim_one(backend)
    last = await backend.store.generation()
    await backend.queue.fail(job, "DOCUMENT_EMPTY", "Empty.", None)
    await rises("failed")
    await backend.store.delete_document(document.id)
    await rises("deleting")
    await backend.store.finish_delete(await claim_one(backend))
    await rises("deleted")
    await add(backend)
    last = await backend.store.generation()
    await backend.store.purge_documents()
    await rises("purged")


async def test_reading_or_changing_nothing_leaves_the_generation(backend: Backend) -> None:
    document = await add(backend)
    before = await backend.store.generation()

    await backend.store.list_documents(DocumentQuery())
    await backend.store.update_document(document.id)
    await backend.store.counts([VERSIONS])
    await backend.store.create_collection("Shelf", None)

    assert await backend.store.generation() == before


async def test_work_on_a_ready_document_shows_nothing_until_it_is_done(backend: Backend) -> None:
    document = await add(backend)
    await backend.store.reindex_document(document.id)
    before = await backend.store.generation()

    job = await claim_one(backend)
    await backend.queue.progress(job, "embedding", 1, 2)
    await backend.queue.release(job)

    assert await backend.store.generation() == before
    after = await backend.store.get_document(document.id)
    assert after is not None and after.updated_at_ms == document.updated_at_ms


async def test_a_deleted_document_is_gone_at_once_and_leaves_a_tombstone(backend: Backend) -> None:
    document = await add(backend, "text", metadata={"a": 1})
    (stored,) = await backend.store.list_chunks(document.id, 10)
    (revision,) = await backend.store.list_revisions(document.id)

    await backend.store.delete_document(document.id)

    assert await backend.store.get_document(document.id) is None
    assert (await backend.store.get_passages([stored.chunk_no]))[0] == {}
    assert await backend.store.find_chunk(stored.id) is None
    assert await backend.store.section_chunks(document.id, ()) == []
    job = await claim_one(backend)
    assert (job.kind, job.document_id, job.filename) == ("delete", document.id, "document.txt")
    assert [item.blob_key for item in await backend.store.list_revisions(document.id)] == [revision.blob_key]
    assert not await backend.store.finish_delete(replace(job, attempt=job.attempt + 1))
    assert await backend.store.blob_keys() == {revision.blob_key}

    assert await backend.store.finish_delete(job)

    assert await backend.store.blob_keys() == set()
    assert await backend.store.list_revisions(document.id) == []
    assert await backend.store.get_revision(revision.id) is None
    assert await backend.store.block_page(revision.id, 0, 1) is None
    (tombstone,) = await backend.store.list_documents(DocumentQuery(statuses=("deleted",)))
    assert (tombstone.id, tombstone.title, tombstone.metadata) == (document.id, document.title, {"a": 1})
    finished = await backend.queue.get(job.id)
    assert finished is not None and (finished.status, finished.filename) == ("completed", "document.txt")


async def test_deleting_takes_the_document_from_the_worker_that_is_at_it(backend: Backend) -> None:
    document, _ = await backend.store.create_document(new_document())
    job = await claim_one(backend)

    await backend.store.delete_document(document.id)

    assert not await backend.queue.progress(job, "embedding", 1, 2)
    assert await backend.store.index_revisions([indexed(job, [chunk(0, "a")])], FINGERPRINT) == [False]
    delete_job = await claim_one(backend)
    assert delete_job.kind == "delete"


async def test_a_purge_removes_documents_and_jobs_but_keeps_collections(backend: Backend) -> None:
    collection = await backend.store.create_collection("Kept", None)
    document = await add(backend, "one", collection_id=collection.id, metadata={"a": 1})
    await backend.store.create_document(new_document("waiting"))
    keys = await backend.store.blob_keys()

    assert set(await backend.store.purge_documents()) == keys and len(keys) == 2

    assert await backend.store.list_documents(DocumentQuery(statuses=("ready", "pending", "deleted"))) == []
    assert await backend.queue.list(10) == []
    assert await backend.store.fingerprint() is None
    assert await backend.store.get_collection(collection.id) is not None
    again = await add(backend, "one")
    assert again.id != document.id
