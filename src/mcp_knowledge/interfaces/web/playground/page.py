"""The search playground: ask, and see why each passage stands where it does."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.search import SearchResult
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.playground import explain
from mcp_knowledge.interfaces.web.playground.question import question_of
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services

MODES = {
    "hybrid": ("Both", "Passages close in meaning and passages with your words, merged"),
    "vector": ("Meaning", "Passages that say something close to your question, in whatever words"),
    "lexical": ("Words", "Passages that contain your words, names and numbers"),
}
FUSIONS = {"rrf": "By rank", "relative": "By score"}
LIMITS = (5, 8, 10, 20, 50)

router = APIRouter(include_in_schema=False)


async def _document_title(services: Services, document_id: str) -> str:
    try:
        return (await services.library.get_document(document_id)).title
    except KnowledgeError:
        return "a document that is gone"


@router.get("/playground")
async def playground_page(request: Request) -> HTMLResponse:
    """Search and its reasons. The whole search is in the address, so it can be kept and shared."""
    services = services_of(request)
    question = question_of(request, services.settings)
    faults = question.faults(services.settings)
    result: SearchResult | None = None
    error: KnowledgeError | None = None
    if question.text.strip() and not faults:
        try:
            result = await services.search.search(question.request(services.settings))
        except KnowledgeError as failure:
            error = failure
    counts = await services.status.document_counts()
    return render(
        request,
        "playground/page.html",
        error.status if error else 400 if faults else 200,
        question=question,
        faults=faults,
        document_titles=[await _document_title(services, document_id) for document_id in question.documents],
        modes=MODES,
        fusions=FUSIONS,
        limits=sorted({*LIMITS, services.settings.default_search_limit}),
        ready=counts.get("ready", 0),
        error=error,
        result=result,
        hits=explain.hits(result, services.settings.rrf_k) if result else [],
        lanes=explain.lanes(result.timings, result.request.mode) if result else [],
    )
