"""How long one large file takes until it is searchable, and how searches and /health fare meanwhile.

    python benchmarks/large_file.py [--pdf-pages 300] [--text-mib 8] [--chunks 1000]

A server that holds a generated corpus is asked a hybrid search twenty times a second and /health fifty times a second:
first in quiet, then while it takes in a PDF of text pages and, on another server, a text file. Prints seconds until
the file is searchable and where they went, and the milliseconds that clients waited.
"""

import argparse
import asyncio
import http.client
import random
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from generated import Language, data_dir, fill, text_pdf
from ingest import Watch, call, form, server, text_of
from search import search

from mcp_knowledge.domain.metrics import percentile
from mcp_knowledge.settings import load_settings

_SEARCH_PAUSE_S = 0.05
_HEALTH_PAUSE_S = 0.02
_QUIET_S = 15.0
_PARAGRAPHS_A_PAGE = 4
_STAGES = ("queued", "parsing", "chunking", "embedding", "indexing")


@dataclass
class Waits:
    """Milliseconds that clients waited for answers."""

    searches: list[float] = field(default_factory=list)
    healths: list[float] = field(default_factory=list)

    def cells(self) -> str:
        """p50 and p95 of searches, p50 and p99 of /health."""
        parts = [percentile(self.searches, 0.5), percentile(self.searches, 0.95)]
        parts += [percentile(self.healths, 0.5), percentile(self.healths, 0.99)]
        return " | ".join(f"{part:.1f}" for part in parts)


@contextmanager
def clients(host: str, port: int, queries: Iterator[str]) -> Iterator[Waits]:
    """Two clients that ask at a steady pace until the block ends."""
    waits, end = Waits(), threading.Event()

    def ask(pause_s: float, times: list[float], one: Callable[[http.client.HTTPConnection], object]) -> None:
        connection = http.client.HTTPConnection(host, port)
        while not end.wait(pause_s):
            start = time.perf_counter()
            one(connection)
            times.append((time.perf_counter() - start) * 1000)

    threads = [
        threading.Thread(target=ask, args=(_SEARCH_PAUSE_S, waits.searches, lambda c: search(c, next(queries)))),
        threading.Thread(target=ask, args=(_HEALTH_PAUSE_S, waits.healths, lambda c: call(c, "GET", "/health"))),
    ]
    for thread in threads:
        thread.start()
    try:
        yield waits
    finally:
        end.set()
        for thread in threads:
            thread.join()


def stage_seconds(host: str, port: int) -> dict[str, float]:
    """What ingestion has spent in each stage since the start."""
    connection = http.client.HTTPConnection(host, port)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    found = re.findall(r'ingestion_duration_seconds_sum\{stage="(\w+)"\} (\S+)', text)
    return {stage: float(seconds) for stage, seconds in found}


def run(name: str, content: bytes, place: Path, queries: Iterator[str]) -> None:
    """Print the rows of one file."""
    with server(place) as (pid, host, port):
        connection = http.client.HTTPConnection(host, port)
        for _ in range(20):
            search(connection, next(queries))
        with clients(host, port, queries) as quiet:
            time.sleep(_QUIET_S)
        connection.close()  # the server has ended it by now: the next request opens another
        watch = Watch(pid)
        start = time.perf_counter()
        document_id = call(connection, "POST", "/api/v1/documents", *form(name, content))["id"]
        with clients(host, port, queries) as meanwhile:
            while True:
                document = call(connection, "GET", f"/api/v1/documents/{document_id}")
                if document["status"] in ("ready", "failed"):
                    break
                time.sleep(0.1)
        seconds = time.perf_counter() - start
        usage, stages = watch.stop(), stage_seconds(host, port)
    shares = ", ".join(f"{stage} {stages.get(stage, 0.0):.1f}" for stage in _STAGES)
    print(f"{name}, {len(content) / 1e6:.1f} MB: {document['status']} after {seconds:.1f} s ({shares}),")
    print(
        f"  {document['chunkCount']} chunks, peak RSS {usage.rss_bytes / 1e6:.0f} MB, {document['latestError'] or ''}"
    )
    for state, waits in (("quiet", quiet), ("meanwhile", meanwhile)):
        print(f"| {name} | {state} | {waits.cells()} |", flush=True)


def pdf(pages: int, draw: random.Random) -> bytes:
    """Pages of some 430 words under a heading."""
    return text_pdf(
        [
            [f"Section {page}", *(text_of(page * 10 + i, draw).strip() for i in range(_PARAGRAPHS_A_PAGE))]
            for page in range(1, pages + 1)
        ]
    )


def text(mebibytes: float, draw: random.Random) -> bytes:
    """Paragraphs of some hundred words."""
    parts: list[str] = []
    length = 0
    while length < mebibytes * 1024 * 1024 - 2000:
        parts.append(text_of(len(parts), draw))
        length += len(parts[-1]) + 1
    return "\n".join(parts).encode()


def main() -> None:
    """Print the figures of both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdf-pages", type=int, default=300, help="0: no PDF")
    parser.add_argument("--text-mib", type=float, default=8.0, help="0: no text")
    parser.add_argument("--chunks", type=int, default=1000, help="of the corpus that is searched")
    arguments = parser.parse_args()
    draw, queries = random.Random(1), iter(Language(seed=time.time_ns() % 2**32).queries(100_000))
    files = []
    if arguments.pdf_pages:
        files.append((f"{arguments.pdf_pages}-pages.pdf", pdf(arguments.pdf_pages, draw)))
    if arguments.text_mib:
        files.append((f"{arguments.text_mib:g}-mebibytes.txt", text(arguments.text_mib, draw)))
    for name, content in files:
        with tempfile.TemporaryDirectory() as temporary:
            place = data_dir(Path(temporary), arguments.chunks)
            asyncio.run(fill(load_settings(data_dir=place), arguments.chunks))
            run(name, content, place, queries)
    print("columns: file | server | search p50 ms | p95 ms | /health p50 ms | p99 ms")


if __name__ == "__main__":
    main()
