"""What stands around a passage, on demand: a part that a script puts beside the hit, and a page without one."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.query import match_spans, parse_query
from mcp_knowledge.domain.search import Expand, ExpandType, Highlight, MatchMode
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.playground.marking import marked_text
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.services.search_request import MAX_QUERY_CHARS

router = APIRouter(include_in_schema=False)

_AROUND: dict[str, ExpandType] = {"neighbors": "neighbors", "section": "section"}
_PASSES: dict[str, MatchMode] = {"exact": "exact", "fallback": "fallback"}


@router.get("/playground/context")
async def context_page(request: Request) -> HTMLResponse:
    """A passage with two others on each side, or with its whole section. Raises CHUNK_NOT_FOUND."""
    services, values = services_of(request), request.query_params
    around = _AROUND.get(values.get("around", ""), "neighbors")
    document_id, chunk_id = values.get("document", ""), values.get("passage", "")
    chunk, text = await services.reading.around(document_id, chunk_id, Expand(around))
    document = await services.library.get_document(document_id)
    question = values.get("q", "")[:MAX_QUERY_CHARS]
    mode = _PASSES.get(values.get("found", ""))
    marks = [
        Highlight(text.own_start + start, text.own_start + end)
        for start, end in match_spans(parse_query(question), chunk.content, mode)
    ]
    return render(
        request,
        "playground/context.html",
        document=document,
        chunk=chunk,
        around=around,
        question=question,
        pass_kind=mode or "aside",
        text=marked_text(text.text, text.own_start, text.own_end, marks),
    )
