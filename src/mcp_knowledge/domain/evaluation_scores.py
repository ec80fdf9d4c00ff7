"""From what a search found to numbers: of one query, of a run, and of two runs side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_knowledge.domain.evaluations import (
    DEPTH,
    METRIC_NAMES,
    OUTCOMES,
    Case,
    CaseComparison,
    Comparison,
    Difference,
    DocumentRef,
    Metrics,
    Outcome,
    QueryResult,
    Run,
)
from mcp_knowledge.domain.metrics import mean, ndcg, percentile, recall, reciprocal_rank

_ALIKE = 1e-9  # sums of the same gains in the same order, read back from JSON


def scored(case: Case, found: Sequence[DocumentRef], titles: Mapping[str, str], elapsed_ms: float) -> QueryResult:
    """One query's result.

    Args:
        found: documents, best first, each once.
        titles: of those judged documents that exist.
    """
    wanted = (*case.relevant, *case.unresolved)
    ranked = [item.id for item in found]
    judged = (*wanted, *case.wrong)
    return QueryResult(
        case_id=case.id,
        query=case.query,
        kind=case.kind,
        no_answer=case.no_answer,
        found=tuple(found[:DEPTH]),
        relevant=tuple(DocumentRef(item, titles.get(item)) for item in wanted),
        first_relevant_rank=_first_rank(ranked, wanted),
        first_wrong_rank=_first_rank(ranked, case.wrong),
        recall_at_5=recall(ranked, wanted, 5),
        recall_at_10=recall(ranked, wanted, 10),
        reciprocal_rank=reciprocal_rank(ranked, wanted, DEPTH),
        ndcg=ndcg(ranked, wanted, DEPTH),
        elapsed_ms=elapsed_ms,
        gone=sum(item not in titles for item in judged),
        false_positive=case.no_answer and bool(ranked),
    )


def summary(results: Sequence[QueryResult]) -> Metrics:
    """The figures of a run."""
    answerable = [result for result in results if not result.no_answer]
    no_answer = [result for result in results if result.no_answer]
    milliseconds = [result.elapsed_ms for result in results]
    false_positives = sum(result.false_positive for result in no_answer)
    return Metrics(
        queries=len(results),
        answerable=len(answerable),
        recall_at_5=mean([result.recall_at_5 for result in answerable]),
        recall_at_10=mean([result.recall_at_10 for result in answerable]),
        mrr_at_10=mean([result.reciprocal_rank for result in answerable]),
        ndcg_at_10=mean([result.ndcg for result in answerable]),
        no_answer_queries=len(no_answer),
        false_positives=false_positives,
        false_positive_rate=false_positives / len(no_answer) if no_answer else None,
        wrong_hits=sum(result.first_wrong_rank is not None for result in results),
        gone=sum(result.gone for result in results),
        p50_ms=percentile(milliseconds, 0.5),
        p95_ms=percentile(milliseconds, 0.95),
    )


def compared(
    run: Run, results: Sequence[QueryResult], baseline: Run, baseline_results: Sequence[QueryResult]
) -> Comparison:
    """A completed run against another completed one of the same set."""
    now = {result.case_id: result for result in results}
    then = {result.case_id: result for result in baseline_results}
    cases = [_case(now.get(case_id), then.get(case_id)) for case_id in now | then]
    return Comparison(
        run=run,
        baseline=baseline,
        changes=_changes(run.metrics, baseline.metrics),
        differences=(
            *_differences(baseline.settings.to_json(), run.settings.to_json()),
            *_differences(baseline.index_configuration, run.index_configuration),
        ),
        cases=tuple(sorted(cases, key=lambda case: (OUTCOMES.index(case.outcome), _moved(case)))),
    )


def _first_rank(ranked: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((rank for rank, item in enumerate(ranked[:DEPTH], 1) if item in wanted), None)


def _case(now: QueryResult | None, then: QueryResult | None) -> CaseComparison:
    if now is None or then is None:
        return CaseComparison("only_then" if now is None else "only_now", now, then)
    changed = now.no_answer != then.no_answer or {item.id for item in now.relevant} != {
        item.id for item in then.relevant
    }
    gain = _quality(now) - _quality(then)
    outcome: Outcome = "same" if abs(gain) < _ALIKE else "better" if gain > 0 else "worse"
    return CaseComparison(outcome, now, then, changed)


def _quality(result: QueryResult) -> float:
    """What better and worse mean: nDCG@10, and for a query without an answer that nothing was found."""
    return float(not result.false_positive) if result.no_answer else result.ndcg


def _moved(case: CaseComparison) -> float:
    """The largest changes first."""
    return 0.0 if case.now is None or case.then is None else -abs(_quality(case.now) - _quality(case.then))


def _changes(now: Metrics | None, then: Metrics | None) -> dict[str, float]:
    if now is None or then is None:
        return {}
    changes = {name: now.value(name) - then.value(name) for name in METRIC_NAMES}
    if now.false_positive_rate is not None and then.false_positive_rate is not None:
        changes["falsePositiveRate"] = now.false_positive_rate - then.false_positive_rate
    return changes


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    return [
        Difference(name, then.get(name), now.get(name)) for name in {**then, **now} if then.get(name) != now.get(name)
    ]
