"""Counters and durations of this process, under the names that `/metrics` shows; status.py adds the store's figures."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from mcp_knowledge.domain.documents import Stage
from mcp_knowledge.domain.search import SearchMode, Timings

REGISTRY = CollectorRegistry()

_SEARCH_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_INGESTION_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600)

_SEARCH_SECONDS = Histogram(
    "search_duration_seconds",
    "Seconds of a search, by mode and stage.",
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
_EMBEDDED_CHUNKS = Counter("embedding_chunks", "Chunks embedded since the process started.", registry=REGISTRY)
_HTTP_REQUESTS = Counter(
    "http_requests",
    "HTTP requests answered, by route template, method and status.",
    ["route", "method", "status"],
    registry=REGISTRY,
)


def observe_search(mode: SearchMode, timings: Timings) -> None:
    """Record one search; a side that the mode does not use is left out."""
    parts = {"fusion": timings.fusion_ms, "total": timings.total_ms}
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
    """Record chunks that the model embedded (reused vectors do not count)."""
    _EMBEDDED_CHUNKS.inc(chunks)


def count_request(route: str, method: str, status: int) -> None:
    """Record one HTTP answer.

    Args:
        route: the path template, never the path itself, so that the number of series stays small.
    """
    _HTTP_REQUESTS.labels(route, method, str(status)).inc()
