"""`/evaluations/…/runs`: runs of sets, their results, and two runs side by side."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.domain.evaluations import Run
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import evaluation_wire, wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_body, read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response, large_json_response
from mcp_knowledge.interfaces.rest.schemas import evaluations as shapes

operations = Operations("Evaluations")


@operations.add(
    "GET",
    "/evaluations/{set_id}/runs",
    "List the runs of a set",
    Answer(200, "A page, newest first.", shapes.RunPage),
    query=schemas.PageQuery,
    errors=("EVALUATION_NOT_FOUND", "INVALID_CURSOR"),
)
async def list_evaluation_runs(request: Request) -> Response:
    """A page of runs."""
    set_id = request.path_params["set_id"]
    paging = Paging(request, "evaluation-runs", read_query(request, schemas.PageQuery), set=set_id)
    items, after = await services(request).evaluations.runs(set_id, paging.limit, paging.position())
    return json_response(wire.page([evaluation_wire.run(item) for item in items], paging.next_after(after)))


@operations.add(
    "POST",
    "/evaluations/{set_id}/runs",
    "Run a set in one or several ways to search",
    Answer(202, "The runs, which go on in the background, one at a time.", shapes.Runs),
    body=shapes.RunsCreate,
    errors=("EVALUATION_NOT_FOUND", "EVALUATION_EMPTY", "INVALID_FILTER"),
    description="Their progress is shown by the run itself, and told as `evaluation` events.",
)
async def start_evaluation_runs(request: Request) -> Response:
    """New runs."""
    body = await read_body(request, shapes.RunsCreate)
    evaluations = services(request).evaluations
    ways = [
        evaluations.run_settings(item.mode, item.fusion, item.collectionIds, item.filters) for item in body.settings
    ]
    started = await evaluations.start_runs(request.path_params["set_id"], ways, body.name)
    return json_response({"items": [evaluation_wire.run(item) for item in started]}, 202)


@operations.add(
    "GET",
    "/evaluations/{set_id}/runs/{run_id}",
    "Show a run",
    Answer(200, "The run.", shapes.Run),
    errors=("RUN_NOT_FOUND",),
)
async def get_evaluation_run(request: Request) -> Response:
    """One run."""
    return json_response(evaluation_wire.run(await _run(request)))


@operations.add(
    "DELETE",
    "/evaluations/{set_id}/runs/{run_id}",
    "Delete a run with its results",
    Answer(200, "It is gone; one at work ends.", schemas.Ok),
    errors=("RUN_NOT_FOUND",),
)
async def delete_evaluation_run(request: Request) -> Response:
    """Away with a run."""
    await services(request).evaluations.delete_run((await _run(request)).id)
    return json_response({"ok": True})


@operations.add(
    "GET",
    "/evaluations/{set_id}/runs/{run_id}/results",
    "List what a run found for each query",
    Answer(200, "A page, in the order of the cases.", shapes.QueryResultPage),
    query=schemas.PageQuery,
    errors=("RUN_NOT_FOUND", "INVALID_CURSOR"),
)
async def list_evaluation_results(request: Request) -> Response:
    """A page of results."""
    run = await _run(request)
    paging = Paging(request, "evaluation-results", read_query(request, schemas.PageQuery), run=run.id)
    values = paging.values()
    items, after = await services(request).evaluations.results(run.id, paging.limit, values[0] if values else -1)
    cursor = None if after is None else paging.next(after)
    return await large_json_response(lambda: wire.page([evaluation_wire.result(item) for item in items], cursor))


@operations.add(
    "GET",
    "/evaluations/{set_id}/runs/{run_id}/comparison",
    "Compare a run with the baseline or another run",
    Answer(200, "What changed, with a page of its queries.", shapes.Comparison),
    query=shapes.ComparisonQuery,
    errors=("RUN_NOT_FOUND", "RUN_UNFINISHED", "INVALID_CURSOR"),
)
async def compare_evaluation_runs(request: Request) -> Response:
    """Two runs side by side."""
    run, query = await _run(request), read_query(request, shapes.ComparisonQuery)
    paging = Paging(request, "evaluation-comparison", query, run=run.id)
    values = paging.values()
    first = values[0] if values else 0
    found = await services(request).evaluations.compare(run.id, query.baseline)
    cases = [case for case in found.cases if query.outcome in (None, case.outcome)]
    end = first + paging.limit
    cursor = paging.next(end) if len(cases) > end else None
    return await large_json_response(
        lambda: {
            **evaluation_wire.comparison_summary(found),
            **wire.page([evaluation_wire.case_comparison(case) for case in cases[first:end]], cursor),
        }
    )


async def _run(request: Request) -> Run:
    """The run of the path, if it is of the set of the path. Raises RUN_NOT_FOUND."""
    run = await services(request).evaluations.run(request.path_params["run_id"])
    if run.set_id != request.path_params["set_id"]:
        raise KnowledgeError("RUN_NOT_FOUND")
    return run
