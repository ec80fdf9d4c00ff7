"""Traces through OpenTelemetry's SDK, sent as OTLP over HTTP. Imported only where the environment asks for traces.

The SDK reads its own variables: where traces go, how many are sampled, how they are batched, the service's name. Spans
wait in a bounded queue for a thread of their own; a collector that is away costs the spans, and nothing else.
"""

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind as OtelKind
from opentelemetry.trace import Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mcp_knowledge.domain.seldom import Seldom
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports.tracing import Attributes, Period, Span, SpanKind

log = logging.getLogger(__name__)

_SERVICE = "mcp-knowledge"
_KINDS = {
    "internal": OtelKind.INTERNAL,
    "server": OtelKind.SERVER,
    "client": OtelKind.CLIENT,
    "consumer": OtelKind.CONSUMER,
}
_CLOSE_S = 1.5  # of the 10 seconds that a shutdown may take


class _OtelSpan:
    """`Span` over one of the SDK's."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set(self, attributes: Attributes) -> None:
        """Attributes, by OpenTelemetry's names where it has one."""
        self._span.set_attributes(dict(attributes))

    def rename(self, name: str) -> None:
        """Another name."""
        self._span.update_name(name)

    def fail(self, code: str) -> None:
        """The status of a failure, and its code; never a message, which may quote what it is about."""
        self._span.set_status(Status(StatusCode.ERROR))
        self._span.set_attribute("error.type", code)


class OtelTracer:
    """The `Tracer` port. Raises ValueError for values of OTEL_* variables that the SDK does not bear.

    Args:
        version: of this program.
    """

    def __init__(self, version: str) -> None:
        self._exporter = _QuietExporter(OTLPSpanExporter())
        self._provider = TracerProvider(resource=_resource(version), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("mcp_knowledge", version)
        self._propagator = TraceContextTextMapPropagator()
        # From here on the exporter above tells of failures, once in a while and without addresses.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)

    @contextmanager
    def span(
        self, name: str, kind: SpanKind, attributes: Attributes, carrier: Mapping[str, str] | None
    ) -> Iterator[Span]:
        """The block as a span."""
        context = None if carrier is None else self._propagator.extract(carrier, Context())
        with self._tracer.start_as_current_span(
            name, context, _KINDS[kind], dict(attributes), record_exception=False, set_status_on_exception=False
        ) as started:
            wrapped = _OtelSpan(started)
            try:
                yield wrapped
            except BaseException as error:
                wrapped.fail(error.code if isinstance(error, KnowledgeError) else type(error).__name__)
                raise

    def record(self, whole: Period, parts: Sequence[Period]) -> None:
        """A trace of something that is over."""
        root = self._start(whole, Context(), OtelKind.CONSUMER)
        around = trace.set_span_in_context(root, Context())
        for part in parts:
            self._start(part, around, OtelKind.INTERNAL).end(part.end_ns)
        root.end(whole.end_ns)

    def trace_id(self) -> str | None:
        """Of the span at work."""
        context = trace.get_current_span().get_span_context()
        return trace.format_trace_id(context.trace_id) if context.is_valid else None

    def close(self) -> None:
        """Send what waits, for a moment only."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True, name="traces-closing")
        closing.start()
        closing.join(_CLOSE_S)

    def _start(self, period: Period, context: Context, kind: OtelKind) -> trace.Span:
        started = self._tracer.start_span(
            period.name, context, kind, dict(period.attributes), start_time=period.start_ns
        )
        if period.failure is not None:
            _OtelSpan(started).fail(period.failure)
        return started


def _resource(version: str) -> Resource:
    """What the traces are of; the environment's name for it goes before ours."""
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({"service.version": version} | ({} if named else {"service.name": _SERVICE}))


class _QuietExporter(SpanExporter):
    """Sends through another exporter, and tells the log of failures once a minute."""

    def __init__(self, inner: OTLPSpanExporter) -> None:
        self._inner = inner
        self._told = Seldom()
        self._lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Called from the SDK's own thread."""
        try:
            result = self._inner.export(spans)
        except Exception:
            result = SpanExportResult.FAILURE
        if result is not SpanExportResult.SUCCESS:
            self._tell(len(spans))
        return result

    def shutdown(self) -> None:
        """Break off what is being sent."""
        self._inner.shutdown()  # type: ignore[no-untyped-call]  # the SDK has no types here

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits here."""
        return True

    def _tell(self, lost: int) -> None:
        self._lost += lost
        if self._told.passes("lost"):
            log.warning("Traces cannot be sent to %s: %d spans are lost so far", _collector(), self._lost)


def _collector() -> str:
    """Host and port of the collector, without what else its address may hold."""
    address = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return urlsplit(address).netloc.rpartition("@")[2] or "the collector"
