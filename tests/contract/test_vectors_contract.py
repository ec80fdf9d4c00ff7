import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from contract_kit import (
    DIMENSIONS,
    FINGERPRINT,
    Backend,
    add,
    chunk,
    claim_one,
    fake_vector,
    indexed,
    new_document,
    new_revision,
)

from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.search import Candidate, Scope
from mcp_knowledge.ports import Vector

EVERYTHING = Scope()


async def contents(backend: Backend, found: Sequence[Candidate]) -> list[str]:
    stored = (await backend.store.get_passages(item.chunk_no for item in found))[0]
    return [stored[item.chunk_no].content for item in found]


def near(text: str, distance: float, seed: int = 0) -> Vector:
    """A unit vector at an angle from the vector of a text."""
    noise = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    vector = fake_vector(text) + distance * noise / np.linalg.norm(noise)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


async def add_vectors(backend: Backend, vectors: Vector, bucket: int = 0) -> str:
    """A ready document with a chunk for each vector."""
    new = new_document(f"{bucket} {vectors.tobytes().hex()[:64]} {len(vectors)}", metadata={"bucket": bucket})
    await backend.store.create_document(new)
    chunks = [chunk(number, f"{bucket}/{number}") for number in range(len(vectors))]
    item = indexed(await claim_one(backend), chunks, vectors=vectors)
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]
    return new.id


async def test_an_empty_index_finds_nothing(backend: Backend) -> None:
    assert await backend.vectors.search(fake_vector("pump"), 10, EVERYTHING) == []


async def test_the_nearest_chunks_come_first_with_their_cosines(backend: Backend) -> None:
    await add(backend, "pump", "valve", "motor")
    query = near("valve", 0.3)
    found = await backend.vectors.search(query, 10, EVERYTHING)
    assert (await contents(backend, found))[0] == "valve"
    expected = sorted((float(fake_vector(text) @ query) for text in ("pump", "valve", "motor")), reverse=True)
    assert [item.score for item in found] == pytest.approx(expected, abs=1e-6)
    assert all(item.match_mode is None for item in found)


async def test_vectors_of_two_models_are_never_compared_and_each_document_is_found_once_its_are_ours(
    backend: Backend,
) -> None:
    first, second = await add(backend, "pump"), await add(backend, "valve")
    query = fake_vector("pump")
    assert len(await backend.vectors.search(query, 10, EVERYTHING)) == 2

    async def embed_again(document_id: str, fingerprint: str) -> None:
        await backend.store.reindex_document(document_id)
        text = "pump" if document_id == first.id else "valve"
        item = indexed(await claim_one(backend), [chunk(0, text)])
        assert await backend.store.index_revisions([item], fingerprint) == [True]

    await embed_again(first.id, "model-b")
    assert await contents(backend, await backend.vectors.search(query, 10, EVERYTHING)) == ["valve"]
    await embed_again(second.id, "model-b")
    assert await backend.vectors.search(query, 10, EVERYTHING) == []
    await embed_again(first.id, FINGERPRINT)
    assert await contents(backend, await backend.vectors.search(query, 10, EVERYTHING)) == ["pump"]
    await embed_again(second.id, FINGERPRINT)
    assert len(await backend.vectors.search(query, 10, EVERYTHING)) == 2


async def test_a_process_that_opens_a_file_of_several_models_reads_only_its_own_vectors(
    backend: Backend, other_process: Backend
) -> None:
    await add(backend, "pump")
    document = await add(backend, "valve")
    await backend.store.reindex_document(document.id)
    item = indexed(await claim_one(backend), [chunk(0, "valve")])
    assert await backend.store.index_revisions([item], "model-b") == [True]

    found = await other_process.vectors.search(fake_vector("valve"), 10, EVERYTHING)

    assert await contents(backend, found) == ["pump"]


async def test_only_as_many_come_as_were_asked_for(backend: Backend) -> None:
    await add(backend, *(f"text {number}" for number in range(30)))
    assert len(await backend.vectors.search(fake_vector("text 3"), 7, EVERYTHING)) == 7
    assert len(await backend.vectors.search(fake_vector("text 3"), 100, EVERYTHING)) == 30


async def test_results_are_the_same_as_by_comparing_with_every_vector(backend: Backend) -> None:
    random = np.random.default_rng(5)
    centres = random.standard_normal((20, DIMENSIONS))
    rows = centres[random.integers(0, 20, 3000)] + 0.6 * random.standard_normal((3000, DIMENSIONS))
    vectors = np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
    for bucket in range(10):
        await add_vectors(backend, vectors[bucket * 300 : (bucket + 1) * 300], bucket)
    for query in vectors[::301]:
        for scope, allowed in (
            (EVERYTHING, range(10)),
            (Scope(filters=parse_filters({"bucket": 7})), (7,)),
            (Scope(filters=parse_filters({"bucket": {"neq": 7}})), (0, 1, 2, 3, 4, 5, 6, 8, 9)),
        ):
            scores = {f"{n // 300}/{n % 300}": float(vectors[n] @ query) for n in range(3000) if n // 300 in allowed}
            best = sorted(scores, key=lambda name: -scores[name])[:50]
            found = await backend.vectors.search(query, 50, scope)
            assert set(await contents(backend, found)) == set(best)
            assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


async def test_a_rare_filter_still_gets_all_its_candidates(backend: Backend) -> None:
    await add(backend, *(f"common {number}" for number in range(400)), metadata={"kind": "common"})
    await add(backend, *(f"rare {number}" for number in range(60)), metadata={"kind": "rare"})
    scope = Scope(filters=parse_filters({"kind": "rare"}))
    found = await backend.vectors.search(fake_vector("common 1"), 50, scope)
    assert len(found) == 50
    assert all(text.startswith("rare") for text in await contents(backend, found))


async def test_scope_by_document_and_collection(backend: Backend) -> None:
    collection = await backend.store.create_collection("Manuals", None)
    inside = await add(backend, "pump", collection_id=collection.id)
    outside = await add(backend, "valve")
    query = fake_vector("pump")

    async def found(scope: Scope) -> list[str]:
        return await contents(backend, await backend.vectors.search(query, 10, scope))

    assert await found(Scope(collection_ids=(collection.id,))) == ["pump"]
    assert await found(Scope(document_ids=(outside.id,))) == ["valve"]
    assert await found(Scope(document_ids=(outside.id, inside.id))) == ["pump", "valve"]
    assert await found(Scope(document_ids=(outside.id,), collection_ids=(collection.id,))) == []
    assert await found(Scope(document_ids=("doc_nobody",))) == []
    await backend.store.update_document(outside.id, collection_id=collection.id)
    assert set(await found(Scope(collection_ids=(collection.id,)))) == {"pump", "valve"}


async def test_changed_metadata_counts_at_once(backend: Backend) -> None:
    document = await add(backend, "pump", metadata={"year": 2020})
    scope = Scope(filters=parse_filters({"year": {"gte": 2024}}))
    assert await backend.vectors.search(fake_vector("pump"), 10, scope) == []
    await backend.store.update_document(document.id, metadata={"year": 2025})
    assert len(await backend.vectors.search(fake_vector("pump"), 10, scope)) == 1


async def test_equal_vectors_have_equal_scores_in_the_order_of_their_chunk_ids(backend: Backend) -> None:
    vectors = np.repeat(fake_vector("pump")[np.newaxis], 40, axis=0)
    await add_vectors(backend, vectors)
    found = await backend.vectors.search(near("pump", 0.5), 40, EVERYTHING)
    assert len({item.score for item in found}) == 1
    assert [item.chunk_id for item in found] == sorted(item.chunk_id for item in found)
    assert len({item.chunk_no for item in found}) == 40


async def test_documents_added_later_are_found_by_the_next_search(backend: Backend) -> None:
    await add(backend, "pump")
    assert len(await backend.vectors.search(fake_vector("valve"), 10, EVERYTHING)) == 1
    for number in range(20):
        await add(backend, f"valve {number}", f"motor {number}")
        found = await backend.vectors.search(fake_vector(f"motor {number}"), 1, EVERYTHING)
        assert await contents(backend, found) == [f"motor {number}"]
    assert len(await backend.vectors.search(fake_vector("pump"), 100, EVERYTHING)) == 41


async def test_a_deleted_document_is_never_found_again(backend: Backend) -> None:
    document = await add(backend, "pump", "pump again")
    await add(backend, "valve")
    await backend.store.delete_document(document.id)
    assert await contents(backend, await backend.vectors.search(fake_vector("pump"), 10, EVERYTHING)) == ["valve"]
    await backend.store.finish_delete(await claim_one(backend))
    assert await contents(backend, await backend.vectors.search(fake_vector("pump"), 10, EVERYTHING)) == ["valve"]


async def test_a_new_revision_takes_the_place_of_the_old_one(backend: Backend) -> None:
    document = await add(backend, "pump", "valve")
    await backend.store.create_revision(new_revision(document, "motor"))
    query = fake_vector("pump")
    before = await contents(backend, await backend.vectors.search(query, 10, EVERYTHING))
    item = indexed(await claim_one(backend), [chunk(0, "motor")])
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]
    after = await contents(backend, await backend.vectors.search(query, 10, EVERYTHING))
    assert before == ["pump", "valve"]
    assert after == ["motor"]


async def test_another_process_that_writes_to_the_same_database_is_noticed(
    backend: Backend, other_process: Backend
) -> None:
    kept = await add(backend, "pump")
    gone = await add(backend, "valve")
    assert len(await other_process.vectors.search(fake_vector("pump"), 10, EVERYTHING)) == 2
    await add(other_process, "motor")
    await other_process.store.delete_document(gone.id)
    here = await backend.vectors.search(fake_vector("motor"), 10, EVERYTHING)
    assert await contents(backend, here) == ["motor", "pump"]
    await backend.store.delete_document(kept.id)
    there = await other_process.vectors.search(fake_vector("pump"), 10, EVERYTHING)
    assert await contents(other_process, there) == ["motor"]


async def test_a_purge_empties_the_index_and_it_fills_again(backend: Backend) -> None:
    await add(backend, "pump")
    assert len(await backend.vectors.search(fake_vector("pump"), 10, EVERYTHING)) == 1
    await backend.store.purge_documents()
    assert await backend.vectors.search(fake_vector("pump"), 10, EVERYTHING) == []
    await add(backend, "valve")
    assert await contents(backend, await backend.vectors.search(fake_vector("pump"), 10, EVERYTHING)) == ["valve"]


async def test_searches_while_documents_change_see_whole_documents(backend: Backend) -> None:
    document = await add(backend, *(f"old {number}" for number in range(5)))
    query, switched = fake_vector("old 1"), asyncio.Event()

    async def switch() -> None:
        try:
            for version in range(8):
                await backend.store.create_revision(new_revision(document, f"version {version}"))
                chunks = [chunk(number, f"v{version} {number}") for number in range(5)]
                await backend.store.index_revisions([indexed(await claim_one(backend), chunks)], FINGERPRINT)
        finally:
            switched.set()

    writing = asyncio.create_task(switch())
    rounds = 0
    while not switched.is_set() or rounds == 0:
        for found in await asyncio.gather(*(backend.vectors.search(query, 10, EVERYTHING) for _ in range(4))):
            assert len(found) == 5
        rounds += 1
    await writing


async def test_vectors_of_another_length_are_passed_over(backend: Backend) -> None:
    if backend.name == "postgres":
        pytest.skip("its column holds vectors of one length; a start with another one is refused")
    new = new_document("short vectors")
    await backend.store.create_document(new)
    job = await claim_one(backend)
    short = replace(indexed(job, [chunk(0, "short")]), vectors=np.ones((1, 8), np.float32))
    assert await backend.store.index_revisions([short], FINGERPRINT) == [True]
    await add(backend, "pump")
    assert await contents(backend, await backend.vectors.search(fake_vector("pump"), 10, EVERYTHING)) == ["pump"]
