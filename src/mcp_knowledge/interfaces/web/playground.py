"""The search playground: ask, and see why each passage stands where it does."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.search import SearchResult
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import explain
from mcp_knowledge.interfaces.web.documents import services_of
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services import Services
from mcp_knowledge.services.search_request import search_request
from mcp_knowledge.settings import Settings

MODES = {
    "hybrid": ("Both", "Passages close in meaning and passages with your words, merged"),
    "vector": ("Meaning", "Passages that say something close to your question, in whatever words"),
    "lexical": ("Words", "Passages that contain your words, names and numbers"),
}
FUSIONS = {"rrf": "By rank", "relative": "By score"}
LIMITS = (5, 8, 10, 20, 50)

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Question:
    """The form as its address fills it, as text: what does not fit is told by the search itself."""

    text: str
    mode: str
    limit: str
    fusion: str
    collapse: bool
    document_id: str | None

    def address(self, **changes: Any) -> str:
        """The address of this search with some values changed; None leaves one out."""
        values: dict[str, Any] = {
            "q": self.text,
            "mode": self.mode,
            "limit": self.limit,
            "fusion": self.fusion,
            "collapse": "document" if self.collapse else None,
            "document": self.document_id,
        }
        return "/playground?" + urlencode({name: value for name, value in (values | changes).items() if value})


def _question(request: Request, settings: Settings) -> Question:
    values = request.query_params
    return Question(
        text=values.get("q", ""),
        mode=values.get("mode") or "hybrid",
        limit=values.get("limit") or str(settings.default_search_limit),
        fusion=values.get("fusion") or settings.fusion,
        collapse=values.get("collapse") == "document",
        document_id=values.get("document") or None,
    )


def _limit(text: str, settings: Settings) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        raise KnowledgeError("INVALID_ARGUMENT", "The number of results must be a whole number.")
    return min(max(int(digits), 1), settings.max_search_limit_api)


async def _search(services: Services, question: Question) -> SearchResult:
    request = search_request(
        services.settings,
        query=question.text,
        mode=question.mode,
        limit=_limit(question.limit, services.settings),
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
    question = _question(request, services.settings)
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
        "playground.html",
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
