"""How fast documents are ingested into PostgreSQL by 1, 2 and 4 workers, beside the embedded database in the same run,
and how many jobs a second eight processes take from the queue and end.

    python benchmarks/postgres_ingest.py [--documents 1000] [--workers 1 2 4] [--claims 4000]
    python benchmarks/postgres_ingest.py --dsn postgresql://user:password@host/postgres

The documents are those of `ingest.py`: about 100 words each. Lines "one process" are uploads one after another over
HTTP until all are ready, on the embedded database and on PostgreSQL. Lines "N workers" are the queue alone: everything
is uploaded first, and the time goes from the moment when N waiting worker processes are told of it until the last
document is ready. Without --dsn a server of the test environment's own is started, with durable settings; with it,
databases are made on that server and dropped again, which its user must be allowed to do.
"""

import argparse
import asyncio
import multiprocessing
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path

import psycopg
from ingest import over_http, text_of

from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.ports import NewDocument

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from front_door import FreshServer, wait_until  # these lie with the tests
from postgres_server import Databases, PostgresServer

CLAIMERS = 8
_CLAIMED_AT_ONCE = (1, 32)  # 32: what a worker takes at most
_LEASE_MS = 300_000
_FAR_MS = 10**15
_FINISH_S = 1800.0
_WAITING = "status IN ('queued', 'running', 'retrying')"


@contextmanager
def databases(dsn: str | None) -> Iterator[Databases]:
    """The server to measure."""
    if dsn is not None:
        yield Databases(dsn)
        return
    with PostgresServer(durable=True) as server:
        yield server


@contextmanager
def fresh_database(server: Databases) -> Iterator[str]:
    """The URL of an empty database."""
    name = f"benchmark_{secrets.token_hex(6)}"
    yield server.create_database(name)
    server.drop_database(name)


def environment(dsn: str, storage: Path, role: str) -> dict[str, str]:
    """The settings of a process."""
    return {"DATABASE_DRIVER": "postgres", "DATABASE_URL": dsn, "STORAGE_PATH": str(storage), "ROLE": role}


def print_rate(name: str, count: int, seconds: float) -> None:
    """One line of figures."""
    print(f"{name}: {count / seconds:.0f} documents/s, {seconds * 1000 / count:.1f} ms a document", flush=True)


def by_workers(texts: list[str], dsn: str, folder: Path, workers: int) -> float:
    """Seconds that N workers take for a full queue."""
    folder.mkdir()
    with ExitStack() as running:

        def start(name: str, role: str) -> FreshServer:
            server = FreshServer(folder / name, environment(dsn, folder / "originals", role)).start()
            running.callback(server.stop)
            return server

        api = start("api", "api")
        for number, text in enumerate(texts):
            api.upload(f"document-{number:04d}.txt", text.encode())
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("UPDATE jobs SET visible_at_ms = %s", (_FAR_MS,))
            for number in range(workers):
                worker = start(f"worker{number}", "worker")
                wait_until(partial(_is_ready, worker))
            connection.execute("UPDATE jobs SET visible_at_ms = created_at_ms")
            begun = time.perf_counter()
            connection.execute("NOTIFY mk_jobs")
            wait_until(lambda: _is_empty(connection), _FINISH_S, "the queue to be empty")
            seconds = time.perf_counter() - begun
            ready = connection.execute("SELECT count(*) FROM documents WHERE status = 'ready'").fetchone()
    if ready != (len(texts),):
        raise SystemExit("a document failed")
    return seconds


def _is_ready(worker: FreshServer) -> bool:
    return worker.request("GET", "/ready").status_code == 200


def _is_empty(connection: psycopg.Connection) -> bool:
    return connection.execute(f"SELECT 1 FROM jobs WHERE {_WAITING} LIMIT 1".encode()).fetchone() is None


async def fill_queue(dsn: str, count: int) -> None:
    """Write documents with a job each."""
    database = PostgresDatabase(dsn, 384)
    await database.open()
    store = SqlStore(database)

    async def add(number: int) -> None:
        revision_id = new_id("rev")
        sha256 = f"{number:064x}"
        await store.create_document(
            NewDocument(new_id("doc"), revision_id, "Text", "text.txt", "text/plain", "txt", 10, sha256, revision_id)
        )

    for first in range(0, count, 100):
        await asyncio.gather(*(add(number) for number in range(first, min(first + 100, count))))
    await database.close()


def claim_all(dsn: str, at_once: int, together: Barrier, name: str) -> None:
    """Take jobs and end each of them, until none is left; the end is a failure, which writes job and document."""

    async def run() -> None:
        database = PostgresDatabase(dsn, 384, readers=1, writers=1)
        await database.open()
        queue = SqlJobQueue(database)
        await queue.next_due_ms()
        together.wait()
        while jobs := await queue.claim(name, at_once, _LEASE_MS):
            for job in jobs:
                await queue.fail(job, "DOCUMENT_EMPTY", "This document has no text.", None)
        await database.close()
        together.wait()

    asyncio.run(run())


def claims(dsn: str, at_once: int) -> float:
    """Seconds until the queue is empty."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(CLAIMERS + 1)
    processes = [
        context.Process(target=claim_all, args=(dsn, at_once, together, f"claimer:{number}"))
        for number in range(CLAIMERS)
    ]
    for process in processes:
        process.start()
    together.wait()
    begun = time.perf_counter()
    together.wait()
    seconds = time.perf_counter() - begun
    for process in processes:
        process.join()
    with psycopg.connect(dsn) as connection:
        twice = connection.execute("SELECT count(*) FROM jobs WHERE attempt <> 1 OR status <> 'failed'").fetchone()
    if twice != (0,):
        raise SystemExit("a job was taken twice, or not at all")
    return seconds


def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dsn")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--claims", type=int, default=4000, help="jobs for each of the two figures; 0: leave them out")
    arguments = parser.parse_args()
    draw = random.Random(1)
    texts = [text_of(number, draw) for number in range(arguments.documents)]
    with tempfile.TemporaryDirectory() as temporary, databases(arguments.dsn) as server:
        folder = Path(temporary)
        _, seconds, _ = over_http(texts, folder / "sqlite")
        print_rate("one process, embedded database", len(texts), seconds)
        with fresh_database(server) as dsn:
            _, seconds, _ = over_http(texts, folder / "all", environment(dsn, folder / "originals", "all"))
        print_rate("one process, PostgreSQL", len(texts), seconds)
        for workers in arguments.workers:
            with fresh_database(server) as dsn:
                seconds = by_workers(texts, dsn, folder / f"workers{workers}", workers)
            print_rate(f"{workers} workers, PostgreSQL", len(texts), seconds)
        for at_once in _CLAIMED_AT_ONCE if arguments.claims else ():
            with fresh_database(server) as dsn:
                asyncio.run(fill_queue(dsn, arguments.claims))
                seconds = claims(dsn, at_once)
            print(
                f"queue, {CLAIMERS} processes, {at_once} at once: {arguments.claims / seconds:.0f} jobs/s", flush=True
            )


if __name__ == "__main__":
    main()
