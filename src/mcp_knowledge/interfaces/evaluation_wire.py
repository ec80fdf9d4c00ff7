"""JSON shapes of evaluations, shared by REST, the events and the command line."""

from mcp_knowledge.domain.evaluations import Case, EvaluationSet, Run
from mcp_knowledge.interfaces.wire import Json, maybe_timestamp, timestamp


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
