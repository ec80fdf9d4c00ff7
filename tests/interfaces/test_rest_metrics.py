"""What `/metrics` shows: names, types, labels, bounds, and that it answers whatever is away."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from front_door import add, running_client, until
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain
from rest_kit import API, app_of

from mcp_knowledge import __version__
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.settings import Settings

PROMISED = {
    "documents_total": ("gauge", {"status"}),
    "documents_failed_total": ("gauge", {"code"}),
    "job_queue_depth": ("gauge", {"status"}),
    "search_duration_seconds": ("histogram", {"mode", "stage"}),
    "ingestion_duration_seconds": ("histogram", {"stage"}),
    "embedding_chunks": ("counter", set()),  # the parser takes the _total of counters off
    "http_requests": ("counter", {"route", "method", "status"}),
}
ALSO = {
    "http_request_duration_seconds": ("histogram", {"route", "method"}),
    "mcp_tool_calls": ("counter", {"tool", "outcome"}),
    "mcp_tool_call_duration_seconds": ("histogram", {"tool"}),
    "jobs_finished": ("counter", {"kind", "outcome"}),
    "build_info": ("gauge", {"version", "role", "database", "storage"}),
    "ready": ("gauge", {"check"}),
    "store_up": ("gauge", set()),
    "ingestion_paused": ("gauge", set()),
    "job_queue_wait_seconds": ("gauge", set()),
    "workers_active": ("gauge", set()),
    "chunks": ("gauge", set()),
    "documents_stale": ("gauge", set()),
    "process_resident_memory_bytes": ("gauge", set()),
    "process_cpu_seconds": ("counter", set()),
    "process_open_fds": ("gauge", set()),
    "process_start_time_seconds": ("gauge", set()),
}
OF_STORE = ("documents_total", "documents_failed_total", "job_queue_depth", "chunks", "documents_stale")


async def families(client: httpx2.AsyncClient) -> dict[str, Metric]:
    answer = await client.get("/metrics")
    assert answer.status_code == 200, answer.text
    return {family.name: family for family in plain(answer.text)}


def values(family: Metric, *labels: str) -> dict[Any, float]:
    """Samples by their labels' values, without those of a histogram's parts."""
    return {
        tuple(sample.labels[label] for label in labels): sample.value
        for sample in family.samples
        if sample.name in (family.name, f"{family.name}_total")
    }


async def call_tool(client: httpx2.AsyncClient, name: str, arguments: Any) -> httpx2.Response:
    params = {"name": name, "arguments": arguments}
    return await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


async def test_every_metric_has_its_type_its_labels_and_a_help_text(client: httpx2.AsyncClient) -> None:
    await add(client, "a.md", b"# Title\n\nOne passage.")
    await add(client, "b.pdf", b"no PDF at all")
    await client.post(f"{API}/search", json={"query": "passage"})
    await call_tool(client, "search_documents", {"query": "passage"})
    found = await families(client)
    for name, (kind, labels) in (PROMISED | ALSO).items():
        family = found[name]
        assert family.type == kind, name
        assert family.documentation, name
        assert {label for sample in family.samples for label in sample.labels} - {"le"} == labels, name
        assert family.samples, name
    assert not [name for name in found if name.endswith("_created")]
    assert values(found["build_info"], "version", "role", "database", "storage") == {
        (__version__, "all", "sqlite", "local"): 1
    }
    assert values(found["store_up"]) == {(): 1}
    parts = ("database", "embedding", "migrations", "storage", "worker")
    assert set(values(found["ready"], "check")) == {(part,) for part in parts}


async def test_whoever_asks_for_openmetrics_gets_it(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0,*/*;q=0.1"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n") and answer.text.count("# EOF") == 1
    found = openmetrics(answer.text)  # type: ignore[no-untyped-call]  # prometheus_client has no types here
    assert "documents_total" in {family.name for family in found}
    for accept in ("text/plain", "", "application/json", "application/openmetrics-text;version=x, " * 50, "*/*"):
        other = await client.get("/metrics", headers={"Accept": accept})
        assert other.status_code == 200, accept
        assert "documents_total" in other.text, accept


async def test_hostile_requests_make_no_series_of_their_own(client: httpx2.AsyncClient) -> None:
    before = await families(client)
    for number in range(40):
        await client.get(f"/{number}/x")
        await client.request(f"METHOD{number}", "/health")
        await client.get(f"{API}/documents/doc_{number}")
        await client.get(f"/static/{number}.js")
        await call_tool(client, f"tool{number}", {})
        await call_tool(client, "search_documents", {f"argument{number}": 1})
    after = await families(client)
    for name in ("http_requests", "http_request_duration_seconds", "mcp_tool_calls", "mcp_tool_call_duration_seconds"):
        grown = len(after[name].samples) - len(before[name].samples if name in before else ())
        assert grown < 120, name
    assert {method for (method,) in values(after["http_requests"], "method")} <= {
        *("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "other")
    }
    codes = {outcome for (outcome,) in values(after["mcp_tool_calls"], "outcome")}
    assert codes <= {"ok", "CANCELLED", *ERROR_CODES}


async def test_figures_that_fall_are_gauges_and_follow_what_is_there(client: httpx2.AsyncClient) -> None:
    document = await add(client, "a.txt", b"something to count")

    async def ready_documents() -> float:
        return values((await families(client))["documents_total"], "status")[("ready",)]

    await until(lambda: _is(ready_documents, 1))
    await client.delete(f"{API}/documents/{document['id']}")
    await until(lambda: _is(ready_documents, 0))


async def _is(ask: Any, wanted: float) -> bool:
    return bool(await ask() == wanted)


async def test_a_scrape_answers_while_the_database_fails_or_hangs_and_leaves_its_figures_out(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    hanging = asyncio.Event()

    async def broken(*_: Any) -> None:
        raise KnowledgeError("SERVICE_UNAVAILABLE")

    async def hangs(*_: Any) -> None:
        asked.append(1)
        await hanging.wait()
        raise KnowledgeError("SERVICE_UNAVAILABLE")

    monkeypatch.setattr("mcp_knowledge.services.figures._HOLDS_S", 0)
    monkeypatch.setattr("mcp_knowledge.services.figures._PATIENCE_S", 0.05)
    for fault in (broken, hangs):
        with monkeypatch.context() as patch:
            patch.setattr(SqlStore, "counts", fault)
            for found in await asyncio.gather(*(families(client) for _ in range(5))):
                assert values(found["store_up"]) == {(): 0} and found["ready"].samples
                assert not set(OF_STORE) & set(found)
                assert found["http_requests"].samples and found["process_start_time_seconds"].samples
    assert len(asked) == 1  # what hangs is not asked again and again
    hanging.set()
    await until(lambda: _store_is_up(client))


async def _store_is_up(client: httpx2.AsyncClient) -> bool:
    return values((await families(client))["store_up"]) == {(): 1}


async def test_the_longest_wait_of_a_job_shows_that_nobody_works(settings: Settings) -> None:
    async with running_client(settings.model_copy(update={"role": "api"})) as client:
        await client.post(f"{API}/documents", files={"file": ("a.txt", b"nobody reads this")})

        async def waits() -> bool:
            found = await families(client)
            return values(found["job_queue_wait_seconds"])[()] > 0

        await until(waits)
        found = await families(client)
        assert values(found["job_queue_depth"], "status")[("queued",)] == 1
        assert values(found["workers_active"])[()] == 0
        assert values(found["build_info"], "role") == {("api",): 1}


@pytest.mark.both_databases
async def test_every_process_of_a_database_tells_the_same_of_it(settings: Settings) -> None:
    async with running_client(settings) as client:
        await add(client, "a.txt", b"something to count")
        await add(client, "b.pdf", b"no PDF at all")
        first = await families(client)
    async with running_client(settings.model_copy(update={"role": "worker"})) as client:
        assert _of_store(await families(client)) == _of_store(first)
        assert values(first["documents_failed_total"], "code") == {("DOCUMENT_MALFORMED",): 1}
        assert app_of(client).state.services.settings.role == "worker"


def _of_store(found: dict[str, Metric]) -> Sequence[Any]:
    return [found[name].samples for name in OF_STORE]


async def test_calls_of_tools_are_counted_by_their_outcome(client: httpx2.AsyncClient) -> None:
    before = values((await families(client))["mcp_tool_calls"], "tool", "outcome")
    await call_tool(client, "list_collections", {})
    await call_tool(client, "get_document", {"document_id": "doc_none"})
    await call_tool(client, "get_document", "nothing of the kind")
    after = values((await families(client))["mcp_tool_calls"], "tool", "outcome")
    for labels in (
        ("list_collections", "ok"),
        ("get_document", "DOCUMENT_NOT_FOUND"),
        ("get_document", "INVALID_TOOL_ARGUMENTS"),
    ):
        assert after[labels] == before.get(labels, 0) + 1, labels
