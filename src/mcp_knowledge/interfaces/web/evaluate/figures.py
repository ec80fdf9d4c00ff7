"""The figures of a run in plain words: names, explanations, digits, and how much better or worse they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mcp_knowledge.domain.evaluations import Metrics
from mcp_knowledge.interfaces.web.wording import milliseconds

Tendency = Literal["better", "worse", "same"]
_LATENCY_NOISE = 0.25  # searches of the same kind differ by this much from one run to the next


@dataclass(frozen=True, slots=True)
class Change:
    """How a figure moved against another run's."""

    text: str
    tendency: Tendency


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of a run.

    Args:
        key: for the ids and classes of elements.
        value: the number itself, None where a run has none.
        tell: such a number in words.
        tick: such a number on an axis; as `tell` when omitted.
        show: the figure of a run in words; what `tell` says of its value when omitted.
        lower_is_better: else a higher one is.
        noise: the share of the value below which a change means nothing.
    """

    key: str
    label: str
    help: str
    value: Callable[[Metrics], float | None]
    tell: Callable[[float], str]
    tick: Callable[[float], str] | None = None
    show: Callable[[Metrics], str] | None = None
    lower_is_better: bool = False
    noise: float = 0.0

    def of(self, metrics: Metrics | None) -> str:
        """The figure of a run in words; a dash where it has none."""
        value = None if metrics is None else self.value(metrics)
        if metrics is None or value is None:
            return "–"
        return self.show(metrics) if self.show else self.tell(value)

    def change(self, now: Metrics | None, then: Metrics | None) -> Change | None:
        """How it moved from an earlier run; None where there is nothing to compare."""
        if now is None or then is None or (value := self.value(now)) is None or (before := self.value(then)) is None:
            return None
        added = value - before
        text = self.tell(abs(added))
        if text == self.tell(0.0) or abs(added) <= self.noise * before:
            return Change("=", "same")
        sign = "+" if added > 0 else "−"  # the minus sign is as wide as the plus
        return Change(f"{sign}{text}", "worse" if (added > 0) is self.lower_is_better else "better")


def share(value: float) -> str:
    """A share (0..1) to three digits."""
    return f"{value:.3f}"


def _share_tick(value: float) -> str:
    return f"{value:.2f}"


RECALL_5 = Figure(
    "recall5",
    "Recall@5",
    "Of the documents you marked right, the share that is among the first 5 found. 1 means all of them.",
    lambda metrics: metrics.recall_at_5,
    share,
    _share_tick,
)
RECALL_10 = Figure(
    "recall10",
    "Recall@10",
    "Of the documents you marked right, the share that is among the first 10 found. 1 means all of them.",
    lambda metrics: metrics.recall_at_10,
    share,
    _share_tick,
)
MRR = Figure(
    "mrr",
    "MRR",
    "How far up the first right document stands: 1 if it comes first, 0.5 if second, 0.33 if third, and so on. "
    "The mean over all questions (mean reciprocal rank).",
    lambda metrics: metrics.mrr_at_10,
    share,
    _share_tick,
)
NDCG = Figure(
    "ndcg",
    "nDCG@10",
    "How good the order of the first 10 is: 1 if all right documents stand at the top, less the further down "
    "they come (normalised discounted cumulative gain).",
    lambda metrics: metrics.ndcg_at_10,
    share,
    _share_tick,
)
FALSE_POSITIVES = Figure(
    "false-alarms",
    "False alarms",
    "Of the questions that nothing answers, those for which something was found all the same (no-answer false "
    "positives). Search by meaning always finds the nearest passages, so expect all of them where it takes part.",
    lambda metrics: metrics.false_positive_rate,
    lambda value: f"{value:.0%}",
    show=lambda metrics: f"{metrics.false_positives:,} of {metrics.no_answer_queries:,}",
    lower_is_better=True,
)
P50 = Figure(
    "p50",
    "Half within",
    "Half of the searches took no longer than this (p50 latency).",
    lambda metrics: metrics.p50_ms,
    milliseconds,
    lambda value: f"{value:g} ms",
    lower_is_better=True,
    noise=_LATENCY_NOISE,
)
P95 = Figure(
    "p95",
    "95% within",
    "Nineteen of twenty searches took no longer than this (p95 latency).",
    lambda metrics: metrics.p95_ms,
    milliseconds,
    lambda value: f"{value:g} ms",
    lower_is_better=True,
    noise=_LATENCY_NOISE,
)

FIGURES = (RECALL_5, RECALL_10, MRR, NDCG, FALSE_POSITIVES, P50, P95)
OVERVIEW = (RECALL_10, MRR, NDCG)
