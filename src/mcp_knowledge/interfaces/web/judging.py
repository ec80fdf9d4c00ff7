"""Judging what a search found, right or wrong, or that nothing answers the question; kept in the set in use."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from mcp_knowledge.domain.evaluations import Case, EvaluationSet, Verdict
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.access import https_alone
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import Fields, form_fields, go, own_address
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services

FIRST_SET = "My questions"  # made at the first judgement
OFFERED_SETS = 50
_COOKIE = "mk_set"
_COOKIE_SECONDS = 365 * 24 * 3600
_MAX_FORM_BYTES = 96 * 1024  # a long question, and again, encoded twice, in the address to go back to
_VERDICTS: dict[str, Verdict | None] = {"right": "right", "wrong": "wrong", "none": None}
_WHOLE_QUESTION = {"nothing": True, "answered": False}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Judging:
    """What a page needs to have its search judged.

    Args:
        sets: the newest ones, and the one in use.
        current: the set in use; None while there is none.
        case: what was said of this question; None: nothing.
        back: the address of the page.
    """

    query: str
    sets: list[EvaluationSet]
    current: EvaluationSet | None
    case: Case | None
    back: str

    def verdict(self, document_id: str) -> Verdict | None:
        """What was said of a document."""
        return None if self.case is None else self.case.verdict(document_id)

    @property
    def part_address(self) -> str:
        """Where a script finds the part of the page that tells what was said."""
        return f"/evaluate/judging?{urlencode({'q': self.query})}"


async def judging_of(request: Request, query: str) -> Judging:
    """What was said of a question in the set in use, for the page that is asked for."""
    evaluations = services_of(request).evaluations
    sets, _ = await evaluations.sets(OFFERED_SETS)
    current = await _set_in_use(services_of(request), request.cookies.get(_COOKIE, ""), sets)
    if current and current not in sets:
        sets = [*sets, current]
    case = await evaluations.judgements(current.id, query) if current else None
    back = own_address(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
    return Judging(query, sets, current, case, back)


async def _set_in_use(services: Services, chosen: str, sets: list[EvaluationSet]) -> EvaluationSet | None:
    """The set that the cookie names while it exists, else the newest."""
    newest = sets[0] if sets else None
    if not chosen:
        return newest
    try:
        return await services.evaluations.get_set(chosen)
    except KnowledgeError:
        return newest


def _remember(request: Request, address: str, set_id: str) -> RedirectResponse:
    response = go(own_address(address))
    secure = https_alone(services_of(request).settings)
    response.set_cookie(_COOKIE, set_id, _COOKIE_SECONDS, secure=secure, httponly=True, samesite="lax")
    return response


@router.get("/evaluate/judging")
async def judging_part(request: Request) -> HTMLResponse:
    """The part of the playground that tells what was said of a question, for its script."""
    judging = await judging_of(request, request.query_params.get("q", ""))
    return render(request, "playground/judge_question.html", judging=judging)


@router.post("/evaluate/use")
async def use_set(request: Request) -> RedirectResponse:
    """Remember which set judgements go into, then show the page again."""
    fields = await form_fields(request, _MAX_FORM_BYTES)
    chosen = await services_of(request).evaluations.get_set(fields.get("set"))
    return _remember(request, fields.get("back"), chosen.id)


@router.post("/evaluate/judge")
async def judge(request: Request) -> RedirectResponse:
    """Note a judgement, then show the page again."""
    fields = await form_fields(request, _MAX_FORM_BYTES)
    services = services_of(request)
    set_id = fields.get("set") or await _first_set(services)
    await _note(services, set_id, fields)
    return _remember(request, fields.get("back"), set_id)


async def _note(services: Services, set_id: str, fields: Fields) -> None:
    word, _, document_id = fields.get("verdict").partition(" ")
    query = fields.get("query")
    if word in _WHOLE_QUESTION:
        await services.evaluations.mark_no_answer(set_id, query, _WHOLE_QUESTION[word])
    elif word in _VERDICTS:
        await services.evaluations.judge(set_id, query, document_id, _VERDICTS[word])
    else:
        raise KnowledgeError("INVALID_ARGUMENT", "A judgement is right, wrong, or that nothing answers the question.")


async def _first_set(services: Services) -> str:
    """The set for those who have none; somebody else may make it at the same moment."""
    evaluations = services.evaluations
    found = await evaluations.find_set(FIRST_SET)
    if found is None:
        try:
            found = await evaluations.create_set(FIRST_SET)
        except KnowledgeError as error:
            found = await evaluations.find_set(FIRST_SET)
            if found is None:
                raise error
    return found.id
