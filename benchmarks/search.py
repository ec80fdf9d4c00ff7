"""How fast searches are over HTTP: each mode, with and without a filter that keeps 1%, quiet and while ingesting.

    python benchmarks/search.py [--chunks 1000 10000 100000] [--folder DIR]

Every query is new to the server, so that none is answered from a cache. Beside the milliseconds that a client waits,
the table shows where they went: the embedder, the vector search, the full-text search, and all the rest. With --folder
the generated corpora are kept there and used again.
"""

import argparse
import asyncio
import http.client
import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from generated import BUCKETS, Language, data_dir, fill
from ingest import call, form, server, text_of

from mcp_knowledge.domain.metrics import percentile
from mcp_knowledge.settings import load_settings

MODES = ("hybrid", "vector", "lexical")
ONE_PERCENT = {"bucket": BUCKETS // 2}
_WARM_UP = 20
_JSON = "application/json"
_UPLOADS_AHEAD = 20  # documents that wait for the worker while it ingests


def search(connection: http.client.HTTPConnection, query: str, **fields: object) -> dict[str, object]:
    """One search."""
    return call(connection, "POST", "/api/v1/search", json.dumps({"query": query, **fields}).encode(), _JSON)


def measure(connection: http.client.HTTPConnection, queries: Iterator[str], count: int, **fields: object) -> str:
    """The row of one kind of search."""
    for _ in range(_WARM_UP):
        search(connection, next(queries), **fields)
    waited = []
    for _ in range(count):
        query = next(queries)
        start = time.perf_counter()
        search(connection, query, **fields)
        waited.append((time.perf_counter() - start) * 1000)
    parts = [_parts(connection, next(queries), **fields) for _ in range(count // 4)]
    shares = " | ".join(f"{median(part[index] for part in parts):.2f}" for index in range(4))
    return f"{percentile(waited, 0.5):.1f} | {percentile(waited, 0.95):.1f} | {shares}"


def _parts(connection: http.client.HTTPConnection, query: str, **fields: object) -> tuple[float, float, float, float]:
    """Milliseconds of the embedder, the vectors, the full text, and what a client waits beyond both sides."""
    start = time.perf_counter()
    timings = search(connection, query, explain=True, **fields)["timings"]
    waited = (time.perf_counter() - start) * 1000
    assert isinstance(timings, dict)
    embedding, vector, lexical = timings["embeddingMs"], timings["vectorSearchMs"], timings["lexicalSearchMs"]
    return embedding, vector, lexical, waited - max(embedding + vector, lexical)


@contextmanager
def ingesting(host: str, port: int) -> Iterator[None]:
    """Uploads small documents, keeping the worker busy, until the block ends."""
    end = threading.Event()

    def upload() -> None:
        connection = http.client.HTTPConnection(host, port)
        draw = random.Random(time.time_ns())
        while not end.is_set():
            queue = call(connection, "GET", "/api/v1/system/status")["queue"]
            assert isinstance(queue, dict)
            for _ in range(_UPLOADS_AHEAD - int(queue["queued"])):
                number = draw.randrange(10**12)
                body = form(f"{number}.txt", text_of(number, draw).encode())
                call(connection, "POST", "/api/v1/documents", *body)
            end.wait(0.05)

    thread = threading.Thread(target=upload)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def run(chunks: int, folder: Path, count: int) -> None:
    """Print the rows of one size."""
    place = data_dir(folder, chunks)
    if not (place / "app.db").exists():
        asyncio.run(fill(load_settings(data_dir=place), chunks))
    language = Language(seed=time.time_ns() % 2**32)
    queries = iter(language.queries(100_000))
    with server(place) as (_, host, port):
        connection = http.client.HTTPConnection(host, port)
        search(connection, "warm up")
        for busy in (False, True):
            for mode in MODES:
                for filters in (None, ONE_PERCENT):
                    kind = f"{chunks:,} | {mode} | {'1%' if filters else 'all'} | {'ingesting' if busy else 'quiet'}"
                    if busy:
                        with ingesting(host, port):
                            row = measure(connection, queries, count, mode=mode, filters=filters)
                    else:
                        row = measure(connection, queries, count, mode=mode, filters=filters)
                    print(f"| {kind} | {row} |", flush=True)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--queries", type=int, default=200, help="searches a row")
    arguments = parser.parse_args()
    print("| chunks | mode | documents | server | p50 ms | p95 ms | embedder | vectors | full text | rest |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        for chunks in arguments.chunks:
            run(chunks, arguments.folder or Path(temporary), arguments.queries)


if __name__ == "__main__":
    main()
