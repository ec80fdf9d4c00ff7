"""What is told of a job when a worker is done with it: a line of the log, a count, a trace."""

import logging
import time
from typing import Literal, get_args

from mcp_knowledge.domain.documents import JobKind, Stage
from mcp_knowledge.ports.tracing import Period
from mcp_knowledge.services import metrics, tracing
from mcp_knowledge.services.log_context import about
from mcp_knowledge.services.work import Work

log = logging.getLogger(__name__)

# `postponed`: an outage came between. `returned`: the process ends, and the next worker goes on. `dropped`: it was
# cancelled, its document deleted, or another worker has it.
JobOutcome = Literal["completed", "failed", "retrying", "postponed", "returned", "dropped"]
metrics.expect_jobs(get_args(JobKind), get_args(JobOutcome))


def report(work: Work, outcome: JobOutcome, code: str | None = None) -> None:
    """Tell of a job that has left this worker.

    Args:
        code: of the failure, if that is how it ended.
    """
    if code is not None and work.job.kind == "ingest":
        work.close_stage()
    now = time.monotonic()
    stages = work.stages_until(now)
    metrics.count_job(work.job.kind, outcome)
    fields: dict[str, object] = {
        "kind": work.job.kind,
        "outcome": outcome,
        "durationMs": round((now - work.started) * 1000, 1),
        "stagesMs": {stage: round((end - start) * 1000, 1) for stage, start, end in stages},
    }
    if work.prepared is not None:
        fields["chunks"] = len(work.prepared.chunks)
        fields["embedded"] = len(work.prepared.chunks) - work.reused - len(work.waiting)
    if code is not None:
        fields["code"] = code
    with about(**work.log_fields()):
        reason = "" if code is None else f": {code}"
        log.info("Job %s after %.0f ms%s", outcome, (now - work.started) * 1000, reason, extra={"fields": fields})
    if tracing.tracing():
        _trace(work, outcome, code, stages, now)


def _trace(
    work: Work, outcome: JobOutcome, code: str | None, stages: list[tuple[Stage, float, float]], now: float
) -> None:
    epoch_ns = time.time_ns() - int(now * 1e9)  # of the monotonic clock

    def moment(seconds: float) -> int:
        return epoch_ns + int(seconds * 1e9)

    attributes: dict[str, str | int] = {
        "job.id": work.job.id,
        "job.kind": work.job.kind,
        "job.attempt": work.job.attempt,
        "job.outcome": outcome,
        "document.id": work.job.document_id,
    }
    if work.prepared is not None:
        attributes["document.chunks"] = len(work.prepared.chunks)
        attributes["document.parser"] = work.prepared.versions.parser_name
    whole = Period(f"job {work.job.kind}", moment(work.started), moment(now), attributes, code)
    tracing.record(whole, [Period(f"job.{stage}", moment(start), moment(end)) for stage, start, end in stages])
