"""Several processes on one PostgreSQL: what each of them does, and what they tell each other."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from cli_kit import run, run_json
from front_door import Server, wait_until
from postgres_fixtures import fresh_name
from postgres_server import Databases
from rest_kit import API, assert_error

pytestmark = pytest.mark.xdist_group("processes")  # its servers are started once
LISTENERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%listener'"
# Processes that say they are there.
PRESENT = """SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
TEXT = b"# Otters\n\nOtters hold hands while they sleep, so that the current does not part them.\n"
PARSER_MODULES = {"mcp_knowledge.adapters.parsers.sniffing", "olefile", "pypdfium2"}
PARSER_LIBRARIES = ("pypdfium2", "liteparse", "anydoc", "lxml", "selectolax")


class Fleet:
    """Processes on one database and one data directory."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self.dsn, self._folder = dsn, folder
        self.running: list[Server] = []

    def start(self, role: str, **environment: str) -> Server:
        settings = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": self.dsn, "ROLE": role, **environment}
        server = Server(self._folder / "data", settings)
        server.log = self._folder / f"{role}{len(self.running)}.log"
        self.running.append(server)
        return server.start()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchall()

    def stop(self) -> None:
        for server in self.running:
            server.kill()


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: Databases, postgres_template: str
) -> Iterator[Fleet]:
    name = fresh_name()
    made = Fleet(tmp_path_factory.mktemp("fleet"), postgres_server.create_database(name, postgres_template))
    yield made
    made.stop()
    postgres_server.drop_database(name)


@pytest.fixture(scope="module")
def api(fleet: Fleet) -> Server:
    return fleet.start("api")


@pytest.fixture(scope="module")
def other_api(fleet: Fleet) -> Server:
    return fleet.start("api")


@pytest.fixture(scope="module")
def worker(fleet: Fleet) -> Server:
    return fleet.start("worker")


class Follower:
    """Somebody who follows the events of a server, in a thread."""

    def __init__(self, server: Server, last_id: str | None = None) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self._headers = {} if last_id is None else {"Last-Event-ID": last_id}
        self._url = f"{server.url}{API}/events"
        self._open = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        assert self._open.wait(30)

    def _follow(self) -> None:
        name, event_id = "", ""
        with (
            suppress(httpx2.HTTPError),  # the server may be killed
            httpx2.stream("GET", self._url, headers=self._headers, timeout=60) as answer,
        ):
            for line in answer.iter_lines():
                self._open.set()
                kind, _, value = line.partition(": ")
                if kind == "id":
                    event_id = value
                elif kind == "event":
                    name = value
                elif kind == "data":
                    self.events.append((event_id, name, json.loads(value)))

    def statuses(self, document_id: str) -> list[str]:
        """What was told of a document, in order, without repetitions."""
        told = [data["status"] for _, kind, data in list(self.events) if data.get("id") == document_id]
        return [status for place, status in enumerate(told) if place == 0 or told[place - 1] != status]


def test_a_document_that_one_process_takes_in_and_another_one_reads_is_followed_and_found_at_a_third(
    api: Server, other_api: Server, worker: Server
) -> None:
    follower = Follower(other_api)
    long = TEXT + b"".join(b"\n\n# Fact %d\n\nOtter %d has %d cousins in the river.\n" % (n, n, n) for n in range(3000))
    document = api.add("otters.md", long)
    assert document["status"] == "ready"
    wait_until(lambda: "ready" in follower.statuses(document["id"]), what="the event at the other process")
    assert follower.statuses(document["id"])[-2:] == ["processing", "ready"]
    stages = {data["progress"]["stage"] for _, kind, data in follower.events if kind == "document" and data["progress"]}
    assert "embedding" in stages
    assert {"running", "completed"} <= {data["status"] for _, kind, data in follower.events if kind == "job"}
    for server in (api, other_api):
        hits = server.request("POST", f"{API}/search", json={"query": "how do otters sleep"}).json()["hits"]
        assert hits[0]["documentId"] == document["id"]


def test_a_deleted_document_is_told_of_at_every_process(api: Server, other_api: Server, worker: Server) -> None:
    document = api.add("to-delete.md", b"Short lived.")
    follower = Follower(other_api)
    assert api.request("DELETE", f"{API}/documents/{document['id']}").json() == {"ok": True}
    wait_until(lambda: "deleted" in follower.statuses(document["id"]), what="the event at the other process")


def test_who_comes_back_to_another_process_gets_what_was_missed(api: Server, other_api: Server, worker: Server) -> None:
    first = Follower(api)
    before = api.add("before.md", b"Before the connection was lost.")
    wait_until(lambda: "ready" in first.statuses(before["id"]), what="the event")
    last_id = first.events[-1][0]
    missed = api.add("missed.md", b"While nobody was connected.")
    again = Follower(other_api, last_id)
    wait_until(lambda: "ready" in again.statuses(missed["id"]), what="the event that was missed")


def test_each_process_says_what_it_is_and_that_it_is_ready(api: Server, worker: Server) -> None:
    status = api.request("GET", f"{API}/system/status").json()
    assert (status["profile"], status["role"], status["database"]["driver"]) == ("local", "api", "postgres")
    assert status["workers"] == {"active": 0}
    for server in (api, worker):
        answer = server.request("GET", "/ready")
        assert answer.status_code == 200 and all(answer.json()["checks"].values()), answer.text
    metrics = worker.request("GET", "/metrics").text
    assert "ingestion_duration_seconds" in metrics and 'documents_total{status="ready"}' in metrics
    assert worker.request("GET", "/health").json() == {"ok": True}


@pytest.mark.parametrize(
    "path", ["/", f"{API}/documents", "/mcp", "/docs", "/openapi.json", "/static/app.css", "/events"]
)
@pytest.mark.parametrize("accepted", ["application/json", "text/html"])
def test_a_worker_answers_nothing_but_its_supervisor(worker: Server, path: str, accepted: str) -> None:
    assert_error(worker.request("GET", path, headers={"Accept": accepted}), 404, "NOT_FOUND")
    assert_error(worker.request("POST", path, headers={"Accept": accepted}), 404, "NOT_FOUND")


def test_a_process_that_answers_reads_no_files_itself(api: Server, worker: Server) -> None:
    """It has no parser process, and no parser's library; the model is there, for queries."""
    assert api.request("POST", f"{API}/search", json={"query": "otters", "mode": "vector"}).status_code == 200
    assert api.process is not None and worker.process is not None
    assert _children(api.process.pid) == []
    libraries = Path(f"/proc/{api.process.pid}/maps").read_text()
    assert [name for name in PARSER_LIBRARIES if name in libraries] == []
    assert "onnxruntime" in libraries
    assert _children(worker.process.pid) != []


@pytest.mark.parametrize(
    ("role", "driver", "unneeded"),
    [
        ("all", "sqlite", {"psycopg", "pgvector", "obstore", "mcp_knowledge.adapters.postgres.dialect"}),
        ("api", "postgres", {"mcp_knowledge.adapters.sqlite.connection", "apsw", "obstore", *PARSER_MODULES}),
        ("worker", "postgres", {"mcp_knowledge.interfaces.web.pages", "mcp", "obstore", *PARSER_MODULES}),
    ],
)
def test_a_process_loads_nothing_that_its_role_and_its_drivers_do_not_need(
    fleet: Fleet, tmp_path: Path, role: str, driver: str, unneeded: set[str]
) -> None:
    address = fleet.dsn if driver == "postgres" else ""
    code = f"""
import asyncio, sys
from mcp_knowledge.app import create_app
from mcp_knowledge.settings import load_settings
settings = load_settings(
    role={role!r}, database_driver={driver!r}, database_url={address!r}, data_dir={str(tmp_path)!r}
)
app = create_app(settings)
async def run():
    async with app.router.lifespan_context(app):
        assert (await app.state.services.status.ready())[0]
asyncio.run(run())
print(*sorted(set(sys.modules) & set({sorted(unneeded)!r})))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def _children(pid: int) -> list[int]:
    text = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for child in text.split()]


def test_events_and_work_go_on_after_the_connections_were_lost(
    fleet: Fleet, api: Server, other_api: Server, worker: Server
) -> None:
    follower = Follower(other_api)
    before = {row[0] for row in fleet.rows(LISTENERS)}
    assert len(before) == 3
    fleet.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'mcp-knowledge %'")
    wait_until(lambda: len({row[0] for row in fleet.rows(LISTENERS)} - before) == 3, what="the listeners to come back")
    wait_until(lambda: len(fleet.rows(PRESENT)) == 3, what="the processes to be known to each other again")
    document = api.add("after.md", b"After the connections came back.")
    wait_until(lambda: "ready" in follower.statuses(document["id"]), what="the event at the other process")
    assert worker.request("GET", "/ready").status_code == 200


def test_commands_work_beside_the_servers_and_leave_the_work_to_them(fleet: Fleet, api: Server, worker: Server) -> None:
    note = api.data_dir.parent / "note.md"
    note.write_text("A note from the command line about herons.")
    environment = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": fleet.dsn}
    report = run_json(api.data_dir, "ingest", str(note), **environment)
    (document_id,) = report["ready"]
    (job,) = api.request("GET", f"{API}/jobs", params={"documentId": document_id}).json()["items"]
    assert worker.process is not None and f":{worker.process.pid}:" in job["worker"]
    assert run_json(api.data_dir, "status", **environment)["server"]["pid"] in {
        server.process.pid for server in fleet.running if server.process is not None
    }
    shown = run(api.data_dir, "config", **environment)
    assert shown.returncode == 0 and "DATABASE_DRIVER=postgres" in shown.stdout


def test_a_process_with_an_older_schema_goes_on_and_a_new_one_of_its_version_does_not_start(
    fleet: Fleet, api: Server, worker: Server
) -> None:
    fleet.rows("INSERT INTO mcp_knowledge_migrations (number, name) VALUES (999, 'newer') RETURNING 1")
    try:
        assert api.add("still.md", b"Taken in by the older version.")["status"] == "ready"
        environment = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": fleet.dsn}
        refused = run(api.data_dir, "status", **environment)
        assert refused.returncode == 1 and "newer" in refused.stderr and "Traceback" not in refused.stderr
    finally:
        fleet.rows("DELETE FROM mcp_knowledge_migrations WHERE name = 'newer' RETURNING 1")


def test_a_server_that_lacks_what_it_needs_does_not_start(tmp_path: Path) -> None:
    done = run(tmp_path / "data", "serve", APP_PROFILE="server", DATABASE_URL="postgresql://app:hush-hush@h/d")
    assert done.returncode == 2 and "hush-hush" not in done.stderr + done.stdout
    assert [name in done.stderr for name in ("DASHBOARD_PASSPHRASE", "DOCUMENT_CURSOR_SECRET")] == [True, True]
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_the_work_of_a_killed_worker_goes_on_at_another_one_long_before_its_lease_ends(
    fleet: Fleet, api: Server, worker: Server
) -> None:
    second = fleet.start("worker")
    assert worker.process is not None and second.process is not None
    by_pid = {f":{worker.process.pid}:": worker, f":{second.process.pid}:": second}
    lines = "\n\n".join(f"# Part {n}\n\nBeavers build dam number {n} out of {n + 3} trees." for n in range(1500))
    document = api.upload("beavers.md", lines.encode())

    def holder() -> Server | None:
        (job,) = api.request("GET", f"{API}/jobs", params={"documentId": document["id"]}).json()["items"]
        at_work = job["status"] == "running" and job["stage"] == "embedding"
        return next(server for mark, server in by_pid.items() if mark in job["worker"]) if at_work else None

    killed = wait_until(holder, what="a worker to be at it")
    killed.kill()
    assert api.wait_finished(document["id"])["status"] == "ready"
    (job,) = api.request("GET", f"{API}/jobs", params={"documentId": document["id"]}).json()["items"]
    assert job["status"] == "completed" and f":{killed.process.pid}:" not in job["worker"]
    killed.start()


@pytest.mark.slow
def test_one_worker_follows_the_folder_and_another_one_takes_over_when_it_is_killed(fleet: Fleet, api: Server) -> None:
    folder = api.data_dir.parent / "letters"
    folder.mkdir()
    (folder / "first.md").write_text("The first letter, about storks.")
    watching = {"INGEST_DATA_DIR": str(folder), "INGEST_DATA_WATCH": "true"}
    workers = [fleet.start("worker", **watching) for _ in range(2)]

    def came(path: str) -> bool:
        items = api.request("GET", f"{API}/documents", params={"search": "letter"}).json()["items"]
        return any(item["sourcePath"] == path and item["status"] == "ready" for item in items)

    (folder / "letter-0.md").write_text("Letter 0, about storks.")
    wait_until(partial(came, "letter-0.md"), what="the first letter")
    for number, victim in enumerate(workers, 1):  # one of the two is the one that follows
        victim.kill()
        (folder / f"letter-{number}.md").write_text(f"Letter {number}, about storks.")
        wait_until(partial(came, f"letter-{number}.md"), what="a letter that came later")
        victim.start()
    scan = api.request("GET", f"{API}/ingest/scan-status").json()
    assert scan["state"] in ("scanning", "completed")
