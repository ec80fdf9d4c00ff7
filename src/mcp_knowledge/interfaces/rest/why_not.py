"""`/search/why-not`."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.domain.absence import Absence, QueryWord, SideStanding, Standing
from mcp_knowledge.domain.query import LexicalQuery, parse_query
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.absence_words import advice, sentence
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_json
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.interfaces.rest.search import SEARCH_ERRORS, asked_of
from mcp_knowledge.interfaces.search_wire import condition
from mcp_knowledge.interfaces.wire import Json

operations = Operations("Search")


@operations.add(
    "POST",
    "/search/why-not",
    "Say why a document or chunk is not among the hits",
    Answer(200, "At which stage it fell out, with its rank and score on each side.", schemas.Absence),
    body=schemas.WhyNotRequest,
    errors=SEARCH_ERRORS,
)
async def why_not(request: Request) -> Response:
    """What became of something in a search."""
    body = await read_json(request)
    document_id, chunk_id = (_id(body.pop(name, None), name) for name in ("documentId", "chunkId"))
    if document_id is None and chunk_id is None:
        raise KnowledgeError("INVALID_ARGUMENT", "documentId: name a document, or a chunk with 'chunkId'.")
    found = services(request)
    asked = asked_of(found.settings, body)
    absence = await found.why_not.ask(asked, document_id, chunk_id)
    most = found.settings.max_search_limit_api
    return json_response(_absence(absence, parse_query(asked.query), most))


def _id(value: object, field: str) -> str | None:
    if value is None or (isinstance(value, str) and value.isascii()):
        return value
    raise KnowledgeError("INVALID_ARGUMENT", f"{field}: must be an id.")


def _absence(item: Absence, query: LexicalQuery, most_results: int) -> Json:
    return {
        "outcome": item.outcome,
        "subject": item.subject,
        "sentence": sentence(item, query),
        "advice": [hint.text for hint in advice(item, most_results)],
        "documentId": item.document.id if item.document else None,
        "chunkId": item.chunk.id if item.chunk else None,
        "title": item.document.title if item.document else None,
        "limit": item.limit,
        "conditions": [
            {**condition(check.filter), "documentValues": list(check.values), "holds": check.holds}
            for check in item.conditions
        ],
        "words": [_word(word) for word in item.words],
        "vector": _side(item.vector),
        "lexical": _side(item.lexical),
        "ranked": _standing(item.ranked),
        "deeper": _standing(item.deeper),
        "shownBy": item.shown_by.id if item.shown_by else None,
        "otherwise": _absence(item.otherwise, query, most_results) if item.otherwise else None,
    }


def _word(item: QueryWord) -> Json:
    return {
        "text": item.text,
        "chunks": item.chunks,
        "dropped": item.dropped,
        "part": item.part,
        "present": item.present,
    }


def _side(item: SideStanding | None) -> Json | None:
    if item is None:
        return None
    return {
        "considered": item.considered,
        "candidates": item.candidates,
        "chunkId": item.chunk.id if item.chunk else None,
        "rank": item.rank,
        "score": item.score,
        "among": item.among,
        "matchMode": item.match_mode,
        "unfit": item.unfit,
    }


def _standing(item: Standing | None) -> Json | None:
    return None if item is None else {"rank": item.rank, "score": item.score, "candidates": item.candidates}
