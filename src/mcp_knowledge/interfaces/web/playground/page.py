"""The search playground: ask, and see why each passage stands where it does."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import go
from mcp_knowledge.interfaces.web.judging import judging_of
from mcp_knowledge.interfaces.web.own_origin import own_origin
from mcp_knowledge.interfaces.web.playground import compare, explain
from mcp_knowledge.interfaces.web.playground.conditions import (
    FORM_FIELDS,
    Conditions,
    conditions_of,
    with_choices,
)
from mcp_knowledge.interfaces.web.playground.pickers import chips_of, pickers_of
from mcp_knowledge.interfaces.web.playground.question import ADDRESS, Question, question_of
from mcp_knowledge.interfaces.web.playground.reading import reading_of
from mcp_knowledge.interfaces.web.playground.request_code import KEY_VARIABLE, request_codes
from mcp_knowledge.interfaces.web.playground.row import KINDS, OPERATORS
from mcp_knowledge.interfaces.web.playground.timing import stages
from mcp_knowledge.interfaces.web.playground.why_not import missing_of, sought_of
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services
from mcp_knowledge.services.query_words import MAX_COUNTED_CHUNKS

MODES = {
    "hybrid": ("Both", "Passages close in meaning and passages with your words, merged"),
    "vector": ("Meaning", "Passages that say something close to your question, in whatever words"),
    "lexical": ("Words", "Passages that contain your words, names and numbers"),
}
FUSIONS = {"rrf": "By rank", "relative": "By score"}
EXPANSIONS = {
    "none": "The passage alone",
    "neighbors": "With its neighbours",
    "section": "With its whole section",
    "document": "With the whole document",
}
LIMITS = (5, 8, 10, 20, 50)
FOLDS = ("where", "conditions", "how")  # parts of the form that are folded away
_WORDS: dict[str, Any] = {  # that the form's templates use
    "modes": MODES,
    "fusions": FUSIONS,
    "expansions": EXPANSIONS,
    "operators": OPERATORS,
    "kinds": KINDS,
    "key_variable": KEY_VARIABLE,
    "conditions_choice": compare.conditions_choice,
}

router = APIRouter(include_in_schema=False)


@router.get("/playground", response_model=None)
async def playground_page(request: Request) -> HTMLResponse | RedirectResponse:
    """Search and its reasons. The whole search is in the address, so it can be kept and shared."""
    services = services_of(request)
    question, conditions = await _asked(request, services)
    if (address := _clean_address(request, question, conditions)) is not None:
        return go(address)
    faults = question.faults(services.settings)
    pickers = await pickers_of(request.query_params, question, services)
    counts = await services.status.document_counts()
    open_folds = _open_folds(request, faults, conditions, looking=pickers.find is not None)
    ready = question.text.strip() and not faults and not conditions.faulty
    found = await _answer(request, services, question) if ready else _NO_ANSWER
    return render(
        request,
        "playground/page.html",
        _status(found["error"], bool(faults) or conditions.faulty),
        question=question,
        faults=faults,
        pickers=pickers,
        conditions=await with_choices(conditions, question, services.metadata, counted=False),
        chips=chips_of(question, pickers, conditions.rows if conditions.finished else []),
        open_folds=open_folds,
        limits=sorted({*LIMITS, services.settings.default_search_limit}),
        ready=counts.get("ready", 0),
        sought=await sought_of(services, question),
        most_counted=MAX_COUNTED_CHUNKS,
        judging=await judging_of(request, question.text) if found["result"] else None,
        more_columns=compare.added_column(question.columns),
        plain_address=f"{ADDRESS}?{urlencode({'q': question.text})}",
        **found,
        **_WORDS,
    )


@router.get("/playground/conditions")
async def conditions_part(request: Request) -> HTMLResponse:
    """The builder of conditions alone, as the form has it now, for a script that puts it into the page."""
    services = services_of(request)
    question, conditions = await _asked(request, services)
    chosen = await with_choices(conditions, question, services.metadata, counted=True)
    return render(request, "playground/filters.html", question=question, conditions=chosen, **_WORDS)


@router.get("/playground/documents")
async def documents_part(request: Request) -> HTMLResponse:
    """The documents that the picker finds, for a script that puts them into the page."""
    services = services_of(request)
    question = question_of(request, services.settings)
    pickers = await pickers_of(request.query_params, question, services)
    return render(request, "playground/found.html", pickers=pickers)


async def _asked(request: Request, services: Services) -> tuple[Question, Conditions]:
    """The question of an address or of the form, with the conditions that its rows make."""
    question = question_of(request, services.settings)
    also = (*question.documents, *filter(None, request.query_params.getlist("also")))
    question = replace(question, documents=tuple(dict.fromkeys(also)))
    conditions = await conditions_of(request.query_params, question, services.metadata)
    return replace(question, filters=conditions.filters), conditions


def _clean_address(request: Request, question: Question, conditions: Conditions) -> str | None:
    """The address that the form stands for; None where its page has more to say, or there was no form."""
    sent = request.query_params
    opened = urlencode([("open", name) for name in FOLDS if name in sent.getlist("open")])
    if "compare" in sent:
        question = replace(question, columns=compare.first_columns(question))
    elif not any(name in sent for name in (*FORM_FIELDS, "also")):
        return None
    if not conditions.finished or ((sent.get("find", "").strip() or "pick" in sent) and "also" not in sent):
        return None
    address = question.address()
    return f"{address}{'&' if '?' in address else '?'}{opened}" if opened else address


def _open_folds(request: Request, faults: dict[str, str], conditions: Conditions, *, looking: bool) -> set[str]:
    """The folds that somebody opened, or must see."""
    found = {name for name in FOLDS if name in request.query_params.getlist("open")}
    if looking or faults.keys() & {"collection", "document"}:
        found.add("where")
    if not conditions.finished:
        found.add("conditions")
    if faults.keys() & {"limit", "fusion", "collapse", "expand", "before", "after"}:
        found.add("how")
    return found


_NO_ANSWER: dict[str, Any] = {
    "error": None,
    "result": None,
    "hits": [],
    "stages": [],
    "reading": None,
    "missing": None,
    "comparison": None,
    "codes": [],
}


async def _answer(request: Request, services: Services, question: Question) -> dict[str, Any]:
    """What a search found, or several."""
    settings = services.settings
    try:
        if question.columns:
            return _NO_ANSWER | {"comparison": await compare.compare(services, question)}
        asked = question.request(settings)
        result = await services.search.search(asked)
        missing = await missing_of(services, question, asked)
    except KnowledgeError as failure:
        return _NO_ANSWER | {"error": failure}
    needs_key = services.access.passphrase_required
    return _NO_ANSWER | {
        "needs_key": needs_key,
        "origin": own_origin(request),
        "result": result,
        "hits": explain.hits(result, settings.rrf_k),
        "stages": stages(result.timings, asked.mode),
        "reading": reading_of(result, await services.search.words(asked.query), settings),
        "missing": missing,
        "codes": request_codes(request, result.request, settings, needs_key=needs_key),
    }


def _status(error: KnowledgeError | None, faulty: bool) -> int:
    if error is not None:
        return error.status
    return 400 if faulty else 200
