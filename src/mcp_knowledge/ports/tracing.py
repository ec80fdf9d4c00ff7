"""Traces: what was done for whom, and how long each part took."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

SpanKind = Literal["internal", "server", "client", "consumer"]
Attributes = Mapping[str, str | int | float | bool]


class Span(Protocol):
    """One part at work."""

    def set(self, attributes: Attributes) -> None:
        """Say more of it: ids, numbers and names of ours; never text of documents, questions or names of files."""
        ...

    def rename(self, name: str) -> None:
        """Another name, once it is known."""
        ...

    def fail(self, code: str) -> None:
        """It did not do what it should."""
        ...


@dataclass(frozen=True, slots=True)
class Period:
    """A part that is over.

    Args:
        start_ns: since 1970, as `end_ns`.
        failure: a code, where it failed.
    """

    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes = field(default_factory=dict)
    failure: str | None = None


class Tracer(Protocol):
    """Takes spans. Nothing here waits for anybody or raises."""

    def span(
        self, name: str, kind: SpanKind, attributes: Attributes, carrier: Mapping[str, str] | None
    ) -> AbstractContextManager[Span]:
        """The block as a span, within the one around it; tasks and threads begun in it are within it too.

        Args:
            carrier: headers that may say which trace this goes on (W3C Trace Context).
        """
        ...

    def record(self, whole: Period, parts: Sequence[Period]) -> None:
        """Something that was done piece by piece, once it is over: a trace of its own."""
        ...

    def trace_id(self) -> str | None:
        """Of the span at work, as 32 hexadecimal digits; None outside of all."""
        ...
