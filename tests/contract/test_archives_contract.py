"""What every archive store promises."""

from typing import Any

import pytest
from contract_kit import LEASE_MS, Backend, claim_one, indexed, new_document, new_revision

from mcp_knowledge.domain.documents import ArchiveEntry, ArchiveImport, new_id
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import NewArchive, Position

SHA256 = "ab" * 32


def new_archive(**changes: Any) -> NewArchive:
    archive_id = new_id("arc")
    return NewArchive(archive_id, "letters.zip", 1234, SHA256, f"archives/{archive_id}", **changes)


async def claimed(backend: Backend, **changes: Any) -> ArchiveImport:
    new = new_archive(**changes)
    await backend.archives.create(new)
    held = await backend.archives.claim("worker-1", LEASE_MS)
    assert held is not None and held.id == new.id
    return held


async def import_one(backend: Backend, path: str, text: str, **changes: Any) -> ArchiveEntry:
    """A whole import of an archive with one file; what became of the file."""
    held = await claimed(backend, **changes)
    added = await backend.archives.add_document(held, 0, path, new_document(text, source_path=path))
    assert added is not None
    await backend.archives.finish(held)
    return added[0]


async def test_a_new_import_waits_and_keeps_what_it_was_given(backend: Backend) -> None:
    collection = await backend.store.create_collection("Letters", None)
    new = new_archive(
        collection_id=collection.id, metadata={"year": 2025}, source_path="in/letters.zip", source_url="https://x.test/"
    )
    created = await backend.archives.create(new)
    assert created == await backend.archives.get(new.id)
    assert (created.id, created.state, created.attempt, created.blob_key) == (new.id, "queued", 0, new.blob_key)
    assert (created.collection_id, created.metadata) == (collection.id, {"year": 2025})
    assert (created.source_path, created.source_url) == ("in/letters.zip", "https://x.test/")
    assert (created.sha256, created.size_bytes, created.original_filename) == (SHA256, 1234, "letters.zip")
    assert (created.file_count, created.examined, created.ended) == (None, 0, False)
    assert (created.started_at_ms, created.completed_at_ms, created.error) == (None, None, None)
    assert await backend.archives.get("arc_none") is None


async def test_an_unknown_collection_is_refused(backend: Backend) -> None:
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
        await backend.archives.create(new_archive(collection_id="col_none"))
    assert await backend.archives.list(10) == []


async def test_imports_are_listed_newest_first_page_by_page(backend: Backend) -> None:
    ids = []
    for _ in range(5):
        ids.append((await backend.archives.create(new_archive())).id)
    first = await backend.archives.list(3)
    assert [item.id for item in first] == ids[:1:-1]
    rest = await backend.archives.list(3, Position(first[-1].created_at_ms, first[-1].id))
    assert [item.id for item in rest] == ids[1::-1]
    assert [item.id for item in await backend.archives.unfinished()] == ids


async def test_imports_are_claimed_oldest_first_and_each_by_one(backend: Backend, other_process: Backend) -> None:
    ids = [(await backend.archives.create(new_archive())).id for _ in range(2)]
    first = await backend.archives.claim("worker-1", LEASE_MS)
    second = await other_process.archives.claim("worker-2", LEASE_MS)
    assert first is not None and second is not None
    assert [first.id, second.id] == ids
    assert (first.state, first.attempt, first.worker) == ("extracting", 1, "worker-1")
    assert first.started_at_ms is not None
    assert await backend.archives.claim("worker-1", LEASE_MS) is None


async def test_a_lease_that_ran_out_lets_another_claim_and_fences_the_first(backend: Backend) -> None:
    first = await claimed(backend)
    backend.clock.forward(LEASE_MS // 2)
    assert await backend.archives.renew(first, LEASE_MS)
    backend.clock.forward(LEASE_MS // 2 + 1)
    assert await backend.archives.claim("worker-2", LEASE_MS) is None
    backend.clock.forward(LEASE_MS // 2)
    second = await backend.archives.claim("worker-2", LEASE_MS)
    assert second is not None and (second.id, second.attempt) == (first.id, 2)

    archives = backend.archives
    assert not await archives.renew(first, LEASE_MS)
    assert not await archives.release(first)
    assert not await archives.set_file_count(first, 3)
    assert not await archives.skip(first, [ArchiveEntry(0, "a.exe", "unsupported", error="CODE: x")])
    assert await archives.add_document(first, 1, "a.txt", new_document("late")) is None
    assert await archives.finish(first) is None
    assert (await archives.entries([first.id]))[first.id] == []
    assert await backend.store.find_by_sha256(new_document("late").sha256) is None


async def test_a_released_import_is_due_again_when_it_should_be(backend: Backend) -> None:
    held = await claimed(backend)
    assert await backend.archives.release(held, 5_000)
    waiting = await backend.archives.get(held.id)
    assert waiting is not None and (waiting.state, waiting.worker) == ("queued", None)
    assert await backend.archives.claim("worker-1", LEASE_MS) is None
    backend.clock.forward(5_000)
    again = await backend.archives.claim("worker-1", LEASE_MS)
    assert again is not None and again.attempt == 2
    assert again.started_at_ms == held.started_at_ms


async def test_a_file_and_its_document_are_written_together(backend: Backend) -> None:
    held = await claimed(backend)
    assert await backend.archives.set_file_count(held, 3)
    new = new_document("hello", source_path="a/b.txt", metadata={"k": 1})
    added = await backend.archives.add_document(held, 4, "a/b.txt", new)
    assert added is not None
    entry, document = added
    assert entry == ArchiveEntry(4, "a/b.txt", "extracted", new.id)
    assert (document.id, document.source_path, document.metadata) == (new.id, "a/b.txt", {"k": 1})
    assert (await claim_one(backend)).document_id == new.id
    skipped = [ArchiveEntry(0, "x.exe", "unsupported", error="CODE: no"), ArchiveEntry(9, "y", "failed", error="C: y")]
    assert await backend.archives.skip(held, skipped)
    entries = (await backend.archives.entries([held.id]))[held.id]
    assert entries == [skipped[0], entry, skipped[1]]
    item = await backend.archives.get(held.id)
    assert item is not None and item.file_count == 3 and item.examined == 3
    assert item.outcomes == {"extracted": 1, "duplicate": 0, "unsupported": 1, "oversized": 0, "failed": 1}


async def test_the_files_passed_over_can_be_listed_alone_up_to_a_number(backend: Backend) -> None:
    held = await claimed(backend)
    await backend.archives.add_document(held, 0, "a.txt", new_document("a"))
    skipped = [ArchiveEntry(number, f"{number}.exe", "unsupported", error="C: x") for number in range(1, 6)]
    await backend.archives.skip(held, skipped)
    assert await backend.archives.entries([held.id, "arc_none"], skipped_limit=2) == {
        held.id: skipped[:2],
        "arc_none": [],
    }


async def test_bytes_that_a_live_document_has_are_a_duplicate(backend: Backend) -> None:
    known, _ = await backend.store.create_document(new_document("the same"))
    held = await claimed(backend)
    added = await backend.archives.add_document(held, 0, "copy.txt", new_document("the same"))
    assert added is not None and added[0] == ArchiveEntry(0, "copy.txt", "duplicate", known.id)
    twice = await backend.archives.add_document(held, 1, "copy2.txt", new_document("the same"))
    assert twice is not None and twice[0].outcome == "duplicate"


@pytest.mark.parametrize(
    ("outcomes", "error", "state"),
    [
        ((), None, "completed"),
        (("unsupported",), None, "completed"),
        (("unsupported", "failed"), None, "completed_with_errors"),
        (("oversized",), None, "completed_with_errors"),
        ((), "ARCHIVE_ENCRYPTED: no", "failed"),
    ],
)
async def test_an_import_ends_in_the_state_that_its_files_give_it(
    backend: Backend, outcomes: tuple[Any, ...], error: str | None, state: str
) -> None:
    held = await claimed(backend)
    await backend.archives.skip(held, [ArchiveEntry(i, f"{i}", item, error="C: x") for i, item in enumerate(outcomes)])
    ended = await backend.archives.finish(held, error)
    assert ended is not None and ended == await backend.archives.get(held.id)
    assert (ended.state, ended.error, ended.blob_key, ended.worker) == (state, error, None, None)
    assert ended.ended and ended.completed_at_ms is not None
    backend.clock.forward(10 * LEASE_MS)
    assert await backend.archives.claim("worker-1", LEASE_MS) is None
    assert await backend.archives.unfinished() == []


async def test_a_changed_file_of_the_same_archive_is_a_revision_of_its_document(backend: Backend) -> None:
    first = await import_one(backend, "a.txt", "one", source_path="in/x.zip")
    job = await claim_one(backend)
    await backend.store.index_revisions([indexed(job, [])], "model-a")
    second = await import_one(backend, "a.txt", "two", source_path="in/x.zip")
    assert (second.outcome, second.document_id) == ("extracted", first.document_id)
    same = await import_one(backend, "a.txt", "two", source_path="in/x.zip")
    assert (same.outcome, same.document_id) == ("duplicate", first.document_id)
    assert first.document_id is not None
    revisions = await backend.store.list_revisions(first.document_id)
    assert [item.sha256 for item in revisions] == [new_document("two").sha256, new_document("one").sha256]


async def test_only_the_same_path_of_an_archive_in_the_same_place_is_revised(backend: Backend) -> None:
    first = await import_one(backend, "a.txt", "one", source_path="in/x.zip")
    texts = iter(("two", "three", "four"))
    for path, place in (("b.txt", "in/x.zip"), ("a.txt", "in/y.zip"), ("a.txt", None)):
        other = await import_one(backend, path, next(texts), source_path=place)
        assert other.outcome == "extracted" and other.document_id != first.document_id


async def test_a_deleted_document_is_not_revived_by_a_changed_archive(backend: Backend) -> None:
    first = await import_one(backend, "a.txt", "one", source_path="x.zip")
    assert first.document_id is not None
    await backend.store.delete_document(first.document_id)
    second = await import_one(backend, "a.txt", "two", source_path="x.zip")
    assert second.outcome == "extracted" and second.document_id != first.document_id


async def test_a_path_that_an_archive_holds_twice_gives_two_documents_each_with_its_own_revisions(
    backend: Backend,
) -> None:
    seen = []
    for texts in (("one", "two"), ("three", "four")):
        held = await claimed(backend, source_path="x.zip")
        added = [
            await backend.archives.add_document(held, i, "a.txt", new_document(text)) for i, text in enumerate(texts)
        ]
        seen.append([item[0].document_id for item in added if item is not None])
        await backend.archives.finish(held)
    assert len(set(seen[0])) == 2 and seen[0] == seen[1]


async def test_a_revision_by_hand_in_between_does_not_confuse_a_changed_archive(backend: Backend) -> None:
    first = await import_one(backend, "a.txt", "one", source_path="x.zip")
    document = await backend.store.get_document(first.document_id or "")
    assert document is not None
    await backend.store.create_revision(new_revision(document, "by hand"))
    known = await import_one(backend, "a.txt", "by hand", source_path="x.zip")
    assert (known.outcome, known.document_id) == ("duplicate", document.id)
    back = await import_one(backend, "a.txt", "one", source_path="x.zip")
    assert (back.outcome, back.document_id) == ("extracted", document.id)


async def test_the_blob_is_held_until_the_import_has_ended_and_a_purge_names_it(backend: Backend) -> None:
    held = await claimed(backend)
    assert await backend.store.blob_keys() == {held.blob_key}
    await backend.archives.finish(held)
    assert await backend.store.blob_keys() == set()

    waiting = await backend.archives.create(new_archive())
    entry = await import_one_claimed(backend, waiting)
    assert set(await backend.store.purge_documents()) >= {waiting.blob_key}
    assert await backend.archives.list(10) == []
    assert entry.document_id is not None and await backend.store.get_document(entry.document_id) is None


async def import_one_claimed(backend: Backend, waiting: ArchiveImport) -> ArchiveEntry:
    held = await backend.archives.claim("worker-1", LEASE_MS)
    assert held is not None and held.id == waiting.id
    added = await backend.archives.add_document(held, 0, "a.txt", new_document("a"))
    assert added is not None
    return added[0]


async def test_a_purge_takes_the_import_from_its_worker(backend: Backend) -> None:
    held = await claimed(backend)
    await backend.store.purge_documents()
    assert await backend.archives.add_document(held, 0, "a.txt", new_document("a")) is None
    assert await backend.archives.finish(held) is None
    assert await backend.store.find_by_sha256(new_document("a").sha256) is None


async def test_a_collection_goes_only_when_no_import_is_on_its_way_into_it(backend: Backend) -> None:
    collection = await backend.store.create_collection("Letters", None)
    held = await claimed(backend, collection_id=collection.id)
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_EMPTY"):
        await backend.store.delete_collection(collection.id)
    await backend.archives.finish(held)
    await backend.store.delete_collection(collection.id)
    item = await backend.archives.get(held.id)
    assert item is not None and item.collection_id is None
