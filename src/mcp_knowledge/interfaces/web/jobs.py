"""The queue of work: what waits, what is being done, what failed and why, and trying again."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from mcp_knowledge.domain.documents import Document, Job, JobKind, JobStatus, Progress, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import wording
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import came_from, go
from mcp_knowledge.interfaces.web.notices import Notice, number_in, told_at
from mcp_knowledge.interfaces.web.paging import keyset_position, position_text
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import State, counted
from mcp_knowledge.ports import Position
from mcp_knowledge.services import Services

PAGE_JOBS = 50

# What the filter offers, in the words of the page.
FILTERS: dict[str, tuple[str, tuple[JobStatus, ...]]] = {
    "all": ("All", ()),
    "waiting": ("Waiting", ("queued", "retrying")),
    "running": ("At work", ("running",)),
    "failed": ("Failed", ("failed",)),
    "done": ("Done", ("completed",)),
    "cancelled": ("Cancelled", ("cancelled",)),
}
KINDS: dict[JobKind, str] = {"ingest": "read", "delete": "remove"}
_STATES: dict[JobStatus, State] = {
    "queued": State("waiting", "Waiting"),
    "retrying": State("waiting", "Tried again soon"),
    "completed": State("ready", "Done"),
    "failed": State("failed", "Failed"),
    "cancelled": State("waiting", "Cancelled"),
}
_SENTENCES = {
    "queued": "The job is queued again.",
    "not-retryable": "This job cannot be tried again: it is at work already, or a later one has taken its place.",
    "gone": "This job is no longer kept.",
}
_MINUTE_MS = 60_000

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class JobView:
    """What the page shows, read from its address; unknown values fall back to the default."""

    status: str
    document_id: str | None
    after: Position | None

    def address(self, **changes: Any) -> str:
        """The address of this view with some values changed, from its first page unless `after` is given."""
        values = {"status": self.status, "document": self.document_id} | changes
        kept = {name: value for name, value in values.items() if value and (name, value) != ("status", "all")}
        return f"/jobs?{urlencode(kept)}" if kept else "/jobs"


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job, ready to show.

    Args:
        document: None where that is gone.
        overtaken: a later job of the document has made a retry pointless.
        took_ms: how long it ran, or has run so far; None before it began.
    """

    job: Job
    state: State
    document: Document | None
    overtaken: bool
    took_ms: int | None

    @property
    def title(self) -> str:
        """The document's, or its file's name where that is gone."""
        return self.document.title if self.document else self.job.filename


def job_view(request: Request) -> JobView:
    """Read the page's address."""
    values = request.query_params
    status = values.get("status", "all")
    return JobView(
        status=status if status in FILTERS else "all",
        document_id=values.get("document", "").replace("\0", "")[:100] or None,
        after=keyset_position(values.get("after", ""), "job"),
    )


def job_state(job: Job) -> State:
    """How a job stands now."""
    if job.status != "running":
        return _STATES[job.status]
    if job.kind == "delete":
        return State("working", "Removing")
    if job.stage is None or job.stage == "queued":
        return State("working", "Starting")
    return wording.working(Progress(job.stage, job.done, job.total))


@router.get("/jobs")
async def jobs_page(request: Request) -> HTMLResponse:
    """The queue, newest first."""
    services, view = services_of(request), job_view(request)
    jobs, after = await services.jobs.list(PAGE_JOBS, view.after, FILTERS[view.status][1], view.document_id)
    counts = await services.jobs.counts(view.document_id)
    return render(
        request,
        "jobs.html",
        view=view,
        rows=await _rows(services, jobs),
        filters=[(name, label, _count(counts, statuses)) for name, (label, statuses) in FILTERS.items()],
        counts=counts,
        kinds=KINDS,
        time_left=await _time_left(services, counts, view),
        nobody_works=await _nobody_works(services, counts),
        of_title=await _title(services, view.document_id),
        next_address=after and view.address(after=position_text(after)),
        notice=_notice(request),
    )


@router.post("/jobs/retry-failed")
async def retry_failed(request: Request) -> RedirectResponse:
    """Queue all failed jobs again."""
    queued = await services_of(request).jobs.retry_failed()
    return go(told_at("/jobs", "retried", count=queued))


@router.post("/jobs/{job_id}/retry")
async def retry_job(request: Request, job_id: str) -> RedirectResponse:
    """Queue a failed job again, then show the page that the form was on."""
    outcome = "queued"
    try:
        await services_of(request).jobs.retry(job_id)
    except KnowledgeError as error:
        if error.code not in ("JOB_NOT_FOUND", "JOB_NOT_RETRYABLE"):
            raise
        outcome = "gone" if error.code == "JOB_NOT_FOUND" else "not-retryable"
    path, _, query = came_from(request).partition("?")
    kept = "&".join(part for part in query.split("&") if part and not part.startswith(("notice=", "count=")))
    return go(told_at(f"/jobs?{kept}" if kept and path == "/jobs" else "/jobs", outcome))


async def _rows(services: Services, jobs: list[Job]) -> list[JobRow]:
    documents = await services.library.get_documents({job.document_id for job in jobs})
    overtaken = await services.jobs.overtaken(job.id for job in jobs if job.status == "failed")
    now = now_ms()
    rows = []
    for job in jobs:
        document = documents.get(job.document_id)
        took_ms = job.duration_ms
        if job.status == "running" and job.started_at_ms is not None:
            took_ms = max(0, now - job.started_at_ms)
        rows.append(JobRow(job, job_state(job), document, job.id in overtaken, took_ms))
    return rows


def _count(counts: dict[JobStatus, int], statuses: tuple[JobStatus, ...]) -> int:
    return sum(counts[status] for status in statuses or counts)


async def _time_left(services: Services, counts: dict[JobStatus, int], view: JobView) -> str | None:
    """How long the queue takes, in words; None where that would be a guess."""
    jobs = _count(counts, ("queued", "retrying", "running"))
    left_ms = await services.jobs.time_left_ms(jobs) if jobs and view.document_id is None else None
    if left_ms is None:
        return None
    return f"about {wording.span(left_ms)}" if left_ms >= _MINUTE_MS else "less than a minute"


async def _nobody_works(services: Services, counts: dict[JobStatus, int]) -> bool:
    """Whether jobs wait and no process is there to take them."""
    return bool(_count(counts, ("queued", "retrying"))) and not await services.presence.somebody_works()


async def _title(services: Services, document_id: str | None) -> str | None:
    if document_id is None:
        return None
    document = (await services.library.get_documents([document_id])).get(document_id)
    return document.title if document else document_id


def _notice(request: Request) -> Notice | None:
    name, count = request.query_params.get("notice", ""), number_in(request, "count")
    if name == "retried":
        if not count:
            return Notice("Nothing was left to try again: later jobs have taken the place of those that failed.")
        return Notice(f"{counted(count, 'job')} queued again.")
    return Notice(_SENTENCES[name], bad=name != "queued") if name in _SENTENCES else None
