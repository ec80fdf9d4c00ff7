"""From what was found to metrics, and from two runs to what changed."""

from dataclasses import replace

import pytest

from mcp_knowledge.domain.evaluation_scores import compared, scored, summary
from mcp_knowledge.domain.evaluations import Case, DocumentRef, Metrics, QueryResult, Run, RunSettings

TITLES = {name: name.upper() for name in "abcdefghijklm"}


def found(case: Case, documents: str, elapsed_ms: float = 1.0) -> QueryResult:
    return scored(case, [DocumentRef(name, TITLES[name]) for name in documents], TITLES, elapsed_ms)


def run(run_id: str, metrics: Metrics, chunk_tokens: int = 180) -> Run:
    configuration = {"chunkTargetTokens": chunk_tokens, "rrfK": 60}
    return Run(run_id, "evs", "r", RunSettings(), "completed", 1, 1, configuration, "generation:1", metrics, None, 0, 1)


def test_a_query_is_scored_by_where_its_documents_stand() -> None:
    result = found(Case("1", "q", relevant=("b", "f"), wrong=("c",)), "abcdef")
    assert (result.first_relevant_rank, result.first_wrong_rank) == (2, 3)
    assert (result.recall_at_5, result.recall_at_10, result.reciprocal_rank) == (0.5, 1.0, 0.5)
    assert 0 < result.ndcg < 1
    assert not result.false_positive


def test_documents_that_do_not_exist_count_as_not_found() -> None:
    result = found(Case("1", "q", relevant=("a", "gone"), wrong=("lost",), unresolved=("Handbook.pdf",)), "a")
    assert result.recall_at_10 == pytest.approx(1 / 3)
    assert result.gone == 3
    assert [item.title for item in result.relevant] == ["A", None, None]


def test_means_are_over_answerable_queries_and_false_positives_over_the_others() -> None:
    results = [
        found(Case("1", "q", relevant=("a",)), "a", 1.0),
        found(Case("2", "r", relevant=("a",), wrong=("b",)), "b", 2.0),
        found(Case("3", "s", no_answer=True), "a", 3.0),
        found(Case("4", "t", no_answer=True), "", 4.0),
    ]
    metrics = summary(results)
    assert (metrics.queries, metrics.answerable, metrics.no_answer_queries) == (4, 2, 2)
    assert metrics.recall_at_10 == metrics.mrr_at_10 == metrics.ndcg_at_10 == 0.5
    assert (metrics.false_positives, metrics.false_positive_rate, metrics.wrong_hits) == (1, 0.5, 1)
    assert (metrics.p50_ms, metrics.p95_ms) == (2.0, 4.0)
    assert Metrics.from_json(metrics.to_json()) == metrics
    assert summary(results[:2]).false_positive_rate is None
    assert summary([]).ndcg_at_10 == 0.0


def test_two_runs_side_by_side_say_what_got_worse_and_what_was_set_otherwise() -> None:
    good, lost, empty = Case("1", "q", ("a",)), Case("2", "r", ("b",)), Case("3", "s", no_answer=True)
    new, old = Case("4", "t", ("c",)), Case("5", "u", ("d",))
    then = [found(good, "ba"), found(lost, "b"), found(empty, "a"), found(old, "d")]
    now = [found(good, "ab"), found(lost, "a"), found(empty, ""), found(new, "c")]
    report = compared(run("now", summary(now), 120), now, run("then", summary(then)), then)
    assert [(case.outcome, case.either.case_id) for case in report.cases] == [
        ("worse", "2"),
        ("better", "3"),
        ("better", "1"),
        ("only_now", "4"),
        ("only_then", "5"),
    ]
    assert [(item.name, item.then, item.now) for item in report.differences] == [("chunkTargetTokens", 180, 120)]
    assert report.changes["recall@10"] == pytest.approx(2 / 3 - 1)
    assert report.changes["falsePositiveRate"] == -1.0
    assert report.counts == {"worse": 1, "better": 2, "only_now": 1, "only_then": 1, "same": 0}


def test_a_query_that_is_judged_otherwise_now_says_so() -> None:
    then, now = found(Case("1", "q", ("a",)), "ab"), found(Case("1", "q", ("a", "b")), "ab")
    metrics = summary([then])
    (case,) = compared(run("now", metrics), [now], run("then", metrics), [then]).cases
    assert case.judgements_changed
    same = compared(run("now", metrics), [replace(then, elapsed_ms=9.0)], run("then", metrics), [then]).cases[0]
    assert same.outcome == "same" and not same.judgements_changed


def test_a_judgement_takes_back_what_it_contradicts() -> None:
    case = Case("1", "q").with_verdict("a", "right").with_verdict("b", "right").with_verdict("a", "wrong")
    assert (case.relevant, case.wrong) == (("b",), ("a",))
    assert (case.verdict("a"), case.verdict("b"), case.verdict("c")) == ("wrong", "right", None)
    assert case.with_no_answer(True).with_no_answer(False) == replace(case, relevant=())
    assert case.with_no_answer(True).with_verdict("c", "right").no_answer is False
    assert not case.with_verdict("b", None).judged
