"""Passages of other documents that mean nearly the same as a given one."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import score
from mcp_knowledge.services.similar import SimilarPassages

SHOWN, MOST_SHOWN = 10, 50
_MAX_ID_CHARS = 100
_MAX_QUESTION_CHARS = 300
BAR_WIDTH = 100

router = APIRouter(include_in_schema=False)


@router.get("/similar")
async def similar_page(request: Request) -> HTMLResponse:
    """For a passage, or for the passage that a document is most about."""
    services = services_of(request)
    values = request.query_params
    document_id = _id(values.get("document", "")) or None
    passage_id = _id(values.get("passage", ""))
    limit = MOST_SHOWN if values.get("show") == "more" else SHOWN
    found: SimilarPassages | None = None
    document: Document | None = None
    fault: KnowledgeError | None = None
    try:
        if passage_id or document_id:
            wanted = passage_id or await services.similar.central_passage(document_id or "")
            found = await services.similar.to_passage(wanted, limit, document_id)
            document = await services.library.get_document(found.passage.document_id)
    except KnowledgeError as error:
        if error.code not in ("EMBEDDING_MISMATCH", "DOCUMENT_CONTENT_UNAVAILABLE"):
            raise
        fault = error
    return render(
        request,
        "similar.html",
        200 if fault is None else fault.status,
        found=found,
        document=document,
        document_id=document_id,
        fault=fault,
        of_document=not passage_id,
        question=_question(found) if found else "",
        more=limit == SHOWN and found is not None and len(found.items) == SHOWN,
        closeness=_closeness,
        bar_width=BAR_WIDTH,
    )


def _id(text: str) -> str:
    return text[:_MAX_ID_CHARS].replace("\0", "")


def _question(found: SimilarPassages) -> str:
    """The beginning of the passage, whole words: what a search for the like would ask."""
    text = " ".join(found.passage.content.split())
    return text if len(text) <= _MAX_QUESTION_CHARS else text[:_MAX_QUESTION_CHARS].rpartition(" ")[0]


def _closeness(value: float) -> tuple[float, str]:
    """The length of a bar and the number beside it."""
    return round(max(0.0, value) * BAR_WIDTH, 1), score(value)
