"""Evaluations: queries with judgements, runs of them over a way to search, and what came out.

Judgements are on documents, not on chunks: a document stays the same when it is cut into other chunks, so that runs
before and after a reindex can be compared.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mcp_knowledge.domain.search import Fusion, SearchMode

Verdict = Literal["right", "wrong"]
RunState = Literal["queued", "running", "completed", "failed", "interrupted"]
Outcome = Literal["better", "worse", "same", "only_now", "only_then"]
OUTCOMES: tuple[Outcome, ...] = ("worse", "better", "only_now", "only_then", "same")  # as they are shown
METRIC_NAMES = ("recall@5", "recall@10", "mrr@10", "ndcg@10")  # higher is better

DEPTH = 10  # documents looked at for each query


def query_key(query: str) -> str:
    """What two queries share that are the same but for case and white space: a set has each query once."""
    stored = query.replace("\0", "\ufffd")  # as databases keep it
    plain = unicodedata.normalize("NFKC", " ".join(stored.split())).casefold()
    return unicodedata.normalize("NFKC", plain)


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A named set of judged queries. `baseline_run_id`: the run that others are compared with."""

    id: str
    name: str
    description: str | None
    case_count: int
    baseline_run_id: str | None
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class Case:
    """A query with its judgements.

    Args:
        id: unique in its set.
        relevant: ids of the documents that answer it.
        wrong: ids of documents that were looked at and do not.
        no_answer: nothing in the corpus answers it.
        kind: free text to group by, such as `question` or `identifier`; empty when there is none.
        unresolved: names of relevant documents that an import did not find in the corpus; a run looks again.
    """

    id: str
    query: str
    relevant: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    no_answer: bool = False
    kind: str = ""
    unresolved: tuple[str, ...] = ()
    created_at_ms: int = 0
    updated_at_ms: int = 0

    @property
    def judged(self) -> bool:
        """Whether a run can measure it: it is known what answers it, or that nothing does."""
        return bool(self.relevant or self.unresolved) or self.no_answer

    def verdict(self, document_id: str) -> Verdict | None:
        """What was said of a document; None: nothing."""
        if document_id in self.relevant:
            return "right"
        return "wrong" if document_id in self.wrong else None

    def resolved(self, known: Mapping[str, str]) -> "Case":
        """The case with the names that are known now as ids of documents. What was called wrong meanwhile stays so."""
        found = dict.fromkeys(known[name] for name in self.unresolved if name in known)
        return replace(
            self,
            relevant=(*self.relevant, *(item for item in found if self.verdict(item) is None)),
            unresolved=tuple(name for name in self.unresolved if name not in known),
        )

    def with_verdict(self, document_id: str, verdict: Verdict | None) -> "Case":
        """The case with another word on a document; the first one that answers it also says that it has an answer."""
        relevant = tuple(item for item in self.relevant if item != document_id)
        wrong = tuple(item for item in self.wrong if item != document_id)
        if verdict == "right":
            return replace(self, relevant=(*relevant, document_id), wrong=wrong, no_answer=False)
        return replace(self, relevant=relevant, wrong=(*wrong, document_id) if verdict else wrong)

    def with_no_answer(self, no_answer: bool) -> "Case":
        """The case as one that nothing answers, or may be answered again. What was right is then right no more."""
        return (
            replace(self, relevant=(), unresolved=(), no_answer=True) if no_answer else replace(self, no_answer=False)
        )


@dataclass(frozen=True, slots=True)
class RunSettings:
    """A way to search: everything of a request that changes which documents are found.

    Args:
        fusion: None: not a hybrid search.
        filters: metadata filters as clients write them.
    """

    mode: SearchMode = "hybrid"
    fusion: Fusion | None = "rrf"
    collection_ids: tuple[str, ...] = ()
    filters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The mode, with the fusion where there is one."""
        return f"{self.mode} ({self.fusion})" if self.fusion else self.mode

    def to_json(self) -> dict[str, Any]:
        """As it is stored and shown."""
        return {
            "mode": self.mode,
            "fusion": self.fusion,
            "collectionIds": list(self.collection_ids),
            "filters": dict(self.filters),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "RunSettings":
        """What `to_json` made."""
        return cls(data["mode"], data["fusion"], tuple(data["collectionIds"]), data["filters"])


@dataclass(frozen=True, slots=True)
class Metrics:
    """What a run came to.

    Means (0..1) are over the queries that have an answer. Latencies are of whole searches, in milliseconds.

    Args:
        queries: how many were run; `answerable` of them have an answer, `no_answer_queries` have none.
        false_positives: queries without an answer that got a hit all the same; `false_positive_rate` is their share,
            None without such queries.
        wrong_hits: queries that showed, among the first 10, a document judged wrong.
        gone: judgements of documents that do not exist (any more); those judged right count as not found.
    """

    queries: int
    answerable: int
    recall_at_5: float
    recall_at_10: float
    mrr_at_10: float
    ndcg_at_10: float
    no_answer_queries: int
    false_positives: int
    false_positive_rate: float | None
    wrong_hits: int
    gone: int
    p50_ms: float
    p95_ms: float

    def value(self, name: str) -> float:
        """The metric with a name of `METRIC_NAMES`."""
        return {
            "recall@5": self.recall_at_5,
            "recall@10": self.recall_at_10,
            "mrr@10": self.mrr_at_10,
            "ndcg@10": self.ndcg_at_10,
        }[name]

    def to_json(self) -> dict[str, Any]:
        """As it is stored and shown."""
        rate = self.false_positive_rate
        return {
            "queries": self.queries,
            "answerable": self.answerable,
            "recallAt5": round(self.recall_at_5, 4),
            "recallAt10": round(self.recall_at_10, 4),
            "mrrAt10": round(self.mrr_at_10, 4),
            "ndcgAt10": round(self.ndcg_at_10, 4),
            "noAnswerQueries": self.no_answer_queries,
            "falsePositives": self.false_positives,
            "falsePositiveRate": None if rate is None else round(rate, 4),
            "wrongHits": self.wrong_hits,
            "gone": self.gone,
            "p50Ms": round(self.p50_ms, 2),
            "p95Ms": round(self.p95_ms, 2),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Metrics":
        """What `to_json` made."""
        return cls(
            queries=data["queries"],
            answerable=data["answerable"],
            recall_at_5=data["recallAt5"],
            recall_at_10=data["recallAt10"],
            mrr_at_10=data["mrrAt10"],
            ndcg_at_10=data["ndcgAt10"],
            no_answer_queries=data["noAnswerQueries"],
            false_positives=data["falsePositives"],
            false_positive_rate=data["falsePositiveRate"],
            wrong_hits=data["wrongHits"],
            gone=data["gone"],
            p50_ms=data["p50Ms"],
            p95_ms=data["p95Ms"],
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a set.

    Args:
        done, total: queries.
        index_configuration: chunk sizes, versions of parsers, chunker and embedding, and the settings of the ranking,
            as they were at its start.
        corpus_version: of the corpus at its start (`generation:12`).
        metrics: None until it is completed.
        error: why it failed, `CODE: message`.
    """

    id: str
    set_id: str
    name: str
    settings: RunSettings
    state: RunState
    done: int
    total: int
    index_configuration: Mapping[str, Any]
    corpus_version: str
    metrics: Metrics | None
    error: str | None
    created_at_ms: int
    completed_at_ms: int | None

    @property
    def active(self) -> bool:
        """Whether it waits or is at work."""
        return self.state in ("queued", "running")


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """A document as it was called then; no title: it did not exist (any more)."""

    id: str
    title: str | None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a run found for one query.

    Args:
        found: the first 10 documents, best first.
        relevant: those judged right, as of then.
        first_relevant_rank: the best rank of one judged right; None: not among the first 10.
        first_wrong_rank: the best rank of one judged wrong.
        gone: judged documents that did not exist any more.
        reciprocal_rank, ndcg: at 10.
        false_positive: it has no answer and got a hit all the same.
    """

    case_id: str
    query: str
    kind: str
    no_answer: bool
    found: tuple[DocumentRef, ...]
    relevant: tuple[DocumentRef, ...]
    first_relevant_rank: int | None
    first_wrong_rank: int | None
    recall_at_5: float
    recall_at_10: float
    reciprocal_rank: float
    ndcg: float
    elapsed_ms: float
    gone: int
    false_positive: bool


@dataclass(frozen=True, slots=True)
class CaseComparison:
    """One query in two runs; a side is None where the run did not have the query.

    `judgements_changed`: other documents counted as right then, so that the two cannot simply be held side by side.
    """

    outcome: Outcome
    now: QueryResult | None
    then: QueryResult | None
    judgements_changed: bool = False

    @property
    def either(self) -> QueryResult:
        """The result now, or else then."""
        result = self.now or self.then
        assert result is not None
        return result


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that was set otherwise, such as `targetTokens` of the chunks."""

    name: str
    then: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against an earlier one.

    Args:
        changes: what was added to each metric, by its name in `METRIC_NAMES`, and `falsePositiveRate` where both have
            one.
        differences: how search settings and index configuration differ.
        cases: worse ones first, then better, then those of one run alone, then the same.
    """

    run: Run
    baseline: Run
    changes: Mapping[str, float]
    differences: tuple[Difference, ...]
    cases: tuple[CaseComparison, ...]

    def count(self, outcome: Outcome) -> int:
        """How many queries came out so."""
        return sum(case.outcome == outcome for case in self.cases)

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many queries came out in each way."""
        return {outcome: self.count(outcome) for outcome in OUTCOMES}
