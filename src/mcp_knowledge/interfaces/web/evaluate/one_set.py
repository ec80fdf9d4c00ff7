"""One set: its runs as a table and a chart, the form that starts more, and its questions with what was judged."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.documents import Collection
from mcp_knowledge.domain.evaluations import Case, EvaluationSet, Run, RunSettings, Verdict
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.documents import collection_names
from mcp_knowledge.interfaces.web.evaluate import figures, import_notice, rows
from mcp_knowledge.interfaces.web.evaluate.sets import still_there
from mcp_knowledge.interfaces.web.evaluate.ways import WAYS, playground_address
from mcp_knowledge.interfaces.web.fields import Fields, whole_number
from mcp_knowledge.interfaces.web.paging import keyset_position, position_text
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.ports import Position
from mcp_knowledge.services import Services

PAGE_RUNS = 20
PAGE_CASES = 25
OFFERED_COLLECTIONS = 50
_AS_OFFERED = Fields({"way": ["rank"]})

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class SetView:
    """Which runs and questions the page shows, read from its address.

    Args:
        runs_after, cases_after: where they go on; empty and 0: from the first.
        open_case: id of the question that is unfolded.
    """

    set_id: str
    runs_after: str
    cases_after: int
    open_case: str

    def address(self, runs: str | None = None, cases: int | None = None, open_case: str = "") -> str:
        """The address of another part; what is not given stays."""
        values = {
            "runs": self.runs_after if runs is None else runs,
            "cases": str((self.cases_after if cases is None else cases) or ""),
            "open": open_case,
        }
        query = urlencode({name: value for name, value in values.items() if value})
        return f"/evaluate/{self.set_id}" + (f"?{query}" if query else "")


def _view(request: Request, set_id: str) -> SetView:
    values = request.query_params
    after = whole_number(values.get("cases", "")) or 0
    return SetView(set_id, values.get("runs", ""), after, values.get("open", ""))


@router.get("/evaluate/{set_id}")
async def set_page(request: Request, set_id: str) -> HTMLResponse:
    """The set."""
    return await show(request, set_id)


async def show(
    request: Request, set_id: str, error: KnowledgeError | None = None, filled: Fields | None = None
) -> HTMLResponse:
    """The page; with what was wrong about the form that starts runs, which keeps what was filled in."""
    services = services_of(request)
    item = await services.evaluations.get_set(set_id)
    view = _view(request, item.id)
    position = keyset_position(view.runs_after, "run")
    runs, _ = await services.evaluations.runs(item.id, PAGE_RUNS + 1, position)
    before = runs[PAGE_RUNS] if len(runs) > PAGE_RUNS else None
    shown = rows.ordered(runs[:PAGE_RUNS])
    names = await collection_names(services, [name for run in shown for name in run.settings.collection_ids])
    cases, later = await services.evaluations.cases(item.id, PAGE_CASES, view.cases_after)
    return render(
        request,
        "evaluate/set.html",
        error.status if error else 200,
        set=item,
        view=view,
        ways=WAYS,
        figures=figures.FIGURES,
        filled=filled or _AS_OFFERED,
        fault=error.message if error else None,
        notice=import_notice.told(request) or notices.read(request),
        collections=await _offered(services),
        rows=rows.rows(shown, names, before),
        panels=rows.chart(shown, names),
        active=sum(run.active for run in shown),
        baseline=await _baseline(services, item, shown),
        older_runs=before and view.address(runs=_older_than(runs[PAGE_RUNS - 1])),
        cases=cases,
        later_cases=later and view.address(cases=later),
        titles=await _titles(services, cases),
        case_documents=_judged_documents,
        open_address=lambda case: playground_address(case.query, RunSettings()),
    )


def _older_than(run: Run) -> str:
    return position_text(Position(run.created_at_ms, run.id))


async def _offered(services: Services) -> list[Collection]:
    return (await services.collections.list(OFFERED_COLLECTIONS))[0]


async def _baseline(services: Services, item: EvaluationSet, shown: list[Run]) -> Run | None:
    """The run that others are compared with; it may be too old to be among those shown."""
    if item.baseline_run_id is None:
        return None
    among = next((run for run in shown if run.id == item.baseline_run_id), None)
    return among or await still_there(services, item.baseline_run_id)


async def _titles(services: Services, cases: Iterable[Case]) -> dict[str, str]:
    """Titles by id of the judged documents that exist."""
    wanted = {document_id for case in cases for document_id in (*case.relevant, *case.wrong)}
    found = await services.library.get_documents(wanted)
    return {document_id: document.title for document_id, document in found.items()}


def _judged_documents(case: Case) -> list[tuple[str, Verdict]]:
    right: list[tuple[str, Verdict]] = [(document_id, "right") for document_id in case.relevant]
    wrong: list[tuple[str, Verdict]] = [(document_id, "wrong") for document_id in case.wrong]
    return right + wrong
