import asyncio
from dataclasses import replace

import pytest
from contract_kit import (
    FINGERPRINT,
    VERSIONS,
    Backend,
    add,
    chunk,
    claim_one,
    indexed,
    new_document,
    new_revision,
)

from mcp_knowledge.domain.documents import Progress
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import DocumentQuery


async def test_a_new_document_waits_with_its_revision_and_job(backend: Backend) -> None:
    collection = await backend.store.create_collection("Papers", None)
    new = new_document(
        "hello",
        title="Title",
        collection_id=collection.id,
        metadata={"year": 2024},
        source_path="a/b.txt",
        source_url="https://example.org/b",
    )

    document, duplicate = await backend.store.create_document(new)

    assert not duplicate
    assert document == await backend.store.get_document(new.id)
    assert (document.status, document.revision, document.current_revision_id) == ("pending", 1, None)
    assert (document.title, document.collection_id, document.metadata) == ("Title", collection.id, {"year": 2024})
    assert (document.source_path, document.source_url) == ("a/b.txt", "https://example.org/b")
    assert (document.size_bytes, document.sha256, document.chunk_count) == (5, new.sha256, 0)
    assert document.progress == Progress("queued", 0, 0)
    (revision,) = await backend.store.list_revisions(new.id)
    assert (revision.id, revision.number, revision.blob_key, revision.current) == (
        new.revision_id,
        1,
        new.blob_key,
        False,
    )
    assert (revision.versions, revision.indexed_at_ms) == (None, None)
    (job,) = await backend.queue.list(10)
    assert (job.kind, job.status, job.revision_id, job.filename) == (
        "ingest",
        "queued",
        new.revision_id,
        "document.txt",
    )


async def test_an_unknown_collection_leaves_nothing_behind(backend: Backend) -> None:
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
        await backend.store.create_document(new_document("x", collection_id="col_unknown"))

    assert await backend.store.list_documents(DocumentQuery()) == []
    assert await backend.queue.list(10) == []


async def test_the_same_bytes_come_back_as_the_live_document(backend: Backend) -> None:
    first, _ = await backend.store.create_document(new_document("same"))
    again, duplicate = await backend.store.create_document(new_document("same", title="Another"))

    assert duplicate and again == first
    assert len(await backend.queue.list(10)) == 1
    await backend.store.delete_document(first.id)
    _, duplicate = await backend.store.create_document(new_document("same"))
    assert not duplicate


async def test_uploads_of_the_same_bytes_at_once_make_one_document(backend: Backend) -> None:
    results = await asyncio.gather(*(backend.store.create_document(new_document("same")) for _ in range(8)))

    assert len({document.id for document, _ in results}) == 1
    assert [duplicate for _, duplicate in results].count(False) == 1


async def test_a_documents_bytes_are_those_in_the_making_and_after_a_failure_those_that_show(backend: Backend) -> None:
    document = await add(backend, "text")
    second = new_revision(document, "second")
    await backend.store.create_revision(second)

    assert await backend.store.find_by_sha256(document.sha256) is None
    found = await backend.store.find_by_sha256(second.sha256)
    assert found is not None and found.id == document.id

    await backend.queue.fail(await claim_one(backend), "DOCUMENT_EMPTY", "No.", None)

    assert await backend.store.find_by_sha256(second.sha256) is None
    found = await backend.store.find_by_sha256(document.sha256)
    assert found is not None and found.id == document.id


async def test_unknown_documents_are_not_found_by_any_door(backend: Backend) -> None:
    document = await add(backend, "text")
    await backend.store.delete_document(document.id)

    for unknown in ("doc_unknown", "", "doc\0", "\ud800", document.id):
        assert await backend.store.get_document(unknown) is None
        assert await backend.store.get_documents([unknown]) == {}
        assert await backend.store.list_chunks(unknown, 10) == []
        for call in (
            backend.store.update_document(unknown, title="x"),
            backend.store.delete_document(unknown),
            backend.store.reindex_document(unknown),
            backend.store.create_revision(replace(new_revision(document, "x"), document_id=unknown)),
        ):
            with pytest.raises(KnowledgeError, match="DOCUMENT_NOT_FOUND"):
                await call


async def test_a_title_set_by_the_user_survives_indexing_and_new_revisions(backend: Backend) -> None:
    new = new_document()
    await backend.store.create_document(new)
    await backend.store.update_document(new.id, title="Chosen")
    await backend.store.index_revisions([indexed(await claim_one(backend), [chunk(0, "a")])], FINGERPRINT)
    document = await backend.store.get_document(new.id)
    assert document is not None and document.title == "Chosen"

    await backend.store.create_revision(new_revision(document, "newer"))
    await backend.store.index_revisions([indexed(await claim_one(backend), [chunk(0, "b")])], FINGERPRINT)

    document = await backend.store.get_document(new.id)
    assert document is not None and document.title == "Chosen"


async def test_a_parsed_title_replaces_the_one_of_the_file_name(backend: Backend) -> None:
    document = await add(backend, "text", title="From the heading")

    assert document.title == "From the heading"


async def test_properties_of_the_file_stand_under_document_and_never_override_the_users(backend: Backend) -> None:
    document = await add(
        backend,
        metadata={"team": "a", "document": {"author": "User"}},
        document_metadata={"author": "File", "pages": 3},
    )

    assert document.metadata == {"team": "a", "document": {"author": "User", "pages": 3}}
    for field, value, found in (
        ("document.author", "User", 1),
        ("document.author", "File", 0),
        ("document.pages", 3, 1),
    ):
        query = DocumentQuery(filters=(Filter(field, "eq", value),))
        assert len(await backend.store.list_documents(query)) == found


async def test_metadata_set_later_replaces_all_that_was_there(backend: Backend) -> None:
    document = await add(backend, metadata={"a": 1}, document_metadata={"author": "File"})

    changed = await backend.store.update_document(document.id, metadata={"b": [1, "x", None, {"deep": True}]})

    assert changed.metadata == {"b": [1, "x", None, {"deep": True}]}
    assert await backend.store.get_document(document.id) == changed
    assert await backend.store.list_documents(DocumentQuery(filters=(Filter("a", "exists", True),))) == []
    assert len(await backend.store.list_documents(DocumentQuery(filters=(Filter("b", "eq", "x"),)))) == 1
    emptied = await backend.store.update_document(document.id, metadata={})
    assert emptied.metadata == {}


@pytest.mark.parametrize("text", ["NUL \0 inside", "half a pair \ud800", "emoji 🧪", "e\u0301", "\u202eabc", "'; DROP"])
async def test_strange_text_is_kept_or_mended_but_never_fails(backend: Backend, text: str) -> None:
    mended = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    half_mended = text.encode("utf-8", "replace").decode()  # JSON has a way to write NUL
    new = new_document(title=text, original_filename=text, metadata={"key": text, text: 1}, source_path=text)

    document, _ = await backend.store.create_document(new)

    assert (document.title, document.original_filename, document.source_path) == (mended, mended, mended)
    assert document.metadata == {"key": half_mended, half_mended: 1}
    assert [item.id for item in await backend.store.list_documents(DocumentQuery(search=text))] == [new.id]
    changed = await backend.store.update_document(new.id, title=text + "!", metadata={text: text})
    assert (changed.title, changed.metadata) == (mended + "!", {half_mended: half_mended})
    collection = await backend.store.create_collection(text, text)
    assert (collection.name, collection.description) == (mended, mended)


async def test_an_update_moves_between_collections_and_checks_that_they_exist(backend: Backend) -> None:
    collection = await backend.store.create_collection("Shelf", None)
    document = await add(backend)

    assert (
        await backend.store.update_document(document.id, collection_id=collection.id)
    ).collection_id == collection.id
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
        await backend.store.update_document(document.id, title="Lost", collection_id="col_unknown")
    unchanged = await backend.store.get_document(document.id)
    assert unchanged is not None and (unchanged.title, unchanged.collection_id) == (document.title, collection.id)
    assert (await backend.store.update_document(document.id, collection_id=None)).collection_id is None


async def test_a_revision_of_a_ready_document_shows_only_once_it_is_ready(backend: Backend) -> None:
    document = await add(backend, "old")

    during, number = await backend.store.create_revision(new_revision(document, "newer text"))

    assert number == 2
    assert (during.status, during.revision, during.original_filename) == ("ready", 1, "document.txt")
    assert during.progress == Progress("queued", 0, 0)
    job = await claim_one(backend)
    assert await backend.queue.progress(job, "embedding", 3, 7)
    during_work = await backend.store.get_document(document.id)
    assert during_work is not None and during_work.progress == Progress("embedding", 3, 7)
    assert during_work.status == "ready"

    assert await backend.store.index_revisions([indexed(job, [chunk(0, "new")])], FINGERPRINT) == [True]
    after = await backend.store.get_document(document.id)
    assert after is not None
    assert (after.revision, after.original_filename, after.extension, after.size_bytes) == (2, "newer.md", "md", 10)
    assert (after.current_revision_id, after.progress) == (job.revision_id, None)
    newest, oldest = await backend.store.list_revisions(document.id)
    assert (newest.number, newest.current, oldest.number, oldest.current) == (2, True, 1, False)
    assert (newest.versions, oldest.versions) == (VERSIONS, VERSIONS)
    assert await backend.store.blob_keys() == {newest.blob_key, oldest.blob_key}


async def test_a_revision_of_a_document_that_was_never_ready_shows_at_once(backend: Backend) -> None:
    document, _ = await backend.store.create_document(new_document("old"))
    await backend.queue.fail(await claim_one(backend), "DOCUMENT_EMPTY", "This document has no text.", None)

    during, _ = await backend.store.create_revision(new_revision(document, "newer"))

    assert (during.status, during.revision, during.original_filename) == ("pending", 2, "newer.md")
    assert during.latest_error is None


async def test_reindexing_waits_for_its_turn_and_queues_the_revision_that_is_shown(backend: Backend) -> None:
    document = await add(backend, "old")
    job = await backend.store.reindex_document(document.id)

    assert (job.kind, job.status, job.revision_id) == ("ingest", "queued", document.current_revision_id)
    with pytest.raises(KnowledgeError, match="DOCUMENT_BUSY"):
        await backend.store.reindex_document(document.id)
    during = await backend.store.get_document(document.id)
    assert during is not None and during.status == "ready"
    assert [item.content for item in await backend.store.list_chunks(document.id, 10)] == ["old"]
    running = await claim_one(backend)
    assert await backend.store.index_revisions([indexed(running, [chunk(0, "again")])], FINGERPRINT) == [True]
    assert [item.content for item in await backend.store.list_chunks(document.id, 10)] == ["again"]


async def test_reindexing_a_failed_document_makes_it_wait_again(backend: Backend) -> None:
    document, _ = await backend.store.create_document(new_document())
    await backend.queue.fail(await claim_one(backend), "DOCUMENT_EMPTY", "This document has no text.", None)

    await backend.store.reindex_document(document.id)

    waiting = await backend.store.get_document(document.id)
    assert waiting is not None and waiting.status == "pending"


async def test_reindexing_after_a_failed_revision_makes_the_shown_one_anew_and_still_tells_of_the_failure(
    backend: Backend,
) -> None:
    document = await add(backend, "old")
    await backend.store.create_revision(new_revision(document, "newer"))
    failed = await claim_one(backend)
    await backend.queue.fail(failed, "DOCUMENT_EMPTY", "This document has no text.", None)

    job = await backend.store.reindex_document(document.id)

    assert job.revision_id == document.current_revision_id
    running = await claim_one(backend)
    assert await backend.store.index_revisions([indexed(running, [chunk(0, "again")])], FINGERPRINT) == [True]
    after = await backend.store.get_document(document.id)
    assert after is not None
    assert (after.status, after.revision, after.sha256) == ("ready", 1, document.sha256)
    assert after.latest_error == "DOCUMENT_EMPTY: This document has no text."
    assert (await backend.queue.retry(failed.id)).revision_id == failed.revision_id
    retried = await claim_one(backend)
    assert await backend.store.index_revisions([indexed(retried, [chunk(0, "newer")])], FINGERPRINT) == [True]
    after = await backend.store.get_document(document.id)
    assert after is not None and (after.revision, after.latest_error) == (2, None)


async def test_a_failed_reindexing_can_be_retried(backend: Backend) -> None:
    document = await add(backend, "old")
    await backend.store.reindex_document(document.id)
    job = await claim_one(backend)
    await backend.queue.fail(job, "INGESTION_FAILED", "Ingestion failed.", None)
    during = await backend.store.get_document(document.id)
    assert during is not None
    assert (during.status, during.latest_error) == ("ready", "INGESTION_FAILED: Ingestion failed.")

    await backend.queue.retry(job.id)
    again = await claim_one(backend)
    assert await backend.store.index_revisions([indexed(again, [chunk(0, "again")])], FINGERPRINT) == [True]

    after = await backend.store.get_document(document.id)
    assert after is not None and after.latest_error is None


async def test_all_documents_are_queued_again_page_by_page_but_those_at_work(backend: Backend) -> None:
    documents = [await add(backend, str(number)) for number in range(5)]
    await backend.store.reindex_document(documents[1].id)
    await backend.store.delete_document(documents[3].id)

    first, after = await backend.store.reindex_documents("", 2)
    assert after is not None
    second, end = await backend.store.reindex_documents(after, 10)

    assert end is None
    assert [*first, *second] == [documents[0].id, documents[2].id, documents[4].id]
    assert await backend.store.reindex_documents("", 10) == ([], None)


async def test_documents_that_are_all_queued_again_let_every_other_job_go_first(backend: Backend) -> None:
    old = [await add(backend, str(number)) for number in range(3)]
    await backend.store.reindex_documents("", 10)
    backend.clock.forward(1000)
    new, _ = await backend.store.create_document(new_document("just sent"))

    claimed = await backend.queue.claim("worker-1", 2, 60_000)

    assert [job.document_id for job in claimed] == [
        old[0].id,
        new.id,
    ]  # a claim's jobs are in the order of their making
    assert [job.document_id for job in await backend.queue.claim("worker-1", 9, 60_000)] == [old[1].id, old[2].id]
