"""A generated corpus in PostgreSQL: documents on topics, with metadata that picks them at random or by topic.

Each document is about one of a thousand topics: its vectors lie between the topic's and its neighbours', as those of
real passages do, and each passage has a sentence of the topic's text. (Around a thousand points with nothing in
between, a graph would fall apart into islands.) `topic` numbers regions along a direction in the vectors' space, so
that filters on it leave one part of it: what is nearest to most queries is out of scope, the hard case for a graph.
"""

import asyncio
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import psycopg
from generated import CHUNKS_A_DOCUMENT, WORDS_A_CHUNK, Language, batches, indexed, new_document, noisy

from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.adapters.postgres.text_index import drop_text_index, make_text_index
from mcp_knowledge.adapters.postgres.vector_graph import drop_graph, make_graph
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.ports import Embedder, Vector

TOPICS = 1_000
SHARES = (0.1, 0.01, 0.001)
_TOPIC_WORDS = 48
_SENTENCE_WORDS = 12
_DOCUMENTS_AT_ONCE = 60
_WRITERS = 3
_NEIGHBOURS, _MIXED = 12, 4
_NOISE = 0.15


class Topics:
    """A thousand texts, always the same ones, and sentences of them.

    Args:
        language: where the words come from; its random numbers go on from here.
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self._words = [language.words(_TOPIC_WORDS) for _ in range(TOPICS)]

    async def vectors(self, embedder: Embedder) -> Vector:
        """float32 [TOPICS, dimensions], in the order of the texts."""
        return await embedder.embed_passages([" ".join(words) for words in self._words])

    def passage(self, topic: int) -> str:
        """Running text with a sentence of the topic's."""
        return f"{self.sentence(topic)} {self._language.text(WORDS_A_CHUNK - _SENTENCE_WORDS)}"

    def sentence(self, topic: int) -> str:
        """Twelve neighbouring words of a topic's text."""
        start = int(self._language.random.integers(0, _TOPIC_WORDS // _SENTENCE_WORDS)) * _SENTENCE_WORDS
        return " ".join(self._words[topic][start : start + _SENTENCE_WORDS]).capitalize() + "."

    def queries(self, count: int, seed: int) -> list[str]:
        """Questions of two to six neighbouring words of a topic's text."""
        draw = np.random.default_rng(seed)
        found = []
        for _ in range(count):
            size, topic = int(draw.integers(2, 7)), int(draw.integers(0, TOPICS))
            start = int(draw.integers(0, _TOPIC_WORDS - size))
            found.append(f"what is the {' '.join(self._words[topic][start : start + size])}")
        return found


def filters_of(share: float, kind: str) -> dict[str, object]:
    """A filter that leaves this share of the documents; `kind` is `random` or `topic`."""
    return {kind: {"lte": round(share * 1000) - 1}}


async def fill(dsn: str, embedder: Embedder, chunks: int) -> None:
    """Write documents with `chunks` chunks in all into a migrated, empty database, as ingestion does, but with the
    large indexes made afterwards.
    """
    centres = await Topics(Language()).vectors(embedder)
    bulk = psycopg.conninfo.make_conninfo(dsn, options="-c synchronous_commit=off")
    database = PostgresDatabase(dsn, embedder.dimensions)
    await database.open()
    try:
        await database.write(drop_graph)
        await database.write(drop_text_index)
        with ProcessPoolExecutor(_WRITERS, get_context("spawn")) as pool:
            total = chunks // CHUNKS_A_DOCUMENT
            parts = [
                pool.submit(_write_part, bulk, centres, embedder.fingerprint, part)
                for part in batches(total, -(-total // _WRITERS))
            ]
            for part in parts:
                await asyncio.wrap_future(part)
        await database.write(make_text_index)
        start = time.perf_counter()
        await database.write(lambda connection: make_graph(connection, embedder.dimensions))
        print(
            f"{chunks:,} chunks: the graph was made in {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True
        )
    finally:
        await database.close()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def _write_part(dsn: str, centres: Vector, fingerprint: str, numbers: range) -> None:
    """Write the documents of these numbers; a process of its own, since most of the time goes to Python."""
    asyncio.run(_write(dsn, centres, fingerprint, numbers))


async def _write(dsn: str, centres: Vector, fingerprint: str, numbers: range) -> None:
    language = Language()
    topics = Topics(language)
    language.random = np.random.default_rng(numbers.start)
    by_region = np.argsort(centres @ centres[0])
    near = np.argsort(-(centres @ centres.T), axis=1)[:, :_NEIGHBOURS]
    database = PostgresDatabase(dsn, centres.shape[1], readers=1, writers=1)
    await database.open()
    store, queue = SqlStore(database), SqlJobQueue(database)

    async def index_some() -> bool:
        """The jobs may be another process's: each leaves it as many."""
        jobs = await queue.claim(f"benchmark {numbers.start}", _DOCUMENTS_AT_ONCE, 600_000)
        items = []
        for job in jobs:
            topic = int(by_region[_metadata(int(job.filename.removesuffix(".txt")))["topic"]])
            vectors = _between(centres[near[topic]], language.random)
            items.append(indexed(job, [topics.passage(topic) for _ in vectors], vectors))
        await store.index_revisions(items, fingerprint)
        return bool(jobs)

    try:
        for batch in batches(len(numbers), _DOCUMENTS_AT_ONCE):
            for number in numbers[batch.start : batch.stop]:
                await store.create_document(new_document(number, _metadata(number)))
            await index_some()
        while await index_some():
            pass
    finally:
        await database.close()


def _between(near: Vector, random: np.random.Generator) -> Vector:
    """A document's vectors: each a mixture of some of these, and a little noise."""
    shape = (CHUNKS_A_DOCUMENT, _MIXED)
    chosen = near[random.integers(0, len(near), shape)]
    weights = random.dirichlet([0.5] * _MIXED, CHUNKS_A_DOCUMENT)[:, :, np.newaxis]
    mixed = (weights * chosen).sum(axis=1)
    return noisy(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), random, _NOISE)


def _metadata(number: int) -> dict[str, int]:
    """Always the same for a document; `topic` is a region, not yet the number of a text."""
    random, topic = np.random.default_rng(number).integers(0, 1000, 2)
    return {"random": int(random), "topic": int(topic)}
