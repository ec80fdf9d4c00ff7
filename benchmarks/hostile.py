"""Whether a server goes on answering while files try to bring it down.

    python benchmarks/hostile.py

Starts a server on a fresh data directory and sends it the hostile files of the tests, one as soon as the last one is
stored. Meanwhile a process of its own asks for /health, a hundred times a second. Prints what became of each file, and
how long the answers took, first in quiet, then with the files.
"""

import http.client
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from formats import finished
from ingest import call, form, server

from mcp_knowledge.domain.metrics import percentile

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "adapters"))
from hostile_files import HOSTILE_FILES, OUTCOMES

_QUIET_S = 10.0
_PAUSE_S = 0.01


def probe(host: str, port: int, pipe: Connection) -> None:
    """Ask until told to stop, then send the milliseconds of every answer."""
    connection = http.client.HTTPConnection(host, port)
    spent_ms: list[float] = []
    while not pipe.poll():
        start = time.perf_counter()
        call(connection, "GET", "/health")
        spent_ms.append((time.perf_counter() - start) * 1000)
        time.sleep(_PAUSE_S)
    pipe.send(spent_ms)


@contextmanager
def probing(name: str, host: str, port: int) -> Iterator[None]:
    """Print how fast /health was answered while the block ran."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=probe, args=(host, port, other), daemon=True)
    process.start()
    yield
    pipe.send(None)
    spent_ms: list[float] = pipe.recv()
    process.join()
    cells = [f"{label} {percentile(spent_ms, share):.1f} ms" for label, share in (("p50", 0.5), ("p99", 0.99))]
    print(f"{name}: /health {', '.join(cells)}, max {max(spent_ms):.1f} ms, {len(spent_ms)} answers", flush=True)


def main() -> None:
    """Send the files and print the figures."""
    contents = {name: make() for name, make in HOSTILE_FILES.items()}
    with tempfile.TemporaryDirectory() as folder, server(Path(folder) / "data") as (_, host, port):
        connection = http.client.HTTPConnection(host, port)
        call(connection, "GET", "/ready")  # loads the model, as the first search would
        with probing("quiet", host, port):
            time.sleep(_QUIET_S)
        connection.close()
        with probing("hostile files", host, port):
            sent = {
                name: call(connection, "POST", "/api/v1/documents", *form(name, content))["id"]
                for name, content in contents.items()
            }
            documents = {name: finished(connection, f"/api/v1/documents/{place}") for name, place in sent.items()}
    for name, document in documents.items():
        outcome = "hangs" if document is None else document["latestError"] or document["status"]
        print(f"{name}: {outcome} (expected: {OUTCOMES[name] or 'ready'})")


if __name__ == "__main__":
    main()
