"""Traces, as a collector gets them from the real application; and that they cost nothing where nobody asks for them."""

import io
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from front_door import add, running_client, until
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_receiver import Receiver, attributes
from rest_kit import API

from mcp_knowledge.adapters import traces
from mcp_knowledge.adapters.traces import wanted_by
from mcp_knowledge.interfaces.logs import JsonFormatter
from mcp_knowledge.services import tracing
from mcp_knowledge.settings import Settings

MARK = "Geheimnis"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STAGES = ["queued", "parsing", "chunking", "embedding", "indexing"]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A collector that the environment names."""
    for name in ("OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.delenv(name, raising=False)
    with Receiver() as running:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.url)
        yield running
    logging.getLogger("opentelemetry").setLevel(logging.NOTSET)


def named(receiver: Receiver, name: str) -> Span:
    found = [span for span in receiver.spans if span.name == name]
    assert len(found) == 1, (name, [span.name for span in receiver.spans])
    return found[0]


async def call_tool(client: httpx2.AsyncClient, arguments: Any) -> None:
    params = {"name": "search_documents", "arguments": arguments}
    await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


async def test_a_search_is_one_trace_from_the_request_down_to_each_stage(
    settings: Settings, receiver: Receiver
) -> None:
    async with running_client(settings) as client:
        await add(client, "a.md", b"# Title\n\nOne passage.")
        answer = await client.post(
            f"{API}/search", json={"query": "passage"}, headers={"traceparent": PARENT, "X-Request-Id": "req-of-mine"}
        )
        assert answer.status_code == 200
    request = named(receiver, "POST /api/v1/search")
    assert request.trace_id.hex() == PARENT.split("-")[1]
    assert request.parent_span_id.hex() == PARENT.split("-")[2]
    assert request.kind == Span.SPAN_KIND_SERVER
    assert attributes(request) == {
        "request.id": "req-of-mine",
        "http.request.method": "POST",
        "http.route": "/api/v1/search",
        "http.response.status_code": 200,
    }
    search = named(receiver, "search")
    assert search.parent_span_id == request.span_id and search.trace_id == request.trace_id
    assert attributes(search) == {"search.mode": "hybrid", "search.limit": 8, "search.hits": 1}
    for stage in ("embedding", "vector", "lexical", "fusion"):
        part = named(receiver, f"search.{stage}")
        assert part.parent_span_id == search.span_id and part.trace_id == request.trace_id
        assert request.start_time_unix_nano <= part.start_time_unix_nano <= part.end_time_unix_nano
    assert receiver.paths[0] == "/v1/traces"
    assert receiver.resource["service.name"] == "mcp-knowledge"


async def test_a_job_is_one_trace_with_its_stages(settings: Settings, receiver: Receiver) -> None:
    async with running_client(settings) as client:
        document = await add(client, f"{MARK}.md", b"# Title\n\nOne passage.")
        await add(client, "b.pdf", b"no PDF at all")
    done, failed = [span for span in receiver.spans if span.name == "job ingest"]
    told = attributes(done)
    assert told["job.id"].startswith("job_") and told["document.id"] == document["id"]
    assert (told["job.outcome"], told["job.attempt"], told["document.chunks"]) == ("completed", 1, 1)
    parts = [span for span in receiver.spans if span.trace_id == done.trace_id and span is not done]
    assert sorted(span.name for span in parts) == sorted(f"job.{stage}" for stage in STAGES)
    for part in parts:
        assert part.parent_span_id == done.span_id
        assert done.start_time_unix_nano <= part.start_time_unix_nano <= part.end_time_unix_nano
        assert part.end_time_unix_nano <= done.end_time_unix_nano
    assert abs(done.end_time_unix_nano / 1e9 - time.time()) < 60  # the monotonic clock was turned into the other
    assert failed.status.code == Status.STATUS_CODE_ERROR
    assert attributes(failed)["error.type"] == "DOCUMENT_MALFORMED"


async def test_tools_fetches_and_failures_have_spans_and_none_tells_what_users_wrote(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "library")
    async with running_client(settings) as client:
        await add(client, f"{MARK}.md", f"# {MARK}\n\nThe {MARK} itself".encode(), metadata=f'{{"a": "{MARK}"}}')
        await call_tool(client, {"query": MARK})
        await call_tool(client, {"query": MARK, MARK: 1})
        for url in (f"http://host.invalid/{MARK}?t={MARK}", f"http://127.0.0.1/{MARK}", f"ftp://{MARK}"):
            await client.post(f"{API}/documents/from-url", json={"url": url})
        await client.get(f"/{MARK}", params={"q": MARK})
        await client.get("/health")
        await client.get("/metrics")
    tools = [span for span in receiver.spans if span.name == "tools/call search_documents"]
    assert [attributes(span).get("error.type") for span in tools] == [None, "INVALID_TOOL_ARGUMENTS"]
    assert named(receiver, "search").parent_span_id == tools[0].span_id
    fetches = [attributes(span) for span in receiver.spans if span.name == "fetch"]
    assert [(told["server.address"], told["error.type"]) for told in fetches] == [
        ("host.invalid", "URL_FETCH_FAILED"),
        ("none", "SSRF_BLOCKED"),  # refused before anything was looked up
        ("none", "SSRF_BLOCKED"),
    ]
    assert not [span.name for span in receiver.spans if "health" in span.name or "metrics" in span.name]
    assert not any(MARK.encode() in body for body in receiver.bodies)
    assert receiver.resource["service.name"] == "library"


async def test_a_sampler_of_the_environment_is_obeyed_and_log_lines_name_the_trace(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    target = io.StringIO()
    handler = logging.StreamHandler(target)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("mcp_knowledge.access")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        async with running_client(settings) as client:
            await client.get(f"{API}/documents")
            await client.get(f"{API}/collections", headers={"traceparent": PARENT})
            await client.get(f"{API}/jobs", headers={b"traceparent": b"00-zz", b"tracestate": b"\xff" * 600})
    finally:
        logger.removeHandler(handler)
    assert [span.name for span in receiver.spans] == ["GET /api/v1/collections"]
    assert PARENT.split("-")[1] in target.getvalue()


async def test_a_collector_that_is_away_slows_nothing_and_is_told_of_once(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    with socket.socket() as silent:  # takes connections and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv(
            "OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:{MARK}@127.0.0.1:{silent.getsockname()[1]}/{MARK}"
        )
        async with running_client(settings) as client:
            for _ in range(20):
                assert (await client.get(f"{API}/collections")).status_code == 200
            left = time.monotonic()
        assert time.monotonic() - left < 10  # what a whole shutdown may take


async def ask_and_await_traces(client: httpx2.AsyncClient, receiver: Receiver) -> None:
    arrived = len(receiver.requests)
    await client.get(f"{API}/collections")
    await until(lambda: len(receiver.requests) > arrived)


async def test_failures_of_sending_are_one_line_without_the_address(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 404
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "5")
    address = receiver.url.replace("//", f"//user:{MARK}@")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{address}/{MARK}")
    async with running_client(settings) as client:
        for _ in range(3):
            await ask_and_await_traces(client, receiver)
    told = [record.getMessage() for record in caplog.records if "cannot be sent" in record.getMessage()]
    assert len(told) == 1 and receiver.url.removeprefix("http://") in told[0]
    assert MARK not in caplog.text
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, None),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://a"}, None),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "OTEL_TRACES_EXPORTER"),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"}, None),
        ({"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"}, None),
        ({"OTEL_SDK_DISABLED": "false", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ],
)
def test_the_variables_of_the_specification_say_whether_anything_is_traced(
    environment: dict[str, str], variable: str | None
) -> None:
    assert wanted_by(environment) == variable


async def test_without_the_extra_the_service_starts_and_says_how_to_get_it(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(traces, "_EXTRA", ("opentelemetry.sdk.that.is.not.there",))
    async with running_client(settings) as client:
        assert (await client.get("/health")).status_code == 200
        assert not tracing.tracing()
    said = [record.getMessage() for record in caplog.records if record.name == traces.__name__]
    assert said == [
        "OTEL_EXPORTER_OTLP_ENDPOINT is set, but traces need packages that are not installed: "
        "pip install 'mcp-knowledge[otel]'"
    ]


async def test_values_that_the_sdk_does_not_bear_keep_no_service_from_starting(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "-1")
    async with running_client(settings) as client:
        assert (await client.get("/health")).status_code == 200
    assert "Nothing is traced, as the OTEL variables do not fit" in caplog.text


def test_nothing_is_loaded_for_traces_where_nobody_asks_for_them(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from mcp_knowledge.app import create_app\n"
        "from mcp_knowledge.settings import load_settings\n"
        "async def run():\n"
        f"    app = create_app(load_settings(data_dir={str(tmp_path)!r}))\n"
        "    async with app.router.lifespan_context(app):\n"
        "        wanted = ('opentelemetry.sdk', 'opentelemetry.exporter')\n"
        "        print([name for name in sys.modules if name.startswith(wanted)])\n"
        "asyncio.run(run())\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    assert run.stdout.strip() == "[]", run.stderr
