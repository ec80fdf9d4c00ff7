from dataclasses import replace
from typing import Any, cast

import pytest
from contract_kit import VERSIONS, Backend, add, claim_one, new_document, new_revision
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.ports import DocumentQuery, DocumentSort, Position

SORTED_BY: dict[DocumentSort, Any] = {
    "createdAt": lambda item: item.created_at_ms,
    "updatedAt": lambda item: item.updated_at_ms,
    "title": lambda item: item.title.casefold(),
    "sizeBytes": lambda item: item.size_bytes,
}
SHOWN: dict[DocumentSort, Any] = SORTED_BY | {"title": lambda item: item.title}


async def all_pages(backend: Backend, query: dict[str, Any], limit: int) -> list[Document]:
    found: list[Document] = []
    after: Position | None = None
    while page := await backend.store.list_documents(DocumentQuery(**query, limit=limit, after=after)):
        assert len(page) <= limit
        found += page
        assert len(found) < 100, "the pages go round in circles"
        after = Position(SHOWN[query["sort"]](page[-1]), page[-1].id)
    return found


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    titles=st.lists(st.sampled_from(["a", "A", "b", "Ä", "ä", "straße", "STRASSE", "z"]), max_size=9),
    steps=st.lists(st.sampled_from([0, 0, 1]), min_size=9, max_size=9),
    sort=st.sampled_from(sorted(SORTED_BY)),
    descending=st.booleans(),
    limit=st.integers(1, 4),
)
async def test_pages_hold_every_document_once_in_a_total_order(
    backend: Backend, titles: list[str], steps: list[int], sort: str, descending: bool, limit: int
) -> None:
    await backend.store.purge_documents()
    for i, title in enumerate(titles):
        await backend.store.create_document(new_document(f"{i % 3} {i}", title=title, size_bytes=i % 3))
        backend.clock.forward(steps[i])

    by = cast(DocumentSort, sort)
    found = await all_pages(backend, {"sort": by, "descending": descending}, limit)

    expected = sorted(found, key=lambda item: (SORTED_BY[by](item), item.id), reverse=descending)
    assert len(found) == len({item.id for item in found}) == len(titles)
    assert found == expected


async def test_a_page_goes_on_where_it_was_when_documents_come_and_go(backend: Backend) -> None:
    for i in range(6):
        await backend.store.create_document(new_document(str(i)))
        backend.clock.forward(1)
    first = await backend.store.list_documents(DocumentQuery(limit=3))
    await backend.store.create_document(new_document("newer"))
    await backend.store.delete_document(first[-1].id)

    after = Position(first[-1].created_at_ms, first[-1].id)
    second = await backend.store.list_documents(DocumentQuery(limit=10, after=after))

    assert len(second) == 3
    assert all(item.created_at_ms < first[-1].created_at_ms for item in second)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("ÜBER", {"über.TXT"}),
        ("100%", {"100%.txt"}),
        ("%", {"100%.txt"}),
        ("a_b", {"a_b.txt"}),
        ("_", {"a_b.txt"}),
        (".txt", {"über.TXT", "100%.txt", "a_b.txt"}),
        ("report", {"über.TXT"}),
        ("\\", set()),
    ],
)
async def test_a_search_finds_a_part_of_title_or_file_name_literally(
    backend: Backend, search: str, found: set[str]
) -> None:
    for name in ("über.TXT", "100%.txt", "a_b.txt"):
        title = "Annual REPORT" if name == "über.TXT" else "Notes"
        await backend.store.create_document(new_document(name, title=title, original_filename=name))

    documents = await backend.store.list_documents(DocumentQuery(search=search))

    assert {item.original_filename for item in documents} == found


async def test_lists_narrow_by_collection_status_and_metadata_together(backend: Backend) -> None:
    collection = await backend.store.create_collection("Shelf", None)
    wanted = await add(backend, collection_id=collection.id, metadata={"year": 2024})
    await add(backend, collection_id=collection.id, metadata={"year": 2023})
    await add(backend, metadata={"year": 2024})
    await backend.store.create_document(new_document("waiting", collection_id=collection.id, metadata={"year": 2024}))

    query = DocumentQuery(collection.id, ("ready",), filters=(Filter("year", "eq", 2024),))

    assert [item.id for item in await backend.store.list_documents(query)] == [wanted.id]
    assert await backend.store.list_documents(DocumentQuery("col_unknown")) == []


async def test_deleted_documents_are_listed_only_when_asked_for(backend: Backend) -> None:
    document = await add(backend, metadata={"kept": True})
    await backend.store.delete_document(document.id)
    assert await backend.store.list_documents(DocumentQuery()) == []
    (deleting,) = await backend.store.list_documents(DocumentQuery(statuses=("deleting", "deleted")))
    assert deleting.status == "deleting"
    await backend.store.finish_delete(await claim_one(backend))

    (tombstone,) = await backend.store.list_documents(DocumentQuery(statuses=("deleted",)))

    assert (tombstone.id, tombstone.title, tombstone.metadata) == (document.id, document.title, {"kept": True})


async def test_counts_tell_the_state_of_everything(backend: Backend) -> None:
    await add(backend, "one", "two")
    stale = VERSIONS
    for code in ("DOCUMENT_EMPTY", "DOCUMENT_EMPTY", "DOCUMENT_ENCRYPTED"):
        await backend.store.create_document(new_document(f"{code} {await backend.store.generation()}"))
        await backend.queue.fail(await claim_one(backend), code, "No.", None)
    for i in range(3):
        await backend.store.create_document(new_document(f"waiting {i}"))
    await backend.queue.claim("worker-1", 1, 60_000)
    await backend.queue.claim("worker-2", 1, 60_000)

    counts = await backend.store.counts([stale])

    assert counts.documents == {
        "pending": 1,
        "processing": 2,
        "ready": 1,
        "failed": 3,
        "deleting": 0,
        "deleted": 0,
    }
    assert counts.failed_by_code == {"DOCUMENT_EMPTY": 2, "DOCUMENT_ENCRYPTED": 1}
    assert counts.jobs == {
        "queued": 1,
        "running": 2,
        "completed": 1,
        "failed": 3,
        "retrying": 0,
        "cancelled": 0,
    }
    assert (counts.chunks, counts.active_workers) == (2, 2)
    backend.clock.forward(60_001)
    assert (await backend.store.counts([stale])).active_workers == 0


async def test_counts_follow_every_step_of_a_document_and_its_jobs(backend: Backend) -> None:
    async def seen() -> tuple[dict[str, int], dict[str, int], int]:
        counts = await backend.store.counts([VERSIONS])
        documents = {str(status): number for status, number in counts.documents.items() if number}
        jobs = {str(status): number for status, number in counts.jobs.items() if number}
        return documents, jobs, counts.chunks

    assert await seen() == ({}, {}, 0)
    document = await add(backend, "one", "two")
    assert await seen() == ({"ready": 1}, {"completed": 1}, 2)
    await backend.store.reindex_document(document.id)
    assert await seen() == ({"ready": 1}, {"completed": 1, "queued": 1}, 2)
    job = await claim_one(backend)
    assert await seen() == ({"ready": 1}, {"completed": 1, "running": 1}, 2)
    await backend.queue.fail(job, "INGESTION_FAILED", "No.", 1000)
    assert await seen() == ({"ready": 1}, {"completed": 1, "retrying": 1}, 2)
    await backend.store.delete_document(document.id)
    assert await seen() == ({"deleting": 1}, {"completed": 1, "cancelled": 1, "queued": 1}, 0)
    await backend.store.finish_delete(await claim_one(backend))
    assert await seen() == ({"deleted": 1}, {"completed": 2, "cancelled": 1}, 0)
    await backend.store.purge_documents()
    assert await seen() == ({}, {}, 0)


async def test_documents_made_with_versions_that_are_not_current_are_stale(backend: Backend) -> None:
    await add(backend)
    other_parser = VERSIONS.__class__(
        "pdf", "9", *(VERSIONS.chunker_name, VERSIONS.chunker_version), "model-a", 384, "1"
    )

    assert (await backend.store.counts([other_parser, VERSIONS])).stale_documents == 0
    counts = await backend.store.counts([other_parser])
    assert counts.stale_documents == 1 and counts.stale == {VERSIONS: 1}


async def test_stale_documents_are_listed_and_queued_again_alone(backend: Backend) -> None:
    newer = replace(VERSIONS, parser_version="2")
    documents = sorted([await add(backend, str(number)) for number in range(3)], key=lambda item: item.id)
    await backend.store.create_document(new_document("not ready yet"))
    assert await backend.store.stale_documents([VERSIONS], 10) == []
    assert await backend.store.stale_documents([], 10) == []
    assert await backend.store.reindex_documents("", 10, [VERSIONS]) == ([], None)

    listed = await backend.store.stale_documents([newer], 2)
    assert [(item.id, made.parser_version) for item, made in listed] == [(item.id, "1") for item in documents[:2]]
    rest = await backend.store.stale_documents([newer], 10, after_id=listed[-1][0].id)
    assert [item.id for item, _ in rest] == [documents[2].id]
    queued, _ = await backend.store.reindex_documents("", 10, [newer])
    assert queued == [item.id for item in documents]


async def test_the_size_of_originals_is_that_of_all_revisions(backend: Backend) -> None:
    assert await backend.store.originals_bytes() == 0
    document, _ = await backend.store.create_document(new_document("12345"))
    await backend.store.create_revision(new_revision(document, "123"))
    assert await backend.store.originals_bytes() == 8
