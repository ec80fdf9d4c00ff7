"""Search: both sides at once, one ranking, and the reasons for every place in it."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mcp_knowledge.domain.absence import QueryWord
from mcp_knowledge.domain.fusion import normalized_scores
from mcp_knowledge.domain.query import LexicalQuery, describe, parse_query
from mcp_knowledge.domain.results import Passage
from mcp_knowledge.domain.search import Candidate, Expand, Hit, SearchRequest, SearchResult, SideCandidate
from mcp_knowledge.ports import Embedder, LexicalIndex, Store, VectorIndex
from mcp_knowledge.services.hits import Content, VanishedError, make_hits, read_content
from mcp_knowledge.services.metrics import observe_search
from mcp_knowledge.services.pools import Pools, Sides, Stopwatch
from mcp_knowledge.services.query_words import query_words
from mcp_knowledge.services.tracing import span
from mcp_knowledge.services.turns import Turns
from mcp_knowledge.settings import Settings

_log = logging.getLogger(__name__)
PARTIAL = (
    "Some documents were embedded with another model: they are found by their words alone until "
    "'mcp-knowledge reindex --all' has embedded them again."
)
# Searches at work at the same time: enough to keep processors and a database server busy. With 64 under way each would
# be slowed down by all the others, and the same questions would be worked out many times over.
_AT_ONCE = 8
_TRIES = 4  # of one search, while documents change under it


@dataclass(frozen=True, slots=True)
class Answer:
    """A search's result and what it came from.

    Args:
        passages: every candidate in the order of the ranking, where the request collapses or explains.
        pools: the candidates of both sides.
    """

    result: SearchResult
    passages: Sequence[Passage]
    pools: Pools


class Search:
    """Hybrid, vector and lexical search over the searchable chunks."""

    def __init__(
        self, store: Store, lexical: LexicalIndex, vectors: VectorIndex, embedder: Embedder, settings: Settings
    ) -> None:
        self._store = store
        self._sides = Sides(store, lexical, vectors, embedder)
        self._settings = settings
        self._turns: Turns[SearchResult] = Turns(_AT_ONCE)
        self._at_work = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def warm_up(self) -> None:
        """Load what the first search would wait for: the model and the vectors. What fails, the first search tells."""
        try:
            await asyncio.gather(self._sides.embedder.embed_query("ready"), self._sides.vectors.load())
        except Exception:
            _log.warning("The search could not be warmed up", exc_info=True)

    async def until_quiet(self, longest_s: float) -> None:
        """Return when no search is at work in this process, or after a time anyway: for those that nobody waits for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await self._quiet.wait()

    async def words(self, query: str) -> tuple[QueryWord, ...]:
        """The words of a query, each with how many chunks of the whole corpus hold it."""
        return await query_words(self._sides.lexical, parse_query(query))

    async def search(self, request: SearchRequest) -> SearchResult:
        """Answer a request, when its turn has come. Raises EMBEDDING_MISMATCH, as `answer` does."""
        # By its text: filters on true and on 1 are equal to Python, and differ.
        begun = time.perf_counter()
        result = await self._turns.take(repr(request), lambda: self._result(request))
        observe_search(request.mode, result.timings, time.perf_counter() - begun)
        return result

    async def _result(self, request: SearchRequest) -> SearchResult:
        return (await self.answer(request)).result

    async def answer(self, request: SearchRequest) -> Answer:
        """Answer a request, and keep what the answer came from.

        1. Read the query into its exact and its fallback pass.
        2. Ask both sides at the same time.
        3. Fuse their candidates into one ranking.
        4. Read the content of the candidates that count: the first ones, or all of them to collapse or to explain.
        5. To collapse: widen the pools while too few documents came out.
        6. Make the hits: text around them, highlights, reasons.

        Raises:
            KnowledgeError: EMBEDDING_MISMATCH in vector mode when all vectors were made with another model.
        """
        self._at_work += 1
        self._quiet.clear()
        try:
            with span("search", {"search.mode": request.mode, "search.limit": request.limit}) as told:
                answer = await self._search(request)
                told.set({"search.hits": len(answer.result.hits)})
                return answer
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._quiet.set()

    async def _search(self, request: SearchRequest) -> Answer:
        watch = Stopwatch()
        query = parse_query(request.query)
        pools = Pools(self._sides, request, query, self._settings, watch)
        hits, passages, content = await self._answer(request, query, pools)
        result = SearchResult(
            request=request,
            hits=tuple(hits),
            timings=watch.timings(),
            reading=describe(query),
            vector=_explained(request, pools.vector, content),
            lexical=_explained(request, pools.lexical, content),
            notice=PARTIAL if pools.partial else None,
            matched_terms=tuple(dict.fromkeys(term for hit in hits for term in hit.matched_terms)),
        )
        return Answer(result, passages, pools)

    async def _answer(
        self, request: SearchRequest, query: LexicalQuery, pools: Pools
    ) -> tuple[Sequence[Hit], Sequence[Passage], Content]:
        """Steps 2 to 6.

        A candidate can vanish between its finding and its reading, when a new revision takes its place or its document
        is deleted. All is then done once more, since the new revision must not be missed. What vanishes every time is
        left out, and the others close up.
        """
        for _ in range(_TRIES):
            await pools.fill()
            with suppress(VanishedError):
                passages, content = await self._rank(request, pools)
                return await make_hits(self._store, request, query, passages, content), passages, content
        content = await read_content(self._store, pools.fuse())
        pools.keep(content.chunks.keys())
        alone = replace(request, expand=Expand())
        passages = content.passages(pools.fuse())
        return await make_hits(self._store, alone, query, passages, content), passages, content

    async def _rank(self, request: SearchRequest, pools: Pools) -> tuple[list[Passage], Content]:
        """Steps 3 to 5. Raises VanishedError."""
        collapsed = request.collapse == "document"
        while True:
            fused = pools.fuse()
            wanted = fused if collapsed or request.explain else fused[: request.limit]
            content = await read_content(self._store, wanted)
            if len(content.chunks) < len(wanted):
                raise VanishedError
            enough = not collapsed or len(content.documents) >= request.limit
            if enough or not await pools.widen():
                return content.passages(wanted), content


def _explained(request: SearchRequest, side: Sequence[Candidate], content: Content) -> tuple[SideCandidate, ...]:
    """One side's candidates with their places, if the request wants them."""
    if not request.explain:
        return ()
    relative = request.mode == "hybrid" and request.fusion == "relative"
    normalized = normalized_scores(side) if relative else [None] * len(side)
    return tuple(
        SideCandidate(
            item.chunk_id, content.chunks[item.chunk_no].document_id, rank, item.score, item.match_mode, score
        )
        for rank, (item, score) in enumerate(zip(side, normalized, strict=True), 1)
    )
