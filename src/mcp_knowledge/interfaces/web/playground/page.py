"""The search playground: ask, and see why each passage stands where it does."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.search import SearchResult
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.playground import explain
from mcp_knowledge.interfaces.web.playground.question import Question, limit_of, question_of
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services
from mcp_knowledge.services.search_request import search_request

MODES = {
    "hybrid": ("Both", "Passages close in meaning and passages with your words, merged"),
    "vector": ("Meaning", "Passages that say something close to your question, in whatever words"),
    "lexical": ("Words", "Passages that contain your words, names and numbers"),
}
FUSIONS = {"rrf": "By rank", "relative": "By score"}
LIMITS = (5, 8, 10, 20, 50)

router = APIRouter(include_in_schema=False)


async def _search(services: Services, question: Question) -> SearchResult:
    request = search_request(
        services.settings,
        query=question.text,
        mode=question.mode,
        limit=limit_of(question.limit, services.settings),
        fusion=question.fusion,
        collapse="document" if question.collapse else "none",
        document_ids=[question.document_id] if question.document_id else None,
        explain=True,
    )
    return await services.search.search(request)


async def _document_title(services: Services, document_id: str | None) -> str | None:
    if document_id is None:
        return None
    try:
        return (await services.library.get_document(document_id)).title
    except KnowledgeError:
        return "a document that is gone"


@router.get("/playground")
async def playground_page(request: Request) -> HTMLResponse:
    """Search and its reasons. The whole search is in the address, so it can be kept and shared."""
    services = services_of(request)
    question = question_of(request, services.settings)
    result: SearchResult | None = None
    error: KnowledgeError | None = None
    if question.text.strip():
        try:
            result = await _search(services, question)
        except KnowledgeError as failure:
            error = failure
    counts = await services.status.document_counts()
    return render(
        request,
        "playground/page.html",
        200 if error is None else error.status,
        question=question,
        document_title=await _document_title(services, question.document_id),
        modes=MODES,
        fusions=FUSIONS,
        limits=sorted({*LIMITS, services.settings.default_search_limit}),
        ready=counts.get("ready", 0),
        error=error,
        result=result,
        hits=explain.hits(result, services.settings.rrf_k) if result else [],
        lanes=explain.lanes(result.timings, result.request.mode) if result else [],
    )
