"""What `/metrics` shows: the process's own counters, and gauges of what the store counts at the time of the scrape.

The store's gauges are the same at every process of one database, and are left out when it does not answer: a number
from before would look like one of now.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from mcp_knowledge.domain.documents import JOB_STATUSES, DocumentStatus
from mcp_knowledge.ports import Counts
from mcp_knowledge.services.looks import Look
from mcp_knowledge.services.metrics import REGISTRY

_PATIENCE_S = 2.5  # of a scrape, which Prometheus gives up after 10 seconds
_READY = "1 for each part of this process that works, as /ready tells it."
_UP = "1 if the database gave the figures of documents and jobs just now."
_PAUSED = "1 while the worker waits for a database or a storage that is away."
_OPENMETRICS = re.compile(r"application/openmetrics-text\s*(;\s*version=1\.0\.0\s*)?([;,]\s*(?!version)|$)")
_HOLDS_S = 1.0  # several scrapers at once cost no more than one
_LIVE_STATUSES: tuple[DocumentStatus, ...] = ("pending", "processing", "ready", "failed", "deleting")


@dataclass(frozen=True, slots=True)
class Stock:
    """What the store counted, and when the job that has waited longest was due, in milliseconds since 1970."""

    counts: Counts
    due_ms: int | None
    counted_s: float


class Figures:
    """Makes the answers to scrapes.

    Args:
        count: asks the store.
        next_due_ms: asks the queue when its next job may be claimed.
        check: what `/ready` says of each part.
        paused: whether this process's worker waits for a database or a storage that is away.
    """

    def __init__(
        self,
        count: Callable[[], Awaitable[Counts]],
        next_due_ms: Callable[[], Awaitable[int | None]],
        check: Callable[[], Awaitable[dict[str, bool]]],
        paused: Callable[[], bool],
    ) -> None:
        self._count, self._next_due_ms, self._check, self._paused = count, next_due_ms, check, paused
        self._look = Look(self._take_stock)
        self._stock: Stock | None = None

    async def exposition(self, accept: str) -> tuple[bytes, str]:
        """All metrics, and their media type.

        Args:
            accept: the request's header: who asks for OpenMetrics gets it, everybody else Prometheus's text format.
        """
        stock, checks = await asyncio.gather(self._recent_stock(), self._check())
        shown = _Families(stock, checks, self._paused())
        # Not by the library, which takes any text for a version and fails at some.
        if _OPENMETRICS.search(accept):
            made = openmetrics.generate_latest(shown, version="1.0.0")  # type: ignore[no-untyped-call]  # has no types
            return made, openmetrics.CONTENT_TYPE_LATEST
        return generate_latest(shown), CONTENT_TYPE_PLAIN_0_0_4

    async def _recent_stock(self) -> Stock | None:
        if self._stock is not None and time.monotonic() - self._stock.counted_s <= _HOLDS_S:
            return self._stock
        try:
            return await self._look.answer(_PATIENCE_S)
        except Exception:  # the log has it from those who need the database
            return None

    async def _take_stock(self) -> Stock:
        counts, due_ms = await asyncio.gather(self._count(), self._next_due_ms())
        self._stock = Stock(counts, due_ms, time.monotonic())
        return self._stock


class _Families(Collector):
    """The process's metrics and the gauges of one stock."""

    def __init__(self, stock: Stock | None, checks: dict[str, bool], paused: bool) -> None:
        self._stock, self._checks, self._paused = stock, checks, paused

    def collect(self) -> Iterator[Metric]:
        """All of them."""
        yield from REGISTRY.collect()
        yield from state_families(self._stock is not None, self._checks, self._paused)
        if self._stock is not None:
            yield from store_families(self._stock)


def state_families(store_up: bool, checks: dict[str, bool], paused: bool) -> Iterator[Metric]:
    """The gauges that say which parts work, whether the others are there, and whether the worker waits."""
    yield _by_label("ready", _READY, "check", checks)
    yield _gauge("store_up", _UP, store_up)
    yield _gauge("ingestion_paused", _PAUSED, paused)


def store_families(stock: Stock) -> Iterator[Metric]:
    """The gauges of a stock."""
    counts = stock.counts
    yield _by_label(
        "documents_total",
        "Documents by status.",
        "status",
        {status: counts.documents.get(status, 0) for status in _LIVE_STATUSES},
    )
    yield _by_label("documents_failed_total", "Failed documents by error code.", "code", counts.failed_by_code)
    yield _by_label(
        "job_queue_depth",
        "Jobs by status.",
        "status",
        {status: counts.jobs.get(status, 0) for status in JOB_STATUSES},
    )
    waited_ms = 0.0 if stock.due_ms is None else max(0.0, time.time() * 1000 - stock.due_ms)
    yield _gauge("job_queue_wait_seconds", "How long the job that has waited longest could have run.", waited_ms / 1000)
    yield _gauge("workers_active", "Workers that have a job.", counts.active_workers)
    yield _gauge("chunks", "Passages that searches find.", counts.chunks)
    yield _gauge("documents_stale", "Documents that another version parsed, cut or embedded.", counts.stale_documents)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=float(value))


def _by_label(name: str, meaning: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for value, number in sorted(values.items()):
        family.add_metric([value], number)
    return family
