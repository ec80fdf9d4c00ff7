"""Many processes on one PostgreSQL and one S3 server, all of which can be broken."""

import logging
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from front_door import Server
from postgres_server import PostgresServer
from s3_server import KEY, SECRET, S3Server
from tcp_proxy import TcpProxy

from mcp_knowledge.adapters.s3_connection import Bucket

_AGAIN_S = 0.2
# Every end of a job, and every time that a document shows another revision: each may happen once.
_AUDIT = """
    CREATE TABLE audit_ends (job_id text, kind text);
    CREATE FUNCTION note_end() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO audit_ends VALUES (NEW.id, NEW.kind); RETURN NULL; END';
    CREATE TRIGGER job_ends AFTER UPDATE ON jobs FOR EACH ROW WHEN (NEW.status = 'completed')
        EXECUTE FUNCTION note_end();
    CREATE TABLE audit_chunks (document_no bigint, revision_no bigint, sequence bigint, transaction_no xid8);
    CREATE FUNCTION note_chunk() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO audit_chunks VALUES (NEW.document_no, NEW.revision_no, NEW.sequence,
                                                pg_current_xact_id()); RETURN NULL; END';
    CREATE TRIGGER chunk_written AFTER INSERT ON chunks FOR EACH ROW EXECUTE FUNCTION note_chunk();
"""


class Fleet:
    """API and worker processes, each with a folder of its own."""

    def __init__(self, folder: Path, postgres: PostgresServer, s3: S3Server, workers: int, apis: int) -> None:
        self.postgres, self.s3 = postgres, s3
        self.proxy = TcpProxy(s3.address)
        self.bucket: Bucket = s3.new_bucket(self.proxy.url)
        self.dsn = postgres.create_database("fire")
        self.environment = {
            "DATABASE_DRIVER": "postgres",
            "DATABASE_URL": self.dsn,
            "STORAGE_DRIVER": "s3",
            "S3_BUCKET": self.bucket.name,
            "S3_ENDPOINT": self.proxy.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }
        self.workers = [self._server(folder / f"worker{number}", "worker") for number in range(workers)]
        self.apis = [self._server(folder / f"api{number}", "api") for number in range(apis)]
        self.kills = 0

    def _server(self, data_dir: Path, role: str) -> Server:
        return Server(data_dir, self.environment | {"ROLE": role})

    @property
    def servers(self) -> Sequence[Server]:
        return [*self.workers, *self.apis]

    def start(self) -> None:
        """Start everything at the same time, as after a power cut."""
        with ThreadPoolExecutor(len(self.servers)) as threads:
            list(threads.map(start_again, self.servers))

    def audit(self) -> None:
        """From here on the database notes what must happen once only."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(_AUDIT)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Ask the database, past the service."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute(sql.encode()).fetchall()

    def kill(self, server: Server) -> None:
        """`kill -9`, and a new process in its place, as a supervisor does it."""
        self.kills += 1
        server.kill()
        start_again(server)

    def worker_of(self, sql: str) -> Server | None:
        """Which of our processes has the job or archive whose `worker` a query finds."""
        with suppress(psycopg.OperationalError):
            for (name,) in self.rows(sql):
                for server in self.workers:
                    if server.process is not None and f":{server.process.pid}:" in f"{name}:":
                        return server
        return None

    def request(self, draw: random.Random, method: str, path: str, **arguments: Any) -> httpx2.Response:
        """A request that is made again, to any API process, until it is answered with more than 503."""
        pause = threading.Event()
        while True:
            with suppress(httpx2.TransportError):
                answer = draw.choice(self.apis).request(method, path, **arguments)
                if answer.status_code != 503:
                    return answer
                assert answer.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
            pause.wait(_AGAIN_S)

    def stop(self) -> None:
        """End everything that still runs."""
        with ThreadPoolExecutor(len(self.servers)) as threads:
            list(threads.map(lambda server: server.stop(), self.servers))

    def errors(self) -> list[str]:
        """What the processes say of surprises."""
        lines = [line for server in self.servers for line in server.log.read_text(errors="replace").splitlines()]
        return [line for line in lines if "INTERNAL_ERROR" in line or "met a failure and goes on" in line]


def start_again(server: Server) -> None:
    """Start a process until it stays: one that finds no database ends with a sentence, and its supervisor tries on."""
    while True:
        with suppress(pytest.fail.Exception):
            server.start()
            return


@contextmanager
def burning(folder: Path, workers: int = 4, apis: int = 2) -> Iterator[Fleet]:
    """A running fleet; everything is gone afterwards."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request to S3
    s3 = S3Server()
    with PostgresServer(durable=True) as postgres:
        fleet = Fleet(folder, postgres, s3, workers, apis)
        try:
            fleet.start()
            fleet.audit()
            yield fleet
        finally:
            for server in fleet.servers:
                server.kill()
            fleet.proxy.close()
            s3.stop()


class Killer:
    """Kills a worker now and then, until `stop`."""

    def __init__(self, fleet: Fleet, draw: random.Random, pauses_s: tuple[float, float]) -> None:
        self._fleet, self._draw, self._pauses_s = fleet, draw, pauses_s
        self._end = threading.Event()
        self._busy = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def kill_one_that(self, find: Callable[[], Server | None], within_s: float = 20.0) -> bool:
        """Kill a worker at a certain moment; whether that moment came."""
        for _ in range(int(within_s / 0.02)):
            with self._busy:
                if (server := find()) is not None:
                    self._fleet.kill(server)
                    return True
            threading.Event().wait(0.02)
        return False

    def stop(self) -> None:
        """Kill no more; all workers run."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(self._draw.uniform(*self._pauses_s)):  # moments, not waits for anything
            with self._busy:
                self._fleet.kill(self._draw.choice(self._fleet.workers))
