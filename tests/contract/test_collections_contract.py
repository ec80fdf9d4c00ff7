import asyncio

import pytest
from contract_kit import Backend, add, claim_one, new_document

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Position


async def test_a_collection_keeps_what_it_was_given(backend: Backend) -> None:
    made = await backend.store.create_collection("Contracts", "Signed ones")

    assert await backend.store.get_collection(made.id) == made
    assert (made.name, made.description, made.document_count) == ("Contracts", "Signed ones", 0)
    assert made.id.startswith("col_")
    assert await backend.store.get_collection("col_unknown") is None


@pytest.mark.parametrize(("first", "second"), [("Verträge", "VERTRÄGE"), ("Straße", "STRASSE"), ("ﬁles", "FILES")])
async def test_names_are_unique_without_regard_to_case_in_any_script(backend: Backend, first: str, second: str) -> None:
    made = await backend.store.create_collection(first, None)
    other = await backend.store.create_collection("Other", None)

    with pytest.raises(KnowledgeError, match="COLLECTION_EXISTS"):
        await backend.store.create_collection(second, None)
    with pytest.raises(KnowledgeError, match="COLLECTION_EXISTS"):
        await backend.store.update_collection(other.id, name=second)
    assert (await backend.store.update_collection(made.id, name=second)).name == second


async def test_two_creations_of_one_name_at_once_leave_one(backend: Backend) -> None:
    results = await asyncio.gather(
        *(backend.store.create_collection("Same", None) for _ in range(5)), return_exceptions=True
    )

    assert sum(isinstance(result, KnowledgeError) for result in results) == 4
    assert len(await backend.store.list_collections(10)) == 1


async def test_an_update_changes_only_what_it_names(backend: Backend) -> None:
    made = await backend.store.create_collection("Name", "Text")
    backend.clock.forward(5)

    renamed = await backend.store.update_collection(made.id, name="Other")
    cleared = await backend.store.update_collection(made.id, description=None)

    assert (renamed.name, renamed.description) == ("Other", "Text")
    assert (cleared.name, cleared.description) == ("Other", None)
    assert cleared.created_at_ms == made.created_at_ms < renamed.updated_at_ms <= cleared.updated_at_ms
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
        await backend.store.update_collection("col_unknown", name="X")


async def test_collections_are_listed_newest_first_in_pages(backend: Backend) -> None:
    made = []
    for i in range(5):
        made.append(await backend.store.create_collection(f"Collection {i}", None))
        backend.clock.forward(1)

    first = await backend.store.list_collections(2)
    second = await backend.store.list_collections(10, Position(first[-1].created_at_ms, first[-1].id))

    assert [item.id for item in first + second] == [item.id for item in reversed(made)]


async def test_a_collection_counts_live_documents_and_goes_only_without_them(backend: Backend) -> None:
    collection = await backend.store.create_collection("Full", None)
    document = await add(backend, "text", collection_id=collection.id)
    await backend.store.create_document(new_document("waiting", collection_id=collection.id))

    counted = await backend.store.get_collection(collection.id)
    assert counted is not None and counted.document_count == 2
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_EMPTY"):
        await backend.store.delete_collection(collection.id)

    await backend.store.delete_document(document.id)
    waiting = await backend.store.find_by_sha256(new_document("waiting").sha256)
    assert waiting is not None
    await backend.store.update_document(waiting.id, collection_id=None)
    await backend.store.delete_collection(collection.id)
    assert await backend.store.list_collections(10) == []
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
        await backend.store.delete_collection(collection.id)


async def test_a_tombstone_outlives_its_collection(backend: Backend) -> None:
    collection = await backend.store.create_collection("Gone", None)
    document = await add(backend, "text", collection_id=collection.id)
    await backend.store.delete_document(document.id)
    assert await backend.store.finish_delete(await claim_one(backend))

    await backend.store.delete_collection(collection.id)

    assert await backend.store.get_collection(collection.id) is None


async def test_all_live_documents_of_a_collection_move_at_once(backend: Backend) -> None:
    full = await backend.store.create_collection("Full", None)
    other = await backend.store.create_collection("Other", None)
    first, second, gone = [await add(backend, text, collection_id=full.id) for text in ("one", "two", "three")]
    stays = await add(backend, "four", collection_id=other.id)
    await backend.store.delete_document(gone.id)
    generation = await backend.store.generation()
    backend.clock.forward(5)

    assert await backend.store.move_documents(full.id, other.id) == 2
    assert await backend.store.generation() > generation
    moved = await backend.store.get_document(first.id)
    assert moved is not None and moved.collection_id == other.id and moved.updated_at_ms > first.updated_at_ms
    assert await backend.store.move_documents(full.id, None) == 0
    assert await backend.store.move_documents(other.id, None) == 3
    for document in (second, stays):
        loose = await backend.store.get_document(document.id)
        assert loose is not None and loose.collection_id is None
    await backend.store.delete_collection(full.id)


async def test_documents_move_nowhere_when_either_collection_is_unknown(backend: Backend) -> None:
    full = await backend.store.create_collection("Full", None)
    document = await add(backend, "text", collection_id=full.id)
    for source, target in (("col_unknown", full.id), (full.id, "col_unknown")):
        with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
            await backend.store.move_documents(source, target)
    kept = await backend.store.get_document(document.id)
    assert kept is not None and kept.collection_id == full.id
