"""Why is it not here? How far a document or chunk comes in a search, with its rank and score on each side."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from mcp_knowledge.domain.absence import Absence, Condition, Outcome, QueryWord, SideStanding, Standing
from mcp_knowledge.domain.documents import Document, StoredChunk
from mcp_knowledge.domain.filters import matches, scalars_at
from mcp_knowledge.domain.query import parse_query
from mcp_knowledge.domain.results import Passage, collapse
from mcp_knowledge.domain.search import Expand, Scope, SearchRequest
from mcp_knowledge.ports import LexicalIndex, Store, VectorIndex
from mcp_knowledge.services.query_words import query_words
from mcp_knowledge.services.search import Answer, Search
from mcp_knowledge.services.standings import Sides, Subject, lexical_standing, vector_standing

_MAX_DEEPER = 1_000  # candidates of each side in a ranking that is made only to say where something would stand


class WhyNot:
    """Asks of a search what became of one document or chunk. Its hits are those of the search itself."""

    def __init__(self, store: Store, lexical: LexicalIndex, vectors: VectorIndex, search: Search) -> None:
        self._store = store
        self._sides = Sides(store, lexical, vectors)
        self._search = search

    async def ask(self, request: SearchRequest, document_id: str | None = None, chunk_id: str | None = None) -> Absence:
        """What became of a document, or of a chunk (of that document, if both are given).

        Raises:
            KnowledgeError: what the search itself raises.
        """
        found = Absence("unknown", "document" if chunk_id is None else "chunk", request.limit)
        if chunk_id is not None:
            chunk = await self._chunk(chunk_id, document_id)
            if chunk is None:
                return found
            found, document_id = replace(found, chunk=chunk), chunk.document_id
        document = await self._store.get_document(document_id or "")
        if document is None:
            gone = await self._store.was_deleted(document_id or "")
            return replace(found, outcome="deleted" if gone else "unknown")
        found = replace(found, document=document, outcome=_readiness(document))
        if found.outcome != "here":
            return found
        return await self._follow(replace(request, explain=True, expand=Expand()), found, document)

    async def _follow(self, request: SearchRequest, found: Absence, document: Document) -> Absence:
        """Past the limits of the search, and into its ranking."""
        conditions = tuple(
            Condition(item, scalars_at(document.metadata, item.field), matches((item,), document.metadata))
            for item in request.scope.filters
        )
        outcome, wider = _outside(request.scope, document, conditions)
        if outcome is None:
            return await self._judge(request, replace(found, conditions=conditions), document)
        otherwise = await self._follow(replace(request, scope=wider), found, document)
        return replace(found, outcome=outcome, conditions=conditions, otherwise=otherwise)

    async def _judge(self, request: SearchRequest, found: Absence, document: Document) -> Absence:
        answer = await self._search.answer(request)
        subject = Subject(document, found.chunk)
        vector, lexical = await asyncio.gather(
            vector_standing(self._sides, answer, subject), lexical_standing(self._sides, answer, subject)
        )
        found = replace(
            found, vector=vector, lexical=lexical, words=await self._words(request, subject, vector, lexical)
        )
        for hit in answer.result.hits:
            if subject.is_it(hit.document_id, hit.chunk_id):
                rank = Standing(hit.ranking.final_rank, hit.score, _candidates(answer))
                return replace(found, outcome="here", ranked=rank)
        found = _place(found, subject, answer)
        return replace(found, deeper=await self._deeper(found, subject, answer))

    async def _words(
        self, request: SearchRequest, subject: Subject, vector: SideStanding | None, lexical: SideStanding | None
    ) -> tuple[QueryWord, ...]:
        """The query's words, and which of them stand in the chunk that comes nearest to being found by words."""
        if request.mode == "vector":
            return ()
        best = [side.chunk for side in (lexical, vector) if side is not None]
        chunk = next((item for item in (subject.chunk, *best) if item is not None), None)
        if chunk is None:
            chunk = next(iter(await self._store.list_chunks(subject.document.id, 1)), None)
        texts = None if chunk is None else (subject.document.title, *chunk.heading_path, chunk.content)
        return await query_words(self._sides.lexical, parse_query(request.query), texts)

    async def _deeper(self, found: Absence, subject: Subject, answer: Answer) -> Standing | None:
        """Its place if both sides gave so many candidates that it is one of each that knows it."""
        sides = [side for side in (found.vector, found.lexical) if side is not None]
        ranks = [side.rank for side in sides if not side.considered and side.rank and side.rank <= _MAX_DEEPER]
        if not ranks or answer.result.request.collapse == "document":
            return None
        depth = max(_candidates(answer), *ranks)
        await answer.pools.deepen(depth)
        numbers = {side.chunk.chunk_no for side in sides if side.chunk}
        places = (
            Standing(rank, item.score, depth)
            for rank, item in enumerate(answer.pools.fuse(), 1)
            if item.chunk_no in numbers
        )
        return next(places, None)

    async def _chunk(self, chunk_id: str, document_id: str | None) -> StoredChunk | None:
        """Documents made of the same bytes share chunk ids."""
        chunk = await self._store.find_chunk(chunk_id)
        if chunk is None or document_id in (None, chunk.document_id):
            return chunk
        twins = await self._store.chunk_range(document_id or "", chunk.sequence, chunk.sequence)
        return next((item for item in twins if item.id == chunk_id), None)


def _readiness(document: Document) -> Outcome:
    if document.status == "failed":
        return "failed"
    if document.status != "ready":
        return "not_ready"
    return "here" if document.chunk_count else "no_passages"


def _outside(scope: Scope, document: Document, conditions: Sequence[Condition]) -> tuple[Outcome | None, Scope]:
    """The first limit of the search that leaves a document out, and the scope without it."""
    if scope.document_ids and document.id not in scope.document_ids:
        return "other_document", replace(scope, document_ids=())
    if scope.collection_ids and document.collection_id not in scope.collection_ids:
        return "other_collection", replace(scope, collection_ids=())
    if not all(item.holds for item in conditions):
        return "filtered", replace(scope, filters=tuple(item.filter for item in conditions if item.holds))
    return None, scope


def _candidates(answer: Answer) -> int:
    return max(answer.pools.vector_limit, answer.pools.lexical_limit)


def _place(found: Absence, subject: Subject, answer: Answer) -> Absence:
    """How far something that is no hit came in the ranking."""
    mine = next((item for item in answer.passages if subject.is_it(item.chunk.document_id, item.chunk.id)), None)
    if mine is None:
        return replace(found, outcome="no_candidate")
    if answer.result.request.collapse != "document":
        return replace(found, outcome="below_limit", ranked=_standing(mine, mine.chunk_rank, answer))
    for rank, group in enumerate(collapse(answer.passages), 1):
        best = group.best
        if best.chunk.document_id == subject.document.id:
            hidden = best is not mine and rank <= found.limit
            found = replace(found, shown_by=best.chunk if best is not mine else None)
            return replace(
                found, outcome="collapsed" if hidden else "below_limit", ranked=_standing(best, rank, answer)
            )
    raise AssertionError("the document of a ranked passage is among the ranked documents")


def _standing(passage: Passage, rank: int, answer: Answer) -> Standing:
    return Standing(rank, passage.fused.score, _candidates(answer))
