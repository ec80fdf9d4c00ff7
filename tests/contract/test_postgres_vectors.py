"""What only PostgreSQL's vector search does: it walks a graph, or scans, and must give the same answers either way."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
import pytest
from contract_kit import (
    DIMENSIONS,
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
from postgres_fixtures import fresh_name
from postgres_server import Databases

from mcp_knowledge.adapters.postgres import vectors as postgres_vectors
from mcp_knowledge.adapters.postgres.connection import PostgresConnection, PostgresDatabase
from mcp_knowledge.adapters.postgres.vector_graph import drop_graph, make_graph
from mcp_knowledge.adapters.postgres.vectors import PostgresVectorIndex
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.search import Scope
from mcp_knowledge.ports import Vector

DOCUMENTS, CHUNKS_EACH, TOPICS = 500, 6, 30
EVERYTHING = Scope()
on_postgres = pytest.mark.parametrize("backend", ["postgres"], indirect=True)


@dataclass(frozen=True)
class Corpus:
    """Documents and their metadata: `random` and `topic` number them from 0, at random and by what they are about."""

    dsn: str
    vectors: Vector  # [DOCUMENTS, CHUNKS_EACH, DIMENSIONS]
    metadata: Sequence[dict[str, int]]


def unit(rows: Any) -> Vector:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


def made_up() -> tuple[Vector, list[dict[str, int]]]:
    """Vectors in clusters, and metadata that follow them (`topic`) or not (`random`)."""
    draw = np.random.default_rng(4)
    centres = unit(draw.standard_normal((TOPICS, DIMENSIONS)) + 2 * draw.standard_normal(DIMENSIONS))
    centres = centres[np.argsort(centres @ centres[0])]
    topics = np.sort(draw.integers(0, TOPICS, DOCUMENTS))
    noise = unit(draw.standard_normal((DOCUMENTS, CHUNKS_EACH, DIMENSIONS)))
    shuffled = draw.permutation(DOCUMENTS)
    metadata = [{"random": int(shuffled[number]), "topic": number} for number in range(DOCUMENTS)]
    return unit(centres[topics][:, np.newaxis] + 0.5 * noise), metadata


async def fill(dsn: str, vectors: Vector, metadata: Sequence[dict[str, int]]) -> None:
    database = PostgresDatabase(dsn, DIMENSIONS, readers=1, writers=1)
    await database.open()
    store, queue = SqlStore(database), SqlJobQueue(database)
    await database.write(drop_graph)
    numbers = {}
    for number in range(DOCUMENTS):
        new = new_document(f"{number}", metadata=metadata[number])
        numbers[new.id] = number
        await store.create_document(new)
    chunks = [chunk(sequence, f"chunk {sequence}") for sequence in range(CHUNKS_EACH)]
    while jobs := await queue.claim("worker", 100, LEASE_MS):
        items = [indexed(job, chunks, vectors=vectors[numbers[job.document_id]]) for job in jobs]
        assert all(await store.index_revisions(items, FINGERPRINT))
    await database.write(lambda connection: make_graph(connection, DIMENSIONS))
    await database.close()


@pytest.fixture(scope="module")
def corpus(postgres_server: Databases, postgres_template: str) -> Iterator[Corpus]:
    name = fresh_name()
    made = Corpus(postgres_server.create_database(name, postgres_template), *made_up())
    asyncio.run(fill(made.dsn, made.vectors, made.metadata))
    yield made
    postgres_server.drop_database(name)


@pytest.fixture
async def database(corpus: Corpus) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(corpus.dsn, DIMENSIONS, readers=2, writers=1)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the server found each list of nearest chunks."""
    found: list[str] = []
    execute = PostgresConnection.execute

    def explained(self: PostgresConnection, sql: str, params: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        if "nearest" in sql:
            found.append("\n".join(row[0] for row in execute(self, f"EXPLAIN {sql}", params)))
        return execute(self, sql, params)

    monkeypatch.setattr(PostgresConnection, "execute", explained)
    return found


def walking(database: PostgresDatabase) -> PostgresVectorIndex:
    """An index that goes through the graph whenever it may."""
    return PostgresVectorIndex(database, DIMENSIONS, lambda: FINGERPRINT, scanned_chunks=0)


def queries(corpus: Corpus, count: int) -> Vector:
    draw = np.random.default_rng(9)
    near = corpus.vectors[draw.integers(0, DOCUMENTS, count), 0]
    return unit(near + 0.7 * unit(draw.standard_normal(near.shape)))


def best(corpus: Corpus, query: Vector, limit: int, field: str = "random", below: int = DOCUMENTS) -> list[float]:
    """The cosines of the nearest chunks in scope, the highest first."""
    inside = [number for number in range(DOCUMENTS) if corpus.metadata[number][field] < below]
    return sorted((corpus.vectors[inside] @ query).ravel().tolist(), reverse=True)[:limit]


def scope_below(field: str, below: int) -> Scope:
    return Scope(filters=parse_filters({field: {"lte": below - 1}}))


async def recall(index: PostgresVectorIndex, corpus: Corpus, field: str, below: int) -> float:
    """The mean share of the 50 nearest that are found; as many come as there are."""
    shares = []
    for query in queries(corpus, 10):
        wanted = best(corpus, query, 50, field, below)
        found = await index.search(query, 50, scope_below(field, below))
        assert len(found) == len(wanted) == min(50, below * CHUNKS_EACH)
        assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
        shares.append(np.mean([item.score >= wanted[-1] - 1e-6 for item in found]))
    return float(np.mean(shares))


@pytest.mark.parametrize("below", [DOCUMENTS, 50, 5])
@pytest.mark.parametrize("field", ["random", "topic"])
async def test_the_graph_gives_all_candidates_and_nearly_always_the_nearest_however_rare_the_filter(
    corpus: Corpus, database: PostgresDatabase, field: str, below: int
) -> None:
    assert await recall(walking(database), corpus, field, below) >= 0.98


async def test_before_pgvector_0_8_all_candidates_come_too(
    corpus: Corpus, database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_vectors, "pgvector_version", lambda _: (0, 7, 4))
    index = walking(database)
    for field, below in (("random", DOCUMENTS), ("random", 50), ("topic", 50), ("topic", 5)):
        assert await recall(index, corpus, field, below) >= 0.98


@pytest.mark.parametrize("field", ["random", "topic"])
async def test_a_small_corpus_is_searched_exactly(corpus: Corpus, database: PostgresDatabase, field: str) -> None:
    index = PostgresVectorIndex(database, DIMENSIONS, lambda: FINGERPRINT)
    for query in queries(corpus, 10):
        for below in (DOCUMENTS, 20):
            found = await index.search(query, 200, scope_below(field, below))
            assert [item.score for item in found] == pytest.approx(best(corpus, query, 200, field, below), abs=1e-6)


async def test_graph_and_scan_give_a_chunk_the_same_score(corpus: Corpus, database: PostgresDatabase) -> None:
    exact = PostgresVectorIndex(database, DIMENSIONS, lambda: FINGERPRINT)
    (query,) = queries(corpus, 1)
    scores = {item.chunk_no: item.score for item in await exact.search(query, 200, EVERYTHING)}
    walked = await walking(database).search(query, 50, EVERYTHING)
    assert [item.score for item in walked] == [scores[item.chunk_no] for item in walked]


@pytest.mark.parametrize("analyzed", [False, True])
async def test_the_planner_takes_the_graph_for_a_walk_and_never_for_a_scan(
    corpus: Corpus, database: PostgresDatabase, plans: list[str], analyzed: bool
) -> None:
    if analyzed:
        with psycopg.connect(corpus.dsn, autocommit=True) as connection:
            connection.execute("ANALYZE")
    (query,) = queries(corpus, 1)
    few = scope_below("topic", 50)
    scanning = PostgresVectorIndex(database, DIMENSIONS, lambda: FINGERPRINT)
    scanning_few = PostgresVectorIndex(database, DIMENSIONS, lambda: FINGERPRINT, 50 * CHUNKS_EACH)
    for scope in (EVERYTHING, scope_below("random", 250), few):
        await walking(database).search(query, 50, scope)
        assert "Index Scan using chunk_vectors_graph" in plans[0]
        plans.clear()
    for index, scope in ((scanning, EVERYTHING), (scanning, few), (scanning_few, few)):
        await index.search(query, 50, scope)
    assert len(plans) == 3
    assert not any("chunk_vectors_graph" in plan for plan in plans)


async def test_a_walk_that_ends_short_is_made_good_by_a_scan(
    corpus: Corpus, database: PostgresDatabase, plans: list[str]
) -> None:
    found = await walking(database).search(corpus.vectors[-1, 0], 10, scope_below("topic", 1))
    assert len(found) == CHUNKS_EACH
    assert ["chunk_vectors_graph" in plan for plan in plans] == [True, False]


async def test_without_the_graph_searches_are_right_and_it_comes_back_as_the_schema_has_it(
    corpus: Corpus, database: PostgresDatabase
) -> None:
    definition = "SELECT indexdef FROM pg_indexes WHERE indexname = 'chunk_vectors_graph'"
    with psycopg.connect(corpus.dsn, autocommit=True) as connection:
        before = connection.execute(definition).fetchall()
        await database.write(drop_graph)
        assert connection.execute(definition).fetchall() == []
        (query,) = queries(corpus, 1)
        found = await walking(database).search(query, 50, EVERYTHING)
        assert [item.score for item in found] == pytest.approx(best(corpus, query, 50), abs=1e-6)
        for _ in range(2):
            await database.write(lambda connection: make_graph(connection, DIMENSIONS))
        assert connection.execute(definition).fetchall() == before
        assert len(before) == 1


async def test_the_graph_is_read_into_memory_where_the_server_can(corpus: Corpus, database: PostgresDatabase) -> None:
    assert await walking(database).load() == DOCUMENTS * CHUNKS_EACH
    with psycopg.connect(corpus.dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
    assert await walking(database).load() == DOCUMENTS * CHUNKS_EACH


@on_postgres
async def test_the_schema_that_the_tests_clone_has_the_graph_of_a_bulk_load(backend: Backend, corpus: Corpus) -> None:
    definition = "SELECT indexdef FROM pg_indexes WHERE indexname = 'chunk_vectors_graph'"
    with psycopg.connect(backend.where) as migrated, psycopg.connect(corpus.dsn) as loaded:
        assert migrated.execute(definition).fetchall() == loaded.execute(definition).fetchall()


@on_postgres
async def test_the_graph_never_answers_with_what_is_gone_or_of_another_model(backend: Backend) -> None:
    opened = PostgresDatabase(backend.where, DIMENSIONS, readers=1, writers=1)
    await opened.open()
    index = walking(opened)

    async def found(text: str) -> list[str]:
        candidates = await index.search(fake_vector(text), 10, EVERYTHING)
        stored = (await backend.store.get_passages(item.chunk_no for item in candidates))[0]
        return [stored[item.chunk_no].content for item in candidates]

    changed, deleted, kept = [await add(backend, text) for text in ("pump", "valve", "motor")]
    assert (await found("pump"))[0] == "pump"
    await backend.store.create_revision(new_revision(changed, "engine"))
    item = indexed(await claim_one(backend), [chunk(0, "engine")])
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]
    assert set(await found("pump")) == {"engine", "valve", "motor"}
    await backend.store.delete_document(deleted.id)
    assert set(await found("valve")) == {"engine", "motor"}
    await backend.store.finish_delete(await claim_one(backend))
    assert set(await found("valve")) == {"engine", "motor"}
    await backend.store.reindex_document(kept.id)
    item = indexed(await claim_one(backend), [chunk(0, "motor")])
    assert await backend.store.index_revisions([item], "model-b") == [True]
    assert await found("motor") == ["engine"]
    await opened.close()
