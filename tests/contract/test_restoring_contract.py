"""Deletions that can be undone for a while."""

import asyncio
from dataclasses import replace

from contract_kit import (
    FINGERPRINT,
    LEASE_MS,
    Backend,
    add,
    chunk,
    claim_one,
    fake_vector,
    indexed,
    new_document,
    new_revision,
)

from mcp_knowledge.adapters.rows.changes import SqlDocumentChanges
from mcp_knowledge.domain.documents import Document, Job
from mcp_knowledge.domain.folder import FolderFile
from mcp_knowledge.domain.search import Scope
from mcp_knowledge.ports import Deletion, DocumentQuery

UNDO_MS = 30_000


def changes(backend: Backend) -> SqlDocumentChanges:
    return SqlDocumentChanges(backend.database)


async def delete(backend: Backend, *documents: Document | str, undo_ms: int = UNDO_MS) -> Deletion:
    ids = [item if isinstance(item, str) else item.id for item in documents]
    return await changes(backend).delete(ids, undo_ms)


async def restore(backend: Backend, *documents: Document) -> list[str]:
    """The codes of those that could not be restored."""
    return list((await changes(backend).restore([item.id for item in documents])).values())


async def found(backend: Backend, word: str) -> set[int]:
    hits = await backend.vectors.search(fake_vector(word), 10, Scope())
    return {hit.chunk_no for hit in hits}


async def jobs_of(backend: Backend, document: Document) -> list[Job]:
    return await backend.queue.list(10, document_id=document.id)


async def test_a_deleted_document_is_out_of_sight_and_comes_back_as_it_was(
    backend: Backend, other_process: Backend
) -> None:
    document = await add(backend, "walrus", metadata={"team": "sea"})
    before = await found(other_process, "walrus")
    deletion = await delete(backend, document)
    generation = await backend.store.generation()

    assert deletion.missing == ()
    assert await backend.store.list_documents(DocumentQuery()) == []
    assert await found(backend, "walrus") == set() == await found(other_process, "walrus")
    assert await backend.queue.claim("worker-1", 10, LEASE_MS) == []
    assert await backend.queue.next_due_ms() is None

    assert await restore(backend, document) == []
    back = await backend.store.get_document(document.id)
    assert back is not None and replace(back, updated_at_ms=document.updated_at_ms) == document
    assert await found(backend, "walrus") == before == await found(other_process, "walrus") != set()
    assert await backend.store.generation() > generation
    backend.clock.forward(UNDO_MS + 1)
    assert await backend.queue.claim("worker-1", 10, LEASE_MS) == []


async def test_when_its_time_has_passed_the_document_goes_for_good(backend: Backend) -> None:
    document = await add(backend)
    deletion = await delete(backend, document)
    backend.clock.forward(UNDO_MS - 20_000)
    assert await backend.queue.claim("worker-1", 10, LEASE_MS) == []
    backend.clock.forward(20_001)

    job = await claim_one(backend)
    assert await restore(backend, document) == ["DOCUMENT_NOT_RESTORABLE"]
    assert await changes(backend).restorable(deletion.until_ms) == []
    await backend.queue.release(job)  # its originals may be gone already
    assert await restore(backend, document) == ["DOCUMENT_NOT_RESTORABLE"]
    assert await backend.store.finish_delete(await claim_one(backend))
    assert await restore(backend, document) == ["DOCUMENT_NOT_RESTORABLE"]
    assert await restore(backend, replace(document, id="doc_unknown")) == ["DOCUMENT_NOT_FOUND"]


async def test_a_worker_and_an_undo_at_once_never_leave_half_a_document(backend: Backend) -> None:
    for number in range(4):
        document = await add(backend, f"text {number}")
        await delete(backend, document)
        backend.clock.forward(UNDO_MS + 1)
        claimed, refused = await asyncio.gather(
            backend.queue.claim("worker-1", 10, LEASE_MS), restore(backend, document)
        )
        live = await backend.store.get_document(document.id)
        if claimed:
            assert live is None and refused == ["DOCUMENT_NOT_RESTORABLE"]
            assert await backend.store.finish_delete(claimed[0])
        else:
            assert live is not None and live.status == "ready" and refused == []


async def test_what_a_deletion_broke_off_is_read_again_after_an_undo(backend: Backend) -> None:
    pending, _ = await backend.store.create_document(new_document("pending"))
    await delete(backend, pending)
    assert await restore(backend, pending) == []
    back = await backend.store.get_document(pending.id)
    assert back is not None and (back.status, back.progress is not None) == ("pending", True)

    at_work = await claim_one(backend)
    await delete(backend, pending)
    assert await restore(backend, pending) == []
    assert not await backend.queue.renew(at_work, LEASE_MS)
    again = await claim_one(backend)
    assert await backend.store.index_revisions([indexed(again, [chunk(0, "a")])], FINGERPRINT) == [True]

    newer = new_revision(pending, "newer")
    await backend.store.create_revision(newer)
    await delete(backend, pending)
    assert await restore(backend, pending) == []
    back = await backend.store.get_document(pending.id)
    assert back is not None and (back.status, back.revision) == ("ready", 1)
    assert (await claim_one(backend)).revision_id == newer.id


async def test_a_failed_document_comes_back_failed_and_can_be_tried_again(backend: Backend) -> None:
    document, _ = await backend.store.create_document(new_document("torn"))
    failed = await claim_one(backend)
    await backend.queue.fail(failed, "DOCUMENT_MALFORMED", "No.", None)
    await delete(backend, document)

    assert await restore(backend, document) == []
    back = await backend.store.get_document(document.id)
    assert back is not None and (back.status, back.latest_error) == ("failed", "DOCUMENT_MALFORMED: No.")
    assert await jobs_of(backend, document) == [await backend.queue.get(failed.id)]
    assert (await backend.queue.retry(failed.id)).status == "queued"


async def test_the_same_bytes_never_stand_in_two_live_documents(backend: Backend) -> None:
    first, _ = await backend.store.create_document(new_document("same"))
    await delete(backend, first)
    twin, duplicate = await backend.store.create_document(new_document("same"))
    assert not duplicate

    assert await restore(backend, first) == ["DOCUMENT_EXISTS"]
    assert await backend.store.get_document(first.id) is None
    await delete(backend, twin)
    assert await restore(backend, first) == []
    assert await restore(backend, twin) == ["DOCUMENT_EXISTS"]


async def test_an_upload_and_an_undo_of_the_same_bytes_at_once_give_one_document(backend: Backend) -> None:
    for number in range(4):
        document, _ = await backend.store.create_document(new_document(f"same {number}"))
        await delete(backend, document)
        await asyncio.gather(restore(backend, document), backend.store.create_document(new_document(f"same {number}")))
        assert len(await backend.store.list_documents(DocumentQuery())) == 1
        await delete(backend, *[item.id for item in await backend.store.list_documents(DocumentQuery())], undo_ms=0)


async def test_an_undo_names_the_documents_of_one_deletion_and_no_others(backend: Backend) -> None:
    documents = [await add(backend, str(number)) for number in range(5)]
    first = await delete(backend, *documents[:2])
    second = await delete(backend, documents[2], "doc_unknown")
    joined = await changes(backend).delete([documents[3].id], UNDO_MS, second.until_ms)
    await delete(backend, documents[4], undo_ms=0)

    assert first.until_ms != second.until_ms == joined.until_ms
    assert second.missing == ("doc_unknown",)
    assert await changes(backend).restorable(first.until_ms) == [documents[0].id, documents[1].id]
    assert await changes(backend).restorable(second.until_ms) == [documents[2].id, documents[3].id]
    assert [job.document_id for job in await backend.queue.claim("worker-1", 10, LEASE_MS)] == [documents[4].id]


async def test_vectors_of_a_former_model_are_told_apart_after_an_undo(backend: Backend) -> None:
    old = await add(backend, "old")
    await delete(backend, old)
    await backend.store.create_document(new_document("new"))
    await backend.store.index_revisions([indexed(await claim_one(backend), [chunk(0, "new")])], "model-b")
    assert await backend.store.fingerprint() == "model-b"

    assert await restore(backend, old) == []
    assert await backend.store.fingerprint() not in ("model-b", FINGERPRINT)


def scanned(path: str) -> FolderFile:
    return FolderFile(path, 4, 1, 1, None, "document", {}, None)


async def test_a_file_of_the_folder_is_never_two_documents(backend: Backend) -> None:
    first = new_document("first", source_path="a.txt")
    document, _ = await backend.folder.add_document(first, scanned("a.txt"))
    await delete(backend, document)
    assert await restore(backend, document) == []  # the scan has not met it meanwhile

    await delete(backend, document)
    await backend.folder.add_document(new_document("other bytes", source_path="a.txt"), scanned("a.txt"))
    assert await restore(backend, document) == ["DOCUMENT_EXISTS"]


async def test_a_document_that_replaces_another_does_so_after_an_undo(backend: Backend) -> None:
    old, _ = await backend.folder.add_document(new_document("same", source_path="a.txt"), scanned("a.txt"))
    await backend.store.index_revisions([indexed(await claim_one(backend), [chunk(0, "a")])], FINGERPRINT)
    heir = new_document("same", source_path="a.txt", replaces=old.id)
    new, _ = await backend.folder.add_document(heir, scanned("a.txt"))

    await delete(backend, new)
    assert await restore(backend, new) == []  # though the one that it replaces has the same bytes
    await delete(backend, old)
    assert await restore(backend, old) == []
    assert await backend.store.index_revisions([indexed(await claim_one(backend), [chunk(0, "b")])], FINGERPRINT)
    assert await backend.store.get_document(old.id) is None
    assert await restore(backend, old) == ["DOCUMENT_EXISTS"]
