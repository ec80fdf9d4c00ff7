"""Every set of judged questions, with how its latest run went."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.evaluations import EvaluationSet, Run
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.evaluate import figures, rows
from mcp_knowledge.interfaces.web.paging import keyset_position, position_text
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services
from mcp_knowledge.services.evaluations import MAX_RUNS_AT_ONCE

PAGE_SETS = 30

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Filled:
    """What was filled in before, for a form that comes back with a fault."""

    name: str = ""
    import_name: str = ""
    lines: str = ""


@dataclass(frozen=True, slots=True)
class SetRow:
    """A set in the list.

    Args:
        latest: the newest run, the first of those that were started together.
        baseline: the run to compare it with; None when that is the same.
        active: how many of the newest runs wait or are at work.
    """

    set: EvaluationSet
    latest: rows.RunRow | None
    baseline: Run | None
    active: int


@router.get("/evaluate")
async def sets_page(request: Request) -> HTMLResponse:
    """The sets, newest first."""
    return await show(request)


async def show(request: Request, error: KnowledgeError | None = None, filled: Filled | None = None) -> HTMLResponse:
    """The page; with what was wrong about a form, which keeps what was filled in."""
    services = services_of(request)
    before = request.query_params.get("after", "")
    sets, after = await services.evaluations.sets(PAGE_SETS, keyset_position(before, "evs"))
    listed = [row for item in sets if (row := await _row(services, item)) is not None]
    context: dict[str, Any] = {
        "rows": listed,
        "active": sum(row.active for row in listed),
        "figures": figures.OVERVIEW,
        "next_address": after and f"/evaluate?after={position_text(after)}",
        "is_first": not before,
        "filled": filled or Filled(),
        "fault": error.message if error else None,
        "notice": notices.read(request),
    }
    return render(request, "evaluate/sets.html", error.status if error else 200, **context)


async def _row(services: Services, item: EvaluationSet) -> SetRow | None:
    """None when the set was deleted after the list was read."""
    try:
        runs, _ = await services.evaluations.runs(item.id, MAX_RUNS_AT_ONCE)
    except KnowledgeError as error:
        if error.code != "EVALUATION_NOT_FOUND":
            raise
        return None
    latest = rows.row(rows.ordered(runs)[0], {}) if runs else None
    baseline = None
    if latest and item.baseline_run_id and item.baseline_run_id != latest.run.id:
        baseline = await still_there(services, item.baseline_run_id)
    return SetRow(item, latest, baseline, sum(run.active for run in runs))


async def still_there(services: Services, run_id: str) -> Run | None:
    """A run that a set names; None when it was deleted after the set was read."""
    try:
        return await services.evaluations.run(run_id)
    except KnowledgeError as error:
        if error.code != "RUN_NOT_FOUND":
            raise
        return None
