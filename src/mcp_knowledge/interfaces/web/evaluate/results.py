"""What a run found for each question, in words, and against another run."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.evaluations import CaseComparison, DocumentRef, QueryResult

# What the page's filter offers, in its words; what is to be looked at comes first.
COMPARED = {"all": "All", "worse": "Worse", "better": "Better", "new": "New or gone", "same": "Same"}
ALONE = {"all": "All", "missed": "Missed", "found": "Found"}
_OUTCOMES = {"only_now": "new", "only_then": "new"}
LABELS = {
    "better": "Better",
    "worse": "Worse",
    "same": "Same",
    "only_now": "New here",
    "only_then": "Not asked here",
    "missed": "Missed",
    "found": "Found",
}


@dataclass(frozen=True, slots=True)
class JudgedRank:
    """A document that was judged right, and where it stood; None: not among the first 10, or not asked."""

    document: DocumentRef
    now: int | None
    then: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """A question of one run or two. `outcome` is a key of `LABELS`, `group` one of the filter's."""

    outcome: str
    group: str
    now: QueryResult | None
    then: QueryResult | None
    judgements_changed: bool
    judged: list[JudgedRank]

    @property
    def either(self) -> QueryResult:
        """The result now, or else then."""
        result = self.now or self.then
        assert result is not None
        return result

    @property
    def told_now(self) -> str:
        """How it went, in a few words."""
        return _told(self.now)

    @property
    def told_then(self) -> str:
        """The same of the other run."""
        return _told(self.then)


def rank_of(result: QueryResult | None, document_id: str) -> int | None:
    """The place of a document among the first 10."""
    found = result.found if result else ()
    return next((rank for rank, item in enumerate(found, 1) if item.id == document_id), None)


def compared(cases: Sequence[CaseComparison]) -> list[Row]:
    """Rows of two runs, in the order of the comparison."""
    return [
        Row(
            case.outcome,
            _OUTCOMES.get(case.outcome, case.outcome),
            case.now,
            case.then,
            case.judgements_changed,
            _judged(case.now, case.then),
        )
        for case in cases
    ]


def alone(results: Sequence[QueryResult]) -> list[Row]:
    """Rows of one run: what was found worst comes first."""
    made = []
    for result in sorted(results, key=_quality):
        outcome = "missed" if is_missed(result) else "found"
        made.append(Row(outcome, outcome, result, None, False, _judged(result, None)))
    return made


def is_missed(result: QueryResult) -> bool:
    """Whether nothing that was judged right was found, or something where nothing answers."""
    return result.false_positive if result.no_answer else result.first_relevant_rank is None


def counts(rows: Sequence[Row], groups: Sequence[str]) -> dict[str, int]:
    """How many rows each choice of the filter has."""
    return {group: len(rows) if group == "all" else sum(row.group == group for row in rows) for group in groups}


def _quality(result: QueryResult) -> float:
    return float(not result.false_positive) if result.no_answer else result.ndcg


def _judged(now: QueryResult | None, then: QueryResult | None) -> list[JudgedRank]:
    documents = {item.id: item for result in (then, now) if result for item in result.relevant}
    return [JudgedRank(item, rank_of(now, item.id), rank_of(then, item.id)) for item in documents.values()]


def _told(result: QueryResult | None) -> str:
    if result is None:
        return "not asked"
    if result.no_answer:
        return "found something" if result.false_positive else "found nothing"
    if result.first_relevant_rank is None:
        return "not found"
    first = f"#{result.first_relevant_rank}"
    if len(result.relevant) == 1:
        return first
    hits = sum(rank_of(result, item.id) is not None for item in result.relevant)
    return f"{first} · {hits} of {len(result.relevant)}"
