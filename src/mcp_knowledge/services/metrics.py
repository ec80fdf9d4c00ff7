"""Counters and durations of this process, under the names that `/metrics` shows; figures.py adds the store's.

Every label has few values: templates of routes, not addresses; methods, statuses and codes that are known.
"""

from collections.abc import Iterable
from itertools import product

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from mcp_knowledge.domain.documents import JobKind, Stage
from mcp_knowledge.domain.search import SearchMode, Timings

# Else each series has a second one that says when it began.
disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus_client has no types here
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)  # memory, processor time, open files, start; Linux only
PlatformCollector(registry=REGISTRY)

_SEARCH_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_REQUEST_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_INGESTION_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600)
_STREAMS = frozenset({"/api/v1/events"})  # stay open as long as a browser does

_SEARCH_SECONDS = Histogram(
    "search_duration_seconds",
    "Seconds of a search, by mode and stage; total is without waiting, the time until its turn.",
    ["mode", "stage"],
    buckets=_SEARCH_BUCKETS_S,
    registry=REGISTRY,
)
_INGESTION_SECONDS = Histogram(
    "ingestion_duration_seconds",
    "Seconds of a document's ingestion, by stage.",
    ["stage"],
    buckets=_INGESTION_BUCKETS_S,
    registry=REGISTRY,
)
_EMBEDDED_CHUNKS = Counter("embedding_chunks", "Passages embedded since the process started.", registry=REGISTRY)
_HTTP_REQUESTS = Counter(
    "http_requests",
    "HTTP requests answered, by route template, method and status.",
    ["route", "method", "status"],
    registry=REGISTRY,
)
_HTTP_SECONDS = Histogram(
    "http_request_duration_seconds",
    "Seconds until an HTTP answer was complete, by route template and method; event streams are left out.",
    ["route", "method"],
    buckets=_REQUEST_BUCKETS_S,
    registry=REGISTRY,
)
_TOOL_CALLS = Counter(
    "mcp_tool_calls",
    "Calls of MCP tools, by tool and outcome (ok or an error code).",
    ["tool", "outcome"],
    registry=REGISTRY,
)
_TOOL_SECONDS = Histogram(
    "mcp_tool_call_duration_seconds",
    "Seconds of a call of an MCP tool.",
    ["tool"],
    buckets=_REQUEST_BUCKETS_S,
    registry=REGISTRY,
)
_JOBS = Counter(
    "jobs_finished", "Jobs that left this worker, by kind and outcome.", ["kind", "outcome"], registry=REGISTRY
)
_BUILD = Gauge(
    "build_info", "1; what runs here, as labels.", ["version", "role", "database", "storage"], registry=REGISTRY
)


def observe_search(mode: SearchMode, timings: Timings, answered_s: float) -> None:
    """Record one search; a side that the mode does not use is left out.

    Args:
        answered_s: seconds until it was answered, the wait for its turn included.
    """
    waiting_ms = max(0.0, answered_s * 1000 - timings.total_ms)
    parts = {"waiting": waiting_ms, "fusion": timings.fusion_ms, "total": timings.total_ms}
    if mode != "lexical":
        parts |= {"embedding": timings.embedding_ms, "vector": timings.vector_search_ms}
    if mode != "vector":
        parts["lexical"] = timings.lexical_search_ms
    for stage, milliseconds in parts.items():
        _SEARCH_SECONDS.labels(mode, stage).observe(milliseconds / 1000)


def observe_ingestion(stage: Stage, seconds: float) -> None:
    """Record how long one document spent in a stage."""
    _INGESTION_SECONDS.labels(stage).observe(seconds)


def count_embedded(chunks: int) -> None:
    """Record passages that the model embedded (reused vectors do not count)."""
    _EMBEDDED_CHUNKS.inc(chunks)


def expect_jobs(kinds: Iterable[str], outcomes: Iterable[str]) -> None:
    """Show every outcome from the start: the first failure must be a rise, not a new series."""
    for kind, outcome in product(kinds, outcomes):
        _JOBS.labels(kind, outcome)


def count_job(kind: JobKind, outcome: str) -> None:
    """Record a job that has left this worker, under one of the few outcomes there are."""
    _JOBS.labels(kind, outcome).inc()


def observe_request(route: str, method: str, status: int, seconds: float) -> None:
    """Record one HTTP answer.

    Args:
        route: the path template, never the path itself, so that the number of series stays small.
        method: one that is known, or "other".
    """
    _HTTP_REQUESTS.labels(route, method, str(status)).inc()
    if route not in _STREAMS:
        _HTTP_SECONDS.labels(route, method).observe(seconds)


def count_unread(status: int) -> None:
    """Record an answer to what was no request yet: no HTTP, too large a head, or one that never came to its end."""
    _HTTP_REQUESTS.labels("unmatched", "other", str(status)).inc()


def observe_tool_call(tool: str, outcome: str, seconds: float) -> None:
    """Record one call of a tool that there is."""
    _TOOL_CALLS.labels(tool, outcome).inc()
    _TOOL_SECONDS.labels(tool).observe(seconds)


def tell_build(version: str, role: str, database: str, storage: str) -> None:
    """Say what runs in this process."""
    _BUILD.clear()
    _BUILD.labels(version, role, database, storage).set(1)
