"""What every store of the scanned folder promises."""

import hashlib
import random
from dataclasses import replace
from typing import Any

import pytest
from contract_kit import FINGERPRINT, Backend, chunk, claim_one, indexed, new_document, new_revision

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.domain.folder import FolderFile
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import DocumentQuery, NewArchive


def folder_file(path: str, text: str | None = None, **changes: Any) -> FolderFile:
    sha256 = None if text is None else hashlib.sha256(text.encode()).hexdigest()
    return replace(FolderFile(path, 10, 1_700_000_000_123_456_789, 2, sha256, "document", {}), **changes)


async def add(backend: Backend, path: str, text: str, **changes: Any) -> Document:
    """A document from the folder, not yet ingested."""
    new = new_document(text, source_path=path, original_filename=path.rpartition("/")[2], **changes)
    document, _ = await backend.folder.add_document(
        new, folder_file(path, text, metadata=changes.get("metadata") or {})
    )
    return document


async def finish(backend: Backend, *texts: str) -> None:
    """Index the one job that is due."""
    item = indexed(await claim_one(backend), [chunk(i, text) for i, text in enumerate(texts or ("text",))])
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]


async def file_at(backend: Backend, path: str) -> FolderFile:
    return (await backend.folder.files([path]))[path]


async def test_a_file_is_remembered_as_it_was_written(backend: Backend) -> None:
    file = folder_file(
        "a/line\nbreak \u00e9 \U0001f600.txt", "x", outcome="failed", reason="CODE: why", metadata={"a": [1]}
    )
    await backend.folder.write([file])
    assert await backend.folder.files([file.path, "other"]) == {file.path: file}
    changed = replace(file, size_bytes=2**40, outcome="oversized", reason=None)
    await backend.folder.write([changed])
    assert await file_at(backend, file.path) == changed
    await backend.folder.forget([file.path])
    assert await backend.folder.files([file.path]) == {}


async def test_a_path_may_be_as_long_as_an_operating_system_allows(backend: Backend) -> None:
    dice = random.Random(7)  # what cannot be compressed
    deep = "/".join("".join(chr(dice.randrange(0x4E00, 0x9FA5)) for _ in range(85)) for _ in range(16))[:1365]
    assert len(deep.encode()) > 4000
    file = folder_file(f"{deep}.txt", "x", outcome="failed", reason="CODE: why")
    await backend.folder.write([file, folder_file("a.txt", "y"), replace(file, size_bytes=3)])
    assert [item.path for item in await backend.folder.page(10)] == ["a.txt", file.path]
    assert await backend.folder.page(10, "a.txt") == [replace(file, size_bytes=3)]
    document = await add(backend, file.path, "alpha")
    assert document.source_path == file.path and (await file_at(backend, file.path)).document_id == document.id
    await backend.folder.forget([file.path])
    assert await backend.folder.files([file.path]) == {}


async def test_a_document_and_its_file_are_written_together(backend: Backend) -> None:
    document = await add(backend, "a.txt", "alpha", metadata={"x": 1})
    file = await file_at(backend, "a.txt")
    assert (file.outcome, file.document_id, file.metadata) == ("document", document.id, {"x": 1})
    assert document.metadata == {"x": 1}
    with pytest.raises(KnowledgeError):
        new = new_document("beta", collection_id="col_none")
        await backend.folder.add_document(new, folder_file("b.txt", "beta"))
    assert await backend.folder.files(["b.txt"]) == {}


async def test_a_file_with_the_bytes_of_a_document_is_its_duplicate(backend: Backend) -> None:
    first = await add(backend, "a.txt", "alpha")
    second, duplicate = await backend.folder.add_document(new_document("alpha"), folder_file("b.txt", "alpha"))
    assert (second.id, duplicate) == (first.id, True)
    file = await file_at(backend, "b.txt")
    assert (file.outcome, file.document_id) == ("duplicate", first.id)
    assert file.reason
    assert [item.path for item in await backend.folder.same_bytes(file.sha256 or "", 10)] == ["a.txt", "b.txt"]
    assert len(await backend.folder.same_bytes(file.sha256 or "", 1)) == 1


async def test_an_archive_and_its_file_are_written_together(backend: Backend) -> None:
    def new(archive_id: str) -> NewArchive:
        return NewArchive(archive_id, "box.zip", 1, "00" * 32, f"archives/{archive_id}", source_path="box.zip")

    file = folder_file("box.zip", "zip", outcome="archive")
    queued = await backend.folder.add_archive(new("arc_1"), file)
    assert queued.state == "queued" and queued == await backend.archives.get("arc_1")
    assert (await file_at(backend, "box.zip")).archive_id == "arc_1"
    with pytest.raises(ValueError, match="hex"):
        await backend.folder.add_archive(new("arc_2"), replace(file, sha256="no digest"))
    assert await backend.archives.get("arc_2") is None


async def test_a_duplicate_is_stale_once_its_document_gets_other_bytes(backend: Backend) -> None:
    document = await add(backend, "a.txt", "alpha")
    await backend.folder.add_document(new_document("alpha"), folder_file("b.txt", "alpha"))
    assert await backend.folder.stale_duplicates() == []
    file = folder_file("a.txt", "changed", document_id=document.id)
    after, number = await backend.folder.add_revision(new_revision(document, "changed"), file)
    assert (after.id, number) == (document.id, 2)
    assert await file_at(backend, "a.txt") == file
    assert await backend.folder.stale_duplicates() == ["b.txt"]


async def test_a_revision_of_a_deleted_document_is_refused_with_its_file(backend: Backend) -> None:
    document = await add(backend, "a.txt", "alpha")
    before = await file_at(backend, "a.txt")
    await backend.store.delete_document(document.id)
    with pytest.raises(KnowledgeError) as caught:
        await backend.folder.add_revision(new_revision(document, "beta"), folder_file("a.txt", "beta"))
    assert caught.value.code == "DOCUMENT_NOT_FOUND"
    assert (await file_at(backend, "a.txt")).sha256 == before.sha256


async def test_a_deleted_document_shows_on_its_file(backend: Backend) -> None:
    document = await add(backend, "a.txt", "alpha")
    await backend.store.delete_document(document.id)
    file = await file_at(backend, "a.txt")
    assert (file.outcome, file.document_id) == ("deleted", None)
    await backend.folder.write([file])
    assert await file_at(backend, "a.txt") == file
    assert await backend.folder.count_passed_over() == {"deleted": 1}
    assert [item.path for item in await backend.folder.passed_over(10, outcomes=["deleted"])] == ["a.txt"]
    assert await backend.folder.passed_over(10, outcomes=["failed"]) == []


async def test_pages_go_by_path_and_can_be_narrowed(backend: Backend) -> None:
    outcomes = {"a": "skipped", "b": "failed", "c": "skipped", "d": "document"}
    await backend.folder.write(
        [folder_file(path, outcome=outcome) for path, outcome in outcomes.items() if outcome != "document"]
    )
    await add(backend, "d", "delta")
    assert [item.path for item in await backend.folder.page(2)] == ["a", "b"]
    assert [item.path for item in await backend.folder.page(9, after_path="b")] == ["c", "d"]
    assert [item.path for item in await backend.folder.passed_over(9, outcomes=["skipped"])] == ["a", "c"]
    assert [item.path for item in await backend.folder.passed_over(9, "a", ["skipped", "failed"])] == ["b", "c"]
    assert await backend.folder.count_passed_over() == {"failed": 1, "skipped": 2}


async def test_a_document_that_failed_shows_on_its_file_to_people_alone(backend: Backend) -> None:
    document = await add(backend, "a.txt", "alpha")
    await backend.queue.fail(await claim_one(backend), "DOCUMENT_MALFORMED", "why", None)
    (shown,) = await backend.folder.passed_over(10)
    assert (shown.outcome, shown.reason, shown.document_id) == ("failed", "DOCUMENT_MALFORMED: why", document.id)
    assert await backend.folder.count_passed_over() == {"failed": 1}
    assert (await file_at(backend, "a.txt")).outcome == "document"
    assert [item.outcome for item in await backend.folder.page(10)] == ["document"]


async def test_a_moved_file_takes_its_document_along(backend: Backend) -> None:
    document = await add(backend, "old/a.txt", "alpha", title="a")
    item = indexed(await claim_one(backend), [chunk(0, "alpha")], title="a")
    await backend.store.index_revisions([item], FINGERPRINT)
    former = await file_at(backend, "old/a.txt")
    moved = await backend.folder.move(former, replace(former, path="new/b.txt", metadata={"x": 1}), "b.txt")
    assert moved is not None
    assert (moved.id, moved.source_path, moved.original_filename) == (document.id, "new/b.txt", "b.txt")
    assert (moved.title, moved.metadata, moved.status) == ("b", {"x": 1}, "ready")
    assert await backend.folder.files(["old/a.txt"]) == {}
    assert (await file_at(backend, "new/b.txt")).document_id == document.id
    assert await backend.queue.claim("worker-1", 10, 1000) == []
    (revision,) = await backend.store.list_revisions(document.id)
    assert revision.original_filename == "b.txt"


async def test_a_title_from_the_content_or_the_user_does_not_follow_the_file(backend: Backend) -> None:
    by_content = await add(backend, "a.txt", "alpha", title="a")
    await finish(backend)
    by_user = await add(backend, "b.txt", "beta", title="b")
    await backend.store.update_document(by_user.id, title="b")
    for path in ("a.txt", "b.txt"):
        former = await file_at(backend, path)
        await backend.folder.move(former, replace(former, path=f"new-{path}"), f"new-{path}")
    assert (await backend.store.get_documents([by_content.id]))[by_content.id].title == "A parsed title"
    assert (await backend.store.get_documents([by_user.id]))[by_user.id].title == "b"


async def test_a_file_moved_while_its_document_is_at_work_is_worked_on_anew(backend: Backend) -> None:
    await add(backend, "a.txt", "alpha", title="a")
    job = await claim_one(backend)
    former = await file_at(backend, "a.txt")
    await backend.folder.move(former, replace(former, path="b.txt"), "b.txt")
    assert await backend.store.index_revisions([indexed(job, [chunk(0, "alpha")])], FINGERPRINT) == [False]
    assert (await claim_one(backend)).filename == "b.txt"


async def test_a_revision_may_move_the_document_too(backend: Backend) -> None:
    document = await add(backend, "a.txt", "alpha")
    file = folder_file("a.md", "alpha", document_id=document.id)
    after, _ = await backend.folder.add_revision(new_revision(document, "alpha"), file, "a.txt")
    assert after.source_path == "a.md"
    assert await backend.folder.files(["a.txt"]) == {}


async def test_a_document_that_replaces_another_does_so_when_it_is_ready(backend: Backend) -> None:
    old = await add(backend, "a.txt", "alpha")
    await finish(backend, "alpha")
    collection = await backend.store.create_collection("Kept", None)
    await backend.store.update_document(old.id, title="Mine", collection_id=collection.id)
    new = await add(backend, "a.txt", "alpha", replaces=old.id, metadata={"x": 1})
    assert new.id != old.id
    assert (await backend.store.get_document(old.id)) is not None
    assert set(await backend.store.reusable_vectors(new.id, ["alpha"], FINGERPRINT)) == {"alpha"}
    await finish(backend, "alpha")
    assert await backend.store.get_document(old.id) is None
    ready = await backend.store.get_document(new.id)
    assert ready is not None
    assert (ready.title, ready.collection_id, ready.metadata) == ("Mine", collection.id, {"x": 1})
    (job,) = await backend.queue.claim("worker-1", 10, 1000)
    assert (job.kind, job.document_id) == ("delete", old.id)
    assert await backend.store.finish_delete(job)
    assert (await file_at(backend, "a.txt")).document_id == new.id


async def test_when_the_replacing_document_fails_the_old_one_stays(backend: Backend) -> None:
    old = await add(backend, "a.txt", "alpha")
    await finish(backend)
    new = await add(backend, "a.txt", "beta", replaces=old.id)
    await backend.queue.fail(await claim_one(backend), "DOCUMENT_MALFORMED", "why", None)
    assert {item.id for item in await backend.store.list_documents(DocumentQuery())} == {old.id, new.id}
    assert (await file_at(backend, "a.txt")).document_id == new.id
    await backend.store.delete_document(new.id)
    assert (await file_at(backend, "a.txt")).document_id == old.id


async def test_a_replacement_of_a_replacement_ends_with_one_document(backend: Backend) -> None:
    first = await add(backend, "a.txt", "alpha")
    await finish(backend)
    await backend.folder.add_document(new_document("alpha"), folder_file("twin.txt", "alpha"))
    second = await add(backend, "a.txt", "alpha", replaces=first.id)
    waiting = await claim_one(backend)
    third = await add(backend, "a.txt", "alpha", replaces=second.id)
    await finish(backend)
    assert [item.id for item in await backend.store.list_documents(DocumentQuery())] == [third.id]
    assert await backend.store.index_revisions([indexed(waiting, [chunk(0, "x")])], FINGERPRINT) == [False]
    assert (await file_at(backend, "twin.txt")).document_id == third.id


async def test_documents_are_counted_with_those_out_of_archives(backend: Backend) -> None:
    document = await add(backend, "a.txt", "alpha")
    await backend.folder.add_document(new_document("alpha"), folder_file("twin.txt", "alpha"))
    await backend.store.create_document(new_document("not from the folder"))
    made = await backend.archives.create(
        NewArchive("arc_1", "box.zip", 1, "00" * 32, "archives/arc_1", source_path="box.zip")
    )
    await backend.folder.write([folder_file("box.zip", "zip", outcome="archive", archive_id=made.id)])
    held = await backend.archives.claim("worker-1", 60_000)
    assert held is not None
    assert await backend.folder.waiting_jobs() > 64
    inner = await backend.archives.add_document(held, 0, "inner.txt", new_document("inner"))
    assert inner is not None
    assert await backend.folder.document_count() == 2
    assert await backend.folder.documents_of(["a.txt", "twin.txt"]) == [document.id]
    assert await backend.folder.documents_of(["box.zip"]) == [inner[1].id]
    former = await file_at(backend, "box.zip")
    assert await backend.folder.move(former, replace(former, path="moved.zip"), "moved.zip") is None
    assert await backend.folder.documents_of(["moved.zip"]) == [inner[1].id]


async def test_the_state_of_the_scan_is_kept_for_other_processes(backend: Backend, other_process: Backend) -> None:
    assert await backend.folder.scan_state() is None
    state = {"state": "scanning", "path": "caf\udce9.txt", "at": None}
    await backend.folder.save_scan_state(state)
    assert await other_process.folder.scan_state() == state


async def test_a_purge_forgets_the_folder(backend: Backend) -> None:
    await add(backend, "a.txt", "alpha")
    await backend.folder.save_scan_state({"state": "completed"})
    await backend.store.purge_documents()
    assert await backend.folder.page(10) == []
    assert await backend.folder.scan_state() is None
