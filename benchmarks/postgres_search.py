"""How fast and how complete searches are on PostgreSQL: each mode, over everything and under filters that leave 10 %,
1 % and 0.1 %, at random and by topic; and the recall of the vector side against an exact scan.

    python benchmarks/postgres_search.py [--chunks 100000 500000] [--folder DIR] [--queries 200]
    python benchmarks/postgres_search.py --dsn postgresql://user:password@host/database --chunks 100000

A server of the test environment's own keeps its databases below --folder, one for each size, and uses them again the
next time (100,000 chunks are made in minutes). With --dsn the corpus is made in that database, which must be empty or
hold the corpus already; give one size then. Milliseconds are those of the search service, embedding included, without
HTTP; every query is new.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from generated import CHUNKS_A_DOCUMENT, Language
from postgres_corpus import SHARES, Topics, fill, filters_of

from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.adapters.postgres.lexical import PostgresLexicalIndex
from mcp_knowledge.adapters.postgres.vectors import PostgresVectorIndex
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.metrics import percentile
from mcp_knowledge.domain.search import Scope, SearchMode, SearchRequest
from mcp_knowledge.ports import Embedder, VectorIndex
from mcp_knowledge.services.search import Search
from mcp_knowledge.settings import Settings, load_settings

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from postgres_server import PostgresServer  # the launcher lies with the tests

MODES: tuple[SearchMode, ...] = ("hybrid", "vector", "lexical")
SERVER = {
    "shared_buffers": "2GB",
    "maintenance_work_mem": "2GB",
    "max_parallel_maintenance_workers": "2",
    "max_wal_size": "4GB",
}
_CANDIDATES = 50
_WARM_UP = 20
_EVERYTHING_CHUNKS = 10**9


@dataclass(frozen=True)
class Corpus:
    """A filled database, and what asks it."""

    search: Search
    embedder: Embedder
    vectors: VectorIndex
    exact: VectorIndex
    queries: Iterator[str]


@asynccontextmanager
async def opened(dsn: str, chunks: int, settings: Settings) -> AsyncIterator[Corpus]:
    """The corpus of a size, made first where it is missing."""
    async with AsyncExitStack() as closing:
        embedder = MiniLmEmbedder(settings)
        closing.callback(embedder.close)
        dimensions = settings.embedding_dimensions
        database = PostgresDatabase(dsn, dimensions)
        await database.open()
        closing.push_async_callback(database.close)
        count = _figure(dsn, "SELECT coalesce(sum(chunk_count), 0) FROM documents WHERE searchable = 1")
        if count != chunks // CHUNKS_A_DOCUMENT * CHUNKS_A_DOCUMENT:
            assert count == 0, f"the database holds {count} chunks: give an empty one, or --chunks {count}"
            await fill(dsn, embedder, chunks)
        topics = Topics(Language())
        store, lexical = SqlStore(database), PostgresLexicalIndex(database)
        vectors = PostgresVectorIndex(database, dimensions, lambda: embedder.fingerprint)
        exact = PostgresVectorIndex(database, dimensions, lambda: embedder.fingerprint, _EVERYTHING_CHUNKS)
        search = Search(store, lexical, vectors, embedder, settings)
        await search.warm_up()
        yield Corpus(search, embedder, vectors, exact, iter(topics.queries(100_000, time.time_ns() % 2**32)))


async def latency(corpus: Corpus, mode: SearchMode, scope: Scope, count: int) -> str:
    """p50 and p95 of new queries, one after another."""
    waited = []
    for number in range(_WARM_UP + count):
        request = SearchRequest(next(corpus.queries), mode, scope=scope)
        start = time.perf_counter()
        await corpus.search.search(request)
        if number >= _WARM_UP:
            waited.append((time.perf_counter() - start) * 1000)
    return f"{percentile(waited, 0.5):.1f} / {percentile(waited, 0.95):.1f}"


async def recall(corpus: Corpus, scope: Scope, count: int) -> tuple[float, float]:
    """The share of the 50 nearest chunks that the vector side finds: mean and least."""
    shares = []
    for _ in range(count):
        query = await corpus.embedder.embed_query(next(corpus.queries))
        nearest = {item.chunk_no for item in await corpus.exact.search(query, _CANDIDATES, scope)}
        found = {item.chunk_no for item in await corpus.vectors.search(query, _CANDIDATES, scope)}
        assert len(found) == len(nearest)
        shares.append(len(found & nearest) / len(nearest))
    return sum(shares) / len(shares), min(shares)


async def run(dsn: str, chunks: int, count: int) -> None:
    """Print the rows of one size."""
    scopes = [("all", Scope())]
    for share in SHARES:
        for kind in ("random", "topic"):
            scopes.append((f"{share:.1%} {kind}", Scope(filters=parse_filters(filters_of(share, kind)))))
    async with opened(dsn, chunks, load_settings()) as corpus:
        for name, scope in scopes:
            times = " | ".join([await latency(corpus, mode, scope, count) for mode in MODES])
            mean, least = await recall(corpus, scope, count // 2)
            print(f"| {chunks:,} | {name} | {times} | {mean:.4f} ({least:.2f}) |", flush=True)
    parts = ", ".join(f"{name} {_figure(dsn, sql) / 2**20:,.0f} MiB" for name, sql in _SIZES.items())
    print(f"{chunks:,} chunks: {parts}", flush=True)


_SIZES = {
    "database": "SELECT pg_database_size(current_database())",
    "vectors": "SELECT pg_table_size('chunk_vectors')",
    "graph": "SELECT pg_relation_size('chunk_vectors_graph')",
}


def _figure(dsn: str, sql: str) -> int:
    with psycopg.connect(dsn) as connection:
        row: Any = connection.execute(sql).fetchone()
        return int(row[0])


@contextmanager
def databases(dsn: str | None, folder: Path, sizes: list[int]) -> Iterator[dict[int, str]]:
    """A database for each size: the given one, or those of a server that is started for the time."""
    if dsn is not None:
        yield dict.fromkeys(sizes, dsn)
        return
    with PostgresServer(folder, durable=True, settings=SERVER) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            there = {row[0] for row in connection.execute("SELECT datname FROM pg_database")}
        for size in sizes:
            if f"chunks_{size}" not in there:
                server.create_database(f"chunks_{size}")
        yield {size: server.dsn(f"chunks_{size}") for size in sizes}


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[100_000, 500_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--dsn")
    parser.add_argument("--queries", type=int, default=200, help="searches for each figure")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as temporary,
        databases(arguments.dsn, arguments.folder or Path(temporary), arguments.chunks) as addresses,
    ):
        print("| chunks | in scope | hybrid p50 / p95 | vector | lexical | recall@50 (least) |\n" + 6 * "|---" + "|")
        for size, dsn in addresses.items():
            asyncio.run(run(dsn, size, arguments.queries))


if __name__ == "__main__":
    main()
