"""JSON shapes of evaluations, shared by REST, the events and the command line."""

from mcp_knowledge.domain.evaluations import (
    Case,
    CaseComparison,
    Comparison,
    DocumentRef,
    EvaluationSet,
    QueryResult,
    Run,
)
from mcp_knowledge.interfaces.wire import Json, maybe_timestamp, timestamp
from mcp_knowledge.services.evaluation_files import ImportReport


def evaluation_set(item: EvaluationSet) -> Json:
    """A set."""
    return {
        "id": item.id,
        "name": item.name,
        "description": item.description,
        "caseCount": item.case_count,
        "baselineRunId": item.baseline_run_id,
        "createdAt": timestamp(item.created_at_ms),
        "updatedAt": timestamp(item.updated_at_ms),
    }


def case(item: Case) -> Json:
    """A judged query."""
    return {
        "id": item.id,
        "query": item.query,
        "relevant": list(item.relevant),
        "wrong": list(item.wrong),
        "noAnswer": item.no_answer,
        "kind": item.kind,
        "unresolved": list(item.unresolved),
        "createdAt": timestamp(item.created_at_ms),
        "updatedAt": timestamp(item.updated_at_ms),
    }


def judged(item: Case | None) -> Json:
    """What is said of a query."""
    return {"case": None if item is None else case(item)}


def import_report(item: ImportReport, shown_missing: int) -> Json:
    """What an import did, with so many of the documents that were not found."""
    return {
        "added": item.added,
        "changed": item.changed,
        "merged": item.merged,
        "missing": [{"query": one.query, "name": one.name} for one in item.missing[:shown_missing]],
        "missingCount": len(item.missing),
    }


def run(item: Run) -> Json:
    """A run."""
    return {
        "id": item.id,
        "setId": item.set_id,
        "name": item.name,
        "settings": item.settings.to_json(),
        "state": item.state,
        "done": item.done,
        "total": item.total,
        "indexConfiguration": dict(item.index_configuration),
        "corpusVersion": item.corpus_version,
        "metrics": None if item.metrics is None else item.metrics.to_json(),
        "error": item.error,
        "createdAt": timestamp(item.created_at_ms),
        "completedAt": maybe_timestamp(item.completed_at_ms),
    }


def result(item: QueryResult) -> Json:
    """What a run found for a query."""
    return {
        "caseId": item.case_id,
        "query": item.query,
        "kind": item.kind,
        "noAnswer": item.no_answer,
        "found": [_document(found) for found in item.found],
        "relevant": [_document(wanted) for wanted in item.relevant],
        "firstRelevantRank": item.first_relevant_rank,
        "firstWrongRank": item.first_wrong_rank,
        "recallAt5": round(item.recall_at_5, 4),
        "recallAt10": round(item.recall_at_10, 4),
        "reciprocalRank": round(item.reciprocal_rank, 4),
        "ndcg": round(item.ndcg, 4),
        "elapsedMs": round(item.elapsed_ms, 2),
        "gone": item.gone,
        "falsePositive": item.false_positive,
    }


def comparison_summary(item: Comparison) -> Json:
    """Two runs side by side, without their queries."""
    return {
        "runId": item.run.id,
        "baselineRunId": item.baseline.id,
        "changes": {name: round(change, 4) for name, change in item.changes.items()},
        "differences": [{"name": entry.name, "then": entry.then, "now": entry.now} for entry in item.differences],
        "counts": item.counts,
    }


def case_comparison(item: CaseComparison) -> Json:
    """A query in two runs."""
    return {
        "outcome": item.outcome,
        "caseId": item.either.case_id,
        "query": item.either.query,
        "kind": item.either.kind,
        "judgementsChanged": item.judgements_changed,
        "now": None if item.now is None else result(item.now),
        "then": None if item.then is None else result(item.then),
    }


def _document(item: DocumentRef) -> Json:
    return {"id": item.id, "title": item.title}
