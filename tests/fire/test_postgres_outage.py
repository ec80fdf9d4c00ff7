"""A PostgreSQL that is away for a while, seen through the front door: clear answers at once, and work that goes on."""

import asyncio
from pathlib import Path

import pytest
from front_door import running_client, wait_finished
from postgres_server import PostgresServer

from mcp_knowledge.adapters.postgres import connection, silence
from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import outages
from mcp_knowledge.settings import load_settings

API = "/api/v1"
AT_ONCE = 60  # more than there are threads for the database
BOUND_S = 20.0  # far below what it would take if each of them waited for the server on its own
REQUESTS = [
    ("GET", f"{API}/documents", None),
    ("POST", f"{API}/search", {"query": "harbour"}),
    ("GET", f"{API}/collections", None),
    ("GET", f"{API}/jobs", None),
    ("POST", f"{API}/collections", {"name": "New"}),
]


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_ANSWER_S", 2.0)
    monkeypatch.setattr(silence, "_PATIENCE_S", 0.5)
    monkeypatch.setattr(silence, "_ANSWER_S", 2)
    monkeypatch.setattr(outages, "_FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(outages, "_LONGEST_PAUSE_S", 0.1)


async def test_requests_get_503_and_then_everything_goes_on_by_itself(
    own_postgres: PostgresServer, tmp_path: Path, short_waits: None
) -> None:
    settings = load_settings(
        data_dir=tmp_path / "data", database_driver="postgres", database_url=own_postgres.create_database("outage")
    )
    async with running_client(settings) as client:
        first = await client.post(f"{API}/documents", files={"file": ("first.txt", b"A harbour in the north.")})
        await wait_finished(client, first.json()["id"])
        before = [
            await client.post(f"{API}/documents", files={"file": (f"{n}.txt", b"Ship %d." % n)}) for n in range(5)
        ]

        await asyncio.to_thread(own_postgres.halt)
        chosen = [REQUESTS[number % len(REQUESTS)] for number in range(AT_ONCE)]
        async with asyncio.timeout(BOUND_S):
            answers = await asyncio.gather(*(client.request(how, path, json=body) for how, path, body in chosen))
            upload = await client.post(f"{API}/documents", files={"file": ("late.txt", b"A late ship.")})
        for answer in [*answers, upload]:
            assert answer.status_code == 503, answer.text
            assert answer.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
        assert (await client.get("/health")).status_code == 200
        ready = await client.get("/ready")
        assert ready.status_code == 503 and ready.json()["checks"]["database"] is False

        await asyncio.to_thread(own_postgres.resume)
        for receipt in before:
            assert (await wait_finished(client, receipt.json()["id"]))["status"] == "ready"
        again = await client.post(f"{API}/documents", files={"file": ("late.txt", b"A late ship.")})
        assert (await wait_finished(client, again.json()["id"]))["status"] == "ready"
        assert (await client.get("/ready")).status_code == 200
        found = (await client.post(f"{API}/search", json={"query": "harbour", "mode": "lexical"})).json()
        assert [hit["documentId"] for hit in found["hits"]] == [first.json()["id"]]
        failed = (await client.get(f"{API}/jobs?status=failed")).json()["items"]
        assert failed == []


async def test_a_server_that_falls_silent_is_given_up_until_it_speaks_again(
    own_postgres: PostgresServer, tmp_path: Path, short_waits: None
) -> None:
    dsn = own_postgres.create_database("silence")
    settings = load_settings(data_dir=tmp_path / "data", database_driver="postgres", database_url=dsn)
    async with running_client(settings) as client:
        first = await client.post(f"{API}/documents", files={"file": ("first.txt", b"A harbour in the north.")})
        await wait_finished(client, first.json()["id"])
        closing = PostgresDatabase(dsn, 384)
        await closing.open()
        before = await client.post(f"{API}/documents", files={"file": ("second.txt", b"A ship at work.")})

        with own_postgres.frozen():
            waiting = asyncio.create_task(closing.read(lambda c: list(c.execute("SELECT 1"))))
            async with asyncio.timeout(BOUND_S):
                answers = await asyncio.gather(*(client.request(how, path, json=body) for how, path, body in REQUESTS))
                await closing.close()
            assert (await client.get("/health")).status_code == 200

        assert [answer.status_code for answer in answers] == [503] * len(REQUESTS)
        with pytest.raises(KnowledgeError) as given_up:
            await waiting
        assert given_up.value.code == "SERVICE_UNAVAILABLE"
        assert (await wait_finished(client, before.json()["id"]))["status"] == "ready"
        assert (await client.get(f"{API}/jobs?status=failed")).json()["items"] == []
