"""What the forms of the Evaluate pages do; each ends in a redirect. What is deleted is asked about before."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.evaluate import one_set, sets
from mcp_knowledge.interfaces.web.evaluate.naming import checked_name
from mcp_knowledge.interfaces.web.evaluate.ways import label, settings_from
from mcp_knowledge.interfaces.web.fields import form_fields, go
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import counted, moment

_MAX_FIELDS = 80  # every collection that is offered may be chosen

router = APIRouter(include_in_schema=False)


@router.post("/evaluate")
async def create_set(request: Request) -> Response:
    """Make a set, then show it."""
    fields = await form_fields(request)
    try:
        made = await services_of(request).evaluations.create_set(checked_name(fields.get("name")))
    except KnowledgeError as error:
        return await sets.show(request, error, sets.Filled(name=fields.get("name")))
    return go(f"/evaluate/{made.id}")


@router.post("/evaluate/{set_id}")
async def rename_set(request: Request, set_id: str) -> Response:
    """Give a set another name."""
    fields = await form_fields(request)
    try:
        await services_of(request).evaluations.update_set(set_id, name=checked_name(fields.get("name")))
    except KnowledgeError as error:
        if error.code == "EVALUATION_NOT_FOUND":
            raise
        return await one_set.show(request, set_id, error)
    return go(f"/evaluate/{set_id}")


@router.post("/evaluate/{set_id}/runs")
async def start_runs(request: Request, set_id: str) -> Response:
    """Run the set over the chosen ways to search."""
    fields = await form_fields(request, max_fields=_MAX_FIELDS)
    try:
        name = checked_name(fields.get("name"), "run") if fields.get("name").strip() else None
        await services_of(request).evaluations.start_runs(set_id, settings_from(fields), name)
    except KnowledgeError as error:
        if error.code == "EVALUATION_NOT_FOUND":
            raise
        return await one_set.show(request, set_id, error, fields)
    return go(f"/evaluate/{set_id}")


@router.post("/evaluate/{set_id}/baseline")
async def choose_baseline(request: Request, set_id: str) -> Response:
    """Compare the set's runs with this one from now on; with none when no run is named."""
    fields = await form_fields(request)
    await services_of(request).evaluations.update_set(set_id, baseline_run_id=fields.get("run") or None)
    return go(f"/evaluate/{set_id}")


def _ask(request: Request, what: str, name: str, consequence: str, back: str, when: str = "") -> HTMLResponse:
    query = f"?{request.url.query}" if request.url.query else ""
    return render(
        request,
        "evaluate/delete.html",
        what=what,
        name=name,
        when=when,
        consequence=consequence,
        back=back,
        action=f"{request.url.path}{query}",
    )


@router.get("/evaluate/{set_id}/delete")
async def ask_about_set(request: Request, set_id: str) -> HTMLResponse:
    """Ask before a set is deleted."""
    item = await services_of(request).evaluations.get_set(set_id)
    consequence = (
        f"Its {counted(item.case_count, 'question')} and every run go with it; this cannot be undone. "
        "Export it first to keep the questions."
    )
    return _ask(request, "the set", item.name, consequence, f"/evaluate/{item.id}")


@router.post("/evaluate/{set_id}/delete")
async def delete_set(request: Request, set_id: str) -> Response:
    """Delete a set, then show the others."""
    await services_of(request).evaluations.delete_set(set_id)
    return go("/evaluate?notice=set-deleted")


@router.get("/evaluate/runs/{run_id}/delete")
async def ask_about_run(request: Request, run_id: str) -> HTMLResponse:
    """Ask before a run is deleted."""
    run = await services_of(request).evaluations.run(run_id)
    consequence = "Its figures and results go; this cannot be undone."
    when = f" of {moment(run.created_at_ms)}"
    return _ask(request, "the run", label(run.settings), consequence, f"/evaluate/{run.set_id}", when)


@router.post("/evaluate/runs/{run_id}/delete")
async def delete_run(request: Request, run_id: str) -> Response:
    """Delete a run, then show its set."""
    evaluations = services_of(request).evaluations
    run = await evaluations.run(run_id)
    await evaluations.delete_run(run_id)
    return go(f"/evaluate/{run.set_id}?notice=run-deleted")


@router.get("/evaluate/{set_id}/delete-question")
async def ask_about_case(request: Request, set_id: str) -> HTMLResponse:
    """Ask before a question is deleted."""
    case = await services_of(request).evaluations.get_case(set_id, request.query_params.get("case", ""))
    consequence = "What you judged for it goes too; runs that were made keep their results."
    back = f"/evaluate/{set_id}?{urlencode({'open': case.id})}"
    return _ask(request, "the question", case.query, consequence, back)


@router.post("/evaluate/{set_id}/delete-question")
async def delete_case(request: Request, set_id: str) -> Response:
    """Delete a question, then show its set."""
    await services_of(request).evaluations.delete_case(set_id, request.query_params.get("case", ""))
    return go(f"/evaluate/{set_id}?notice=question-deleted")
