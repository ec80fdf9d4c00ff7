"""How each side of a search sees one document or chunk, also where it is far behind the candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.absence import SideStanding
from mcp_knowledge.domain.documents import Document, StoredChunk
from mcp_knowledge.domain.query import LexicalQuery, parse_query
from mcp_knowledge.domain.search import Candidate, MatchMode, Scope, SideCandidate
from mcp_knowledge.ports import LexicalIndex, Store, VectorIndex
from mcp_knowledge.services.search import Answer

SEARCHED_BY_WORDS = 5_000  # matches that are looked through for a rank: further behind, it says nothing any more


@dataclass(frozen=True, slots=True)
class Sides:
    """What is asked."""

    store: Store
    lexical: LexicalIndex
    vectors: VectorIndex


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about: a document, by the best of its chunks, or one chunk of it."""

    document: Document
    chunk: StoredChunk | None

    def is_it(self, document_id: str, chunk_id: str) -> bool:
        """Whether a chunk is the one in question, or one of the document."""
        return document_id == self.document.id and (self.chunk is None or chunk_id == self.chunk.id)

    def best(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """The first that counts, of candidates of this document alone."""
        return next((item for item in candidates if self.chunk is None or item.chunk_no == self.chunk.chunk_no), None)

    @property
    def scope(self) -> Scope:
        """The document alone."""
        return Scope(document_ids=(self.document.id,))

    @property
    def limit(self) -> int:
        """How many candidates of the document must be asked for, so that the chunk in question is among them."""
        return 1 if self.chunk is None else self.document.chunk_count


async def vector_standing(sides: Sides, answer: Answer, subject: Subject) -> SideStanding | None:
    """How the vector side sees it; None when the search does not ask that side."""
    if answer.result.request.mode == "lexical":
        return None
    limit, scope = answer.pools.vector_limit, answer.result.request.scope
    vector = await answer.pools.question_vector()
    rank, listed = _listed(answer.result.vector, subject)
    chunk = _chunk_of(answer, listed) or subject.chunk
    if chunk is None:
        nearest = subject.best(await sides.vectors.search(vector, subject.limit, subject.scope))
        chunk = await _read(sides, nearest)
    place = None if chunk is None else await sides.vectors.place(vector, chunk.chunk_no, scope)
    if listed is not None:
        among = None if place is None else place.among
        return SideStanding(limit, None, chunk, rank, listed.score, among, considered=True)
    if place is None:
        return SideStanding(limit, "other_model")
    return SideStanding(limit, None, chunk, place.rank, place.score, place.among)


async def lexical_standing(sides: Sides, answer: Answer, subject: Subject) -> SideStanding | None:
    """How the lexical side sees it; None when the search does not ask that side."""
    request, limit = answer.result.request, answer.pools.lexical_limit
    if request.mode == "vector":
        return None
    rank, listed = _listed(answer.result.lexical, subject)
    if listed is not None:
        chunk = _chunk_of(answer, listed)
        return SideStanding(limit, None, chunk, rank, listed.score, match_mode=listed.match_mode, considered=True)
    query = parse_query(request.query)
    mode, own = await _match(sides.lexical, query, subject)
    if own is None:
        return SideStanding(limit, "no_match", subject.chunk or await _nearest_miss(sides, query, subject))
    ranking = await _ranking(sides.lexical, query, request.scope, mode)
    numbers = [item.chunk_no for item in ranking]
    return SideStanding(
        limit,
        chunk=subject.chunk or await _read(sides, own),
        rank=numbers.index(own.chunk_no) + 1 if own.chunk_no in numbers else None,
        score=own.score,
        among=len(ranking) if len(ranking) < SEARCHED_BY_WORDS else None,
        match_mode=mode,
    )


async def _match(index: LexicalIndex, query: LexicalQuery, subject: Subject) -> tuple[MatchMode, Candidate | None]:
    """The pass in which it matches, and its best chunk there."""
    if not query.exact:
        return "exact", None
    exact = subject.best(await index.search_all(query.exact, subject.limit, subject.scope))
    if exact is not None or not query.fallback:
        return "exact", exact
    found = await index.search_any(query.fallback, query.fallback_min_match, subject.limit, subject.scope)
    return "fallback", subject.best(found)


async def _nearest_miss(sides: Sides, query: LexicalQuery, subject: Subject) -> StoredChunk | None:
    """The chunk of a document that holds some of the words, though not as many as it should."""
    words = query.fallback or query.exact
    return await _read(sides, next(iter(await sides.lexical.search_any(words, 1, 1, subject.scope)), None))


async def _ranking(index: LexicalIndex, query: LexicalQuery, scope: Scope, mode: MatchMode) -> list[Candidate]:
    """What matches by words, best first: exact hits, and behind them, if they are asked for, fallback hits."""
    exact = await index.search_all(query.exact, SEARCHED_BY_WORDS, scope)
    room = SEARCHED_BY_WORDS - len(exact)
    if mode == "exact" or not room:
        return exact
    without = frozenset(item.chunk_no for item in exact)
    return exact + await index.search_any(query.fallback, query.fallback_min_match, room, scope, without)


def _listed(side: Sequence[SideCandidate], subject: Subject) -> tuple[int | None, SideCandidate | None]:
    """Its best place among a side's candidates."""
    for item in side:
        if subject.is_it(item.document_id, item.chunk_id):
            return item.rank, item
    return None, None


def _chunk_of(answer: Answer, listed: SideCandidate | None) -> StoredChunk | None:
    if listed is None:
        return None
    return next(
        item.chunk
        for item in answer.passages
        if (item.chunk.document_id, item.chunk.id) == (listed.document_id, listed.chunk_id)
    )


async def _read(sides: Sides, candidate: Candidate | None) -> StoredChunk | None:
    """A candidate's chunk; None also when it has vanished meanwhile."""
    if candidate is None:
        return None
    return (await sides.store.get_passages([candidate.chunk_no]))[0].get(candidate.chunk_no)
