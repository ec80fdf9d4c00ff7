"""The seam to traces: parts of the work that are worth a span of their own say so here.

Without a tracer, which is how the program runs unless it is told where traces go, each of these calls costs less than a
microsecond and nothing is loaded for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from mcp_knowledge.ports.tracing import Attributes, Period, Span, SpanKind, Tracer


class _Nothing:
    """No span: takes everything and keeps nothing."""

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set(self, attributes: Attributes) -> None:
        """Nobody listens."""

    def rename(self, name: str) -> None:
        """Nobody listens."""

    def fail(self, code: str) -> None:
        """Nobody listens."""


_NOTHING = _Nothing()
_NO_ATTRIBUTES: Attributes = {}
_tracer: Tracer | None = None  # of the process, as the log is


@contextmanager
def traced_by(tracer: Tracer) -> Iterator[None]:
    """Give all spans of the process to a tracer, while the block lasts."""
    global _tracer
    before, _tracer = _tracer, tracer
    try:
        yield
    finally:
        _tracer = before


def span(
    name: str,
    attributes: Attributes = _NO_ATTRIBUTES,
    *,
    kind: SpanKind = "internal",
    carrier: Mapping[str, str] | None = None,
) -> AbstractContextManager[Span]:
    """The block as a span. See `Tracer.span`."""
    return _NOTHING if _tracer is None else _tracer.span(name, kind, attributes, carrier)


def record(whole: Period, parts: Sequence[Period]) -> None:
    """Something that is over. See `Tracer.record`."""
    if _tracer is not None:
        _tracer.record(whole, parts)


def tracing() -> bool:
    """Whether anybody takes spans: to save the making of what only they need."""
    return _tracer is not None


def trace_id() -> str | None:
    """The trace that the present work belongs to."""
    return None if _tracer is None else _tracer.trace_id()
