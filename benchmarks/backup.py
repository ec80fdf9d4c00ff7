"""How fast backup, restore and verify are, and what searches wait meanwhile.

    python benchmarks/backup.py [--chunks 100000] [--original-kib 100] [--folder DIR]

A generated corpus is served, with an original of so many KiB for each document. One client searches without a pause,
each time for something else: first alone, then while the server is backed up, ingesting nothing and ingesting, and
while it is verified. With --folder the corpus is kept there and used again.
"""

import argparse
import asyncio
import hashlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
from generated import Language, data_dir, fill
from ingest import server
from search import ingesting, search

from mcp_knowledge.domain.blob_keys import original_key
from mcp_knowledge.domain.metrics import percentile
from mcp_knowledge.settings import MIB, load_settings

_QUIET_SEARCHES = 200
_COMMAND = [sys.executable, "-m", "mcp_knowledge", "--data-dir"]


def add_originals(place: Path, size_bytes: int) -> None:
    """Give every document an original of random bytes, and let its rows name it."""
    connection = apsw.Connection(str(place / "app.db"))
    rows = connection.execute("SELECT revision_no, id FROM revisions").fetchall()
    with connection:
        for revision_no, revision_id in rows:
            data, key = os.urandom(size_bytes), original_key(str(revision_id))
            path = place / "documents" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            values = (key, size_bytes, hashlib.sha256(data).digest(), revision_no)
            connection.execute(
                "UPDATE revisions SET blob_key = ?, size_bytes = ?, sha256 = ? WHERE revision_no = ?", values
            )
        connection.execute(
            "UPDATE documents SET (size_bytes, sha256) = (SELECT r.size_bytes, r.sha256 FROM revisions r "
            "WHERE r.revision_no = documents.current_revision_no)"
        )
    connection.close()


def meanwhile(
    command: list[str], connection: http.client.HTTPConnection, queries: Iterator[str]
) -> tuple[dict[str, Any], float, list[float]]:
    """Run a command; what it printed, its seconds, and the milliseconds of the searches that were made meanwhile."""
    started, waited = time.monotonic(), list[float]()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output)
        while process.poll() is None:
            before = time.perf_counter()
            search(connection, next(queries))
            waited.append((time.perf_counter() - before) * 1000)
        seconds = time.monotonic() - started
        output.seek(0)
        report: dict[str, Any] = json.load(output)
    return report, seconds, waited


def show(what: str, megabytes: float, seconds: float, waited: list[float]) -> None:
    """Print a row."""
    searches = (
        f"{percentile(waited, 0.5):.1f} | {percentile(waited, 0.95):.1f} | {max(waited):.0f}" if waited else "| |"
    )
    speed = f"{megabytes / seconds:.0f}" if megabytes else ""
    print(f"| {what} | {megabytes:,.0f} | {seconds:.1f} | {speed} | {searches} |", flush=True)


def run(chunks: int, original_bytes: int, folder: Path) -> None:
    """Print all rows."""
    place = data_dir(folder, chunks)
    if not (place / "app.db").exists():
        asyncio.run(fill(load_settings(data_dir=place), chunks))
        add_originals(place, original_bytes)
    queries = iter(Language(seed=time.time_ns() % 2**32).queries(100_000))
    file, copy = folder / "backup.tar", folder / f"restored-{os.getpid()}"
    backup = [*_COMMAND, str(place), "backup", str(file), "--force", "--json"]
    with server(place) as (_, host, port):
        connection = http.client.HTTPConnection(host, port)
        search(connection, "warm up")
        quiet = list[float]()
        for _ in range(_QUIET_SEARCHES):
            before = time.perf_counter()
            search(connection, next(queries))
            quiet.append((time.perf_counter() - before) * 1000)
        show("searches alone", 0, sum(quiet) / 1000, quiet)
        report, seconds, waited = meanwhile(backup, connection, queries)
        megabytes = report["sizeBytes"] / MIB
        show("backup", megabytes, seconds, waited)
        with ingesting(host, port):
            _, seconds, waited = meanwhile(backup, connection, queries)
        show("backup, while the server ingests", megabytes, seconds, waited)
        _, seconds, waited = meanwhile([*_COMMAND, str(place), "verify", "--json"], connection, queries)
        show("verify", megabytes, seconds, waited)
    started = time.monotonic()
    subprocess.run([*_COMMAND, str(copy), "restore", str(file), "--json"], check=True, stdout=subprocess.DEVNULL)
    show("restore", megabytes, time.monotonic() - started, [])


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--original-kib", type=int, default=100)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    print("| | MiB | s | MiB/s | searches' p50 ms | p95 ms | longest ms |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        run(arguments.chunks, arguments.original_kib * 1024, arguments.folder or Path(temporary))


if __name__ == "__main__":
    main()
