"""Where any chunk stands on either side, however far behind: the same as by ranking everything."""

import numpy as np
from contract_kit import DIMENSIONS, FINGERPRINT, Backend, add, chunk, claim_one, fake_vector, indexed, new_document

from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Scope
from mcp_knowledge.ports import Vector

EVERYTHING = Scope()


async def add_rows(backend: Backend, bucket: int, vectors: Vector) -> str:
    new = new_document(f"{bucket} {vectors.tobytes().hex()[:64]}", metadata={"bucket": bucket})
    await backend.store.create_document(new)
    chunks = [chunk(number, f"{bucket}/{number}") for number in range(len(vectors))]
    item = indexed(await claim_one(backend), chunks, vectors=vectors)
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]
    return new.id


async def test_a_place_is_that_of_the_whole_ranking_in_every_scope(backend: Backend) -> None:
    random = np.random.default_rng(7)
    rows = random.standard_normal((600, DIMENSIONS)) + 2 * random.standard_normal(DIMENSIONS)
    vectors = np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
    vectors[100:110] = vectors[100]  # ties
    for bucket in range(6):
        await add_rows(backend, bucket, vectors[bucket * 100 : (bucket + 1) * 100])
    query = np.asarray(random.standard_normal(DIMENSIONS), np.float32)
    query /= np.linalg.norm(query)
    for scope in (
        EVERYTHING,
        Scope(filters=parse_filters({"bucket": 1})),
        Scope(filters=parse_filters({"bucket": {"neq": 0}})),
    ):
        ranking = await backend.vectors.search(query, 600, scope)
        scores = [item.score for item in ranking]
        for rank, item in enumerate(ranking, 1):
            if rank % 7 and scores.count(item.score) == 1:
                continue
            place = await backend.vectors.place(query, item.chunk_no, scope)
            assert place is not None
            assert (place.rank, place.among) == (rank, len(ranking))
            assert abs(place.score - item.score) < 1e-6


async def test_what_may_not_answer_has_no_place(backend: Backend) -> None:
    query = fake_vector("pump")
    assert await backend.vectors.place(query, 1, EVERYTHING) is None
    pump, valve = (
        await add(backend, "pump", metadata={"kind": "a"}),
        await add(backend, "valve", metadata={"kind": "b"}),
    )
    (number,) = [item.chunk_no for item in await backend.vectors.search(query, 1, EVERYTHING)]
    place = await backend.vectors.place(query, number, EVERYTHING)
    assert place is not None and (place.rank, place.among) == (1, 2)
    assert await backend.vectors.place(query, number, Scope(document_ids=(valve.id,))) is None
    assert await backend.vectors.place(query, number, Scope(filters=parse_filters({"kind": "b"}))) is None
    assert await backend.vectors.place(query, number + 1000, EVERYTHING) is None
    await backend.store.reindex_document(valve.id)
    item = indexed(await claim_one(backend), [chunk(0, "valve")])
    assert await backend.store.index_revisions([item], "model-b") == [True]
    other = (await backend.store.list_chunks(valve.id, 1))[0]
    assert await backend.vectors.place(query, other.chunk_no, EVERYTHING) is None, "another model's vector"
    await backend.store.delete_document(pump.id)
    assert await backend.vectors.place(query, number, EVERYTHING) is None


async def test_the_chunks_with_a_phrase_are_counted(backend: Backend) -> None:
    assert await backend.lexical.count([], 10) == []
    assert await backend.lexical.count([Phrase(("pump",))], 10) == [0]
    await add(
        backend, "the pump leaks", "the valve leaks", "INV-0042 is paid", title="Manual", heading_path=("Repair",)
    )
    await add(backend, "pump pump pump", "0042 INV", title="Other")
    phrases = [
        Phrase(("pump",)),
        Phrase(("manual",)),
        Phrase(("repair",)),
        Phrase(("inv", "0042")),
        Phrase(("lea",), prefix=True),
        Phrase(("nowhere",)),
        Phrase(("pump",)),
    ]
    assert await backend.lexical.count(phrases, 10) == [2, 3, 3, 1, 2, 0, 2]
    assert await backend.lexical.count(phrases, 2) == [2, 2, 2, 1, 2, 0, 2]
