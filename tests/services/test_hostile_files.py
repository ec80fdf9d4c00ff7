"""What a hostile file may do to the running service: fail its own job, and nothing else."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx2
import pytest
from front_door import add, running_client, wait_finished
from hostile_files import HOSTILE_FILES, OUTCOMES
from hostile_formats import HOSTILE
from ingest_kit import until

from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
from mcp_knowledge.settings import Settings, load_settings

FILES = ("bomb.docx", "bomb.epub", "bomb.xlsx", "laughs.xml", "deep.json", "deep.html", "deep.eml", "long.txt")


@pytest.fixture
async def hostile_client(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx2.AsyncClient]:
    """The real application, whose parser processes load formats that misbehave."""
    monkeypatch.setattr(
        "mcp_knowledge.adapters.opened.SandboxedParser", partial(SandboxedParser, registry="hostile_formats:HOSTILE")
    )
    monkeypatch.setattr("mcp_knowledge.app.accepted_extensions", HOSTILE.extensions)
    monkeypatch.setattr("mcp_knowledge.app.mime_type_of", lambda extension: "text/plain")
    tight = load_settings(
        data_dir=settings.data_dir, parser_timeout_ms=1500, parser_memory_bytes=300 * 1024**2, worker_concurrency=2
    )
    async with running_client(tight) as connected:
        yield connected


async def upload(client: httpx2.AsyncClient, name: str, content: bytes) -> str:
    answer = await client.post("/api/v1/documents", files={"file": (name, content)})
    assert answer.status_code == 202, answer.text
    document_id: str = answer.json()["id"]
    return document_id


async def job_of(client: httpx2.AsyncClient, document_id: str) -> dict[str, Any]:
    jobs = (await client.get("/api/v1/jobs", params={"documentId": document_id})).json()["items"]
    job: dict[str, Any] = jobs[0]
    return job


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("a.sleep", "retrying", "INGESTION_TIMEOUT"),
        ("a.spin", "retrying", "INGESTION_TIMEOUT"),
        ("a.hog", "failed", "DOCUMENT_RESOURCE_LIMIT"),
        ("a.nativehog", "failed", "DOCUMENT_RESOURCE_LIMIT"),
        ("a.crash", "failed", "DOCUMENT_MALFORMED"),
        ("a.killed", "retrying", "INGESTION_FAILED"),
        ("a.garbage", "retrying", "INGESTION_FAILED"),
        ("a.panic", "failed", "DOCUMENT_MALFORMED"),
    ],
)
async def test_a_parser_that_hangs_eats_memory_or_dies_fails_its_own_job_only(
    hostile_client: httpx2.AsyncClient, name: str, status: str, code: str
) -> None:
    bad = await upload(hostile_client, name, b"bad text")
    good = [await upload(hostile_client, f"{number}.ok", f"good text {number}".encode()) for number in range(3)]

    async def ended() -> bool:
        assert (await hostile_client.get("/health")).json() == {"ok": True}
        return bool((await job_of(hostile_client, bad))["status"] == status)

    await until(ended)
    assert (await job_of(hostile_client, bad))["error"].startswith(f"{code}: ")
    for document_id in good:
        assert (await wait_finished(hostile_client, document_id))["status"] == "ready"


async def test_files_that_break_a_limit_fail_with_its_code_while_others_are_read(client: httpx2.AsyncClient) -> None:
    bad = {name: await upload(client, name, HOSTILE_FILES[name]()) for name in FILES}
    assert (await add(client, "good.txt", b"Nothing is wrong with this one."))["status"] == "ready"
    for name, document_id in bad.items():
        document = await wait_finished(client, document_id)
        assert document["status"] == "failed"
        assert document["latestError"] == f"{OUTCOMES[name]}: This file is too large or complex to ingest."
    found = await client.post("/api/v1/search", json={"query": "wrong"})
    assert [hit["content"] for hit in found.json()["hits"]] == ["Nothing is wrong with this one."]
