"""One run: its figures against the baseline or another run, and what it found for each question."""

import asyncio
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.evaluations import Difference, EvaluationSet, Run
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.documents import collection_names
from mcp_knowledge.interfaces.web.evaluate import figures, index, results, rows
from mcp_knowledge.interfaces.web.evaluate.ways import playground_address
from mcp_knowledge.interfaces.web.paging import offset
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services
from mcp_knowledge.services.evaluation_runs import MAX_CASES

PAGE_RESULTS = 30
OFFERED_RUNS = 50
ALONE = "none"  # instead of a run to compare with

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class RunView:
    """What the page shows, read from its address.

    Args:
        baseline: id of the run to compare with, `none`, or empty for the baseline of the set.
        show: a choice of the filter.
        first: how many results come before the page.
    """

    run_id: str
    baseline: str
    show: str
    first: int

    def address(self, show: str | None = None, first: int = 0) -> str:
        """The address of another part."""
        show = self.show if show is None else show
        values = {
            "baseline": self.baseline,
            "show": "" if show == "all" else show,
            "from": str(first + 1) if first else "",
        }
        query = urlencode({name: value for name, value in values.items() if value})
        return f"/evaluate/runs/{self.run_id}" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class Found:
    """A run's results, ready to show."""

    rows: list[results.Row]
    groups: dict[str, str]
    differences: list[Difference]


def _view(request: Request, run_id: str) -> RunView:
    values = request.query_params
    return RunView(run_id, values.get("baseline", ""), values.get("show", "all"), offset(values.get("from", "")))


@router.get("/evaluate/runs/{run_id}")
async def run_page(request: Request, run_id: str) -> HTMLResponse:
    """The run."""
    services = services_of(request)
    run = await services.evaluations.run(run_id)
    owner = await services.evaluations.get_set(run.set_id)
    view = _view(request, run.id)
    baseline = await _baseline(services, run, owner, view.baseline)
    found = await _found(services, run, baseline)
    shown = [row for row in found.rows if view.show not in found.groups or view.show in ("all", row.group)]
    names = await collection_names(services, run.settings.collection_ids)
    return render(
        request,
        "evaluate/run.html",
        run=run,
        set=owner,
        view=view,
        row=rows.row(run, names),
        baseline=baseline,
        baseline_label=baseline and rows.row(baseline, names).label,
        others=await _others(services, run),
        figures=figures.FIGURES,
        configuration=[(index.name(key), index.told(value)) for key, value in run.index_configuration.items()],
        differences=found.differences,
        groups=found.groups,
        labels=results.LABELS,
        judged_otherwise=sum(row.judgements_changed for row in found.rows),
        counts=results.counts(found.rows, list(found.groups)),
        results=shown[view.first : view.first + PAGE_RESULTS],
        previous_address=view.address(first=max(0, view.first - PAGE_RESULTS)) if view.first else None,
        next_address=view.address(first=view.first + PAGE_RESULTS) if len(shown) > view.first + PAGE_RESULTS else None,
        rank_of=results.rank_of,
        playground=lambda query: playground_address(query, run.settings),
        notice=notices.read(request),
    )


async def _baseline(services: Services, run: Run, owner: EvaluationSet, chosen: str) -> Run | None:
    """The run to compare with. Raises RUN_NOT_FOUND."""
    wanted = chosen or owner.baseline_run_id
    if run.metrics is None or wanted in (None, ALONE, run.id):
        return None
    baseline = await services.evaluations.run(wanted)
    return baseline if chosen or baseline.metrics else None


async def _found(services: Services, run: Run, baseline: Run | None) -> Found:
    if run.metrics is None:
        return Found([], {}, [])
    if baseline is None:
        found, _ = await services.evaluations.results(run.id, MAX_CASES + 1)
        return Found(await asyncio.to_thread(results.alone, found), results.ALONE, [])  # of thousands, maybe
    comparison = await services.evaluations.compare(run.id, baseline.id)
    listed = await asyncio.to_thread(results.compared, comparison.cases)
    return Found(listed, results.COMPARED, index.differences(comparison.differences))


async def _others(services: Services, run: Run) -> list[rows.RunRow]:
    """The newest completed runs of the set beside this one."""
    runs, _ = await services.evaluations.runs(run.set_id, OFFERED_RUNS)
    return [rows.row(other, {}) for other in runs if other.metrics and other.id != run.id]
