"""How soon a server answers after its start, and how much memory it then holds.

    python benchmarks/start.py [--chunks 10000 100000] [--folder DIR]

Prints seconds from the start of the process until it listens and until its first hybrid search is answered, and its
resident memory, with its parser processes, after that search.
"""

import argparse
import asyncio
import http.client
import tempfile
import time
from pathlib import Path

import psutil
from generated import data_dir, fill
from ingest import server
from search import search

from mcp_knowledge.settings import load_settings

_SETTLE_S = 5.0
_MIB = 1024 * 1024


def run(chunks: int, folder: Path, rounds: int) -> None:
    """Print the row of one size: the median round."""
    place = data_dir(folder, chunks)
    if not (place / "app.db").exists():
        asyncio.run(fill(load_settings(data_dir=place), chunks))
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        with server(place) as (pid, host, port):
            listening = time.perf_counter() - start
            connection = http.client.HTTPConnection(host, port)
            search(connection, "what is the quiet harbour ledger")
            answered = time.perf_counter() - start
            time.sleep(_SETTLE_S)
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
            memory = [item.memory_info().rss / _MIB for item in family]
        found.append((answered, listening, memory[0], sum(memory)))
    answered, listening, own, whole = sorted(found)[len(found) // 2]
    print(f"| {chunks:,} | {listening:.2f} | {answered:.2f} | {own:.0f} | {whole:.0f} |", flush=True)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| chunks | listening after s | first answer after s | server MiB | with its parser processes MiB |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        for chunks in arguments.chunks:
            run(chunks, arguments.folder or Path(temporary), arguments.rounds)


if __name__ == "__main__":
    main()
