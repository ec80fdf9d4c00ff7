"""`/evaluations`: sets of judged queries."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mcp_knowledge.domain.evaluations import Case
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import evaluation_wire, wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import body_pieces, checked, read_body, read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response, large_json_response
from mcp_knowledge.interfaces.rest.schemas import evaluations as shapes
from mcp_knowledge.ports import UNSET

operations = Operations("Evaluations")

NDJSON = "application/x-ndjson"
_SHOWN_MISSING = 1000


@operations.add(
    "GET",
    "/evaluations",
    "List evaluation sets",
    Answer(200, "A page, newest first.", shapes.EvaluationSetPage),
    query=schemas.PageQuery,
    errors=("INVALID_CURSOR",),
)
async def list_evaluations(request: Request) -> Response:
    """A page of sets."""
    paging = Paging(request, "evaluations", read_query(request, schemas.PageQuery))
    items, after = await services(request).evaluations.sets(paging.limit, paging.position())
    return json_response(wire.page([evaluation_wire.evaluation_set(item) for item in items], paging.next_after(after)))


@operations.add(
    "POST",
    "/evaluations",
    "Create an evaluation set",
    Answer(201, "The new set.", shapes.EvaluationSet, headers=("Location",)),
    body=shapes.EvaluationSetCreate,
    errors=("EVALUATION_EXISTS",),
)
async def create_evaluation(request: Request) -> Response:
    """A new set."""
    body = await read_body(request, shapes.EvaluationSetCreate)
    made = await services(request).evaluations.create_set(body.name, body.description)
    return json_response(evaluation_wire.evaluation_set(made), 201, {"Location": f"/api/v1/evaluations/{made.id}"})


@operations.add(
    "GET",
    "/evaluations/{set_id}",
    "Show an evaluation set",
    Answer(200, "The set.", shapes.EvaluationSet),
    errors=("EVALUATION_NOT_FOUND",),
)
async def get_evaluation(request: Request) -> Response:
    """One set."""
    found = await services(request).evaluations.get_set(request.path_params["set_id"])
    return json_response(evaluation_wire.evaluation_set(found))


@operations.add(
    "PATCH",
    "/evaluations/{set_id}",
    "Rename or describe an evaluation set, or choose its baseline",
    Answer(200, "The set as it is now.", shapes.EvaluationSet),
    body=shapes.EvaluationSetUpdate,
    errors=("EVALUATION_NOT_FOUND", "RUN_NOT_FOUND", "EVALUATION_EXISTS"),
)
async def update_evaluation(request: Request) -> Response:
    """A changed set."""
    body = await read_body(request, shapes.EvaluationSetUpdate)
    given = body.model_fields_set
    changed = await services(request).evaluations.update_set(
        request.path_params["set_id"],
        name=body.name if "name" in given else UNSET,
        description=body.description if "description" in given else UNSET,
        baseline_run_id=body.baselineRunId if "baselineRunId" in given else UNSET,
    )
    return json_response(evaluation_wire.evaluation_set(changed))


@operations.add(
    "DELETE",
    "/evaluations/{set_id}",
    "Delete an evaluation set with its queries and runs",
    Answer(200, "It is gone.", schemas.Ok),
    errors=("EVALUATION_NOT_FOUND",),
)
async def delete_evaluation(request: Request) -> Response:
    """Away with a set."""
    await services(request).evaluations.delete_set(request.path_params["set_id"])
    return json_response({"ok": True})


@operations.add(
    "GET",
    "/evaluations/{set_id}/cases",
    "List the judged queries of a set",
    Answer(200, "A page, in the order in which they came.", shapes.EvaluationCasePage),
    query=schemas.PageQuery,
    errors=("EVALUATION_NOT_FOUND", "INVALID_CURSOR"),
)
async def list_evaluation_cases(request: Request) -> Response:
    """A page of cases."""
    set_id = request.path_params["set_id"]
    paging = Paging(request, "evaluation-cases", read_query(request, schemas.PageQuery), set=set_id)
    values = paging.values()
    items, after = await services(request).evaluations.cases(set_id, paging.limit, values[0] if values else 0)
    cursor = None if after is None else paging.next(after)
    return json_response(wire.page([evaluation_wire.case(item) for item in items], cursor))


@operations.add(
    "GET",
    "/evaluations/{set_id}/cases/{case_id}",
    "Show a judged query",
    Answer(200, "The case.", shapes.EvaluationCase),
    errors=("EVALUATION_NOT_FOUND", "CASE_NOT_FOUND"),
)
async def get_evaluation_case(request: Request) -> Response:
    """One case."""
    parameters = request.path_params
    found = await services(request).evaluations.get_case(parameters["set_id"], parameters["case_id"])
    return json_response(evaluation_wire.case(found))


@operations.add(
    "PUT",
    "/evaluations/{set_id}/cases/{case_id}",
    "Write a judged query as a whole",
    Answer(200, "The case. It takes the place of the one with its id, or else its query.", shapes.EvaluationCase),
    body=shapes.EvaluationCaseWrite,
    errors=("INVALID_QUERY", "EVALUATION_NOT_FOUND", "EVALUATION_FULL", "CASE_EXISTS"),
)
async def put_evaluation_case(request: Request) -> Response:
    """A case as it is from now on."""
    body = await read_body(request, shapes.EvaluationCaseWrite)
    case_id = checked(shapes.EvaluationCaseId, {"caseId": request.path_params["case_id"]}).caseId
    if body.noAnswer and body.relevant:
        raise KnowledgeError("INVALID_ARGUMENT", "noAnswer: is true, and yet 'relevant' names documents.")
    if both := set(body.relevant) & set(body.wrong):
        raise KnowledgeError("INVALID_ARGUMENT", f"wrong: '{min(both)}' is in 'relevant' too.")
    relevant, wrong = tuple(dict.fromkeys(body.relevant)), tuple(dict.fromkeys(body.wrong))
    case = Case(case_id, body.query, relevant, wrong, body.noAnswer, body.kind)
    written = await services(request).evaluations.put_case(request.path_params["set_id"], case)
    return json_response(evaluation_wire.case(written))


@operations.add(
    "DELETE",
    "/evaluations/{set_id}/cases/{case_id}",
    "Delete a judged query",
    Answer(200, "It is gone; the results of runs stay.", schemas.Ok),
    errors=("EVALUATION_NOT_FOUND", "CASE_NOT_FOUND"),
)
async def delete_evaluation_case(request: Request) -> Response:
    """Away with a case."""
    parameters = request.path_params
    await services(request).evaluations.delete_case(parameters["set_id"], parameters["case_id"])
    return json_response({"ok": True})


@operations.add(
    "GET",
    "/evaluations/{set_id}/judgements",
    "Show what is said of a query",
    Answer(200, "The query's case, if it has one.", shapes.Judged),
    query=shapes.JudgementsQuery,
    errors=("EVALUATION_NOT_FOUND",),
)
async def get_judgements(request: Request) -> Response:
    """The case of a query."""
    evaluations, set_id = services(request).evaluations, request.path_params["set_id"]
    query = read_query(request, shapes.JudgementsQuery)
    await evaluations.get_set(set_id)
    return json_response(evaluation_wire.judged(await evaluations.judgements(set_id, query.query)))


@operations.add(
    "POST",
    "/evaluations/{set_id}/judgements",
    "Judge a document right or wrong for a query, or a query as having no answer",
    Answer(200, "The query's case as it is now.", shapes.Judged),
    body=shapes.Judge,
    errors=("INVALID_QUERY", "EVALUATION_NOT_FOUND", "DOCUMENT_NOT_FOUND", "EVALUATION_FULL"),
    description="A query is in a set once: judging it again changes its case, whatever the case of its letters.",
)
async def judge_query(request: Request) -> Response:
    """One judgement."""
    body = await read_body(request, shapes.Judge)
    evaluations, set_id = services(request).evaluations, request.path_params["set_id"]
    if (body.documentId is None) == (body.noAnswer is None):
        raise KnowledgeError("INVALID_ARGUMENT", "Give either 'documentId' with 'verdict', or 'noAnswer'.")
    if body.documentId is not None:
        case = await evaluations.judge(set_id, body.query, body.documentId, body.verdict)
    else:
        case = await evaluations.mark_no_answer(set_id, body.query, bool(body.noAnswer))
    return json_response(evaluation_wire.judged(case))


@operations.add(
    "GET",
    "/evaluations/{set_id}/export",
    "Export the judged queries of a set as JSON Lines",
    Answer(
        200, "One query a line: `{id, query, relevant, kind}`.", media_type=NDJSON, headers=("Content-Disposition",)
    ),
    query=shapes.ExportQuery,
    errors=("EVALUATION_NOT_FOUND",),
)
async def export_evaluation(request: Request) -> Response:
    """The queries as a file."""
    query = read_query(request, shapes.ExportQuery)
    lines = await services(request).evaluations.export_jsonl(request.path_params["set_id"], query.documents == "names")
    headers = {"Content-Disposition": 'attachment; filename="queries.jsonl"', "Content-Type": NDJSON}
    return Response(headers=headers) if request.method == "HEAD" else StreamingResponse(lines, headers=headers)


@operations.add(
    "POST",
    "/evaluations/{set_id}/import",
    "Import judged queries as JSON Lines",
    Answer(200, "What was done.", shapes.ImportReport),
    text=NDJSON,
    errors=("INVALID_ARGUMENT", "PAYLOAD_TOO_LARGE", "EVALUATION_NOT_FOUND", "EVALUATION_FULL"),
    description="One query a line: `{id, query, relevant, kind}`, with `wrong` and `noAnswer` if you like. `relevant` "
    "has ids, paths, file names or titles of documents; an empty list: nothing answers the query. Every line is "
    "written or none; a fault names its line.",
)
async def import_evaluation(request: Request) -> Response:
    """A file of queries."""
    report = await services(request).evaluations.import_jsonl(request.path_params["set_id"], body_pieces(request))
    return await large_json_response(lambda: evaluation_wire.import_report(report, _SHOWN_MISSING))
