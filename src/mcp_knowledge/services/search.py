"""Search: both sides at once, one ranking, and the reasons for every place in it."""

from collections.abc import Sequence

from mcp_knowledge.domain.fusion import normalized_scores
from mcp_knowledge.domain.query import describe, parse_query
from mcp_knowledge.domain.results import Passage
from mcp_knowledge.domain.search import Candidate, SearchRequest, SearchResult, SideCandidate
from mcp_knowledge.ports import Embedder, LexicalIndex, Store, VectorIndex
from mcp_knowledge.services.hits import Content, make_hits, read_content
from mcp_knowledge.services.metrics import observe_search
from mcp_knowledge.services.pools import Pools, Sides, Stopwatch
from mcp_knowledge.settings import Settings


class Search:
    """Hybrid, vector and lexical search over the searchable chunks."""

    def __init__(
        self, store: Store, lexical: LexicalIndex, vectors: VectorIndex, embedder: Embedder, settings: Settings
    ) -> None:
        self._store = store
        self._sides = Sides(store, lexical, vectors, embedder)
        self._settings = settings

    async def search(self, request: SearchRequest) -> SearchResult:
        """Answer a request.

        1. Read the query into its exact and its fallback pass.
        2. Ask both sides at the same time.
        3. Fuse their candidates into one ranking.
        4. Read the content of the candidates that count: the first ones, or all of them to collapse or to explain.
        5. To collapse: widen the pools while too few documents came out.
        6. Make the hits: text around them, highlights, reasons.

        Raises:
            KnowledgeError: EMBEDDING_MISMATCH when the vectors were made with another model (never in lexical mode).
        """
        watch = Stopwatch()
        query = parse_query(request.query)
        pools = Pools(self._sides, request, query, self._settings, watch)
        passages, content = await self._rank(request, pools)
        hits = await make_hits(self._store, request, query, passages, content)
        timings = watch.timings()
        observe_search(request.mode, timings)
        return SearchResult(
            request=request,
            hits=tuple(hits),
            timings=timings,
            reading=describe(query),
            vector=_explained(request, pools.vector, content),
            lexical=_explained(request, pools.lexical, content),
            matched_terms=tuple(dict.fromkeys(term for hit in hits for term in hit.matched_terms)),
        )

    async def _rank(self, request: SearchRequest, pools: Pools) -> tuple[list[Passage], Content]:
        """Steps 2 to 5.

        A candidate can vanish between its finding and its reading, when a new revision takes its place or its document
        is deleted. All is then done once more, since the new revision must not be missed; what vanishes even then is
        left out, and the others close up.
        """
        await pools.fill()
        if (found := await self._read(request, pools)) is None:
            await pools.fill()
            found = await self._read(request, pools)
        if found is None:
            content = await read_content(self._store, pools.fuse())
            pools.keep(content.chunks.keys())
            found = content.passages(pools.fuse()), content
        return found

    async def _read(self, request: SearchRequest, pools: Pools) -> tuple[list[Passage], Content] | None:
        """Steps 3 to 5; None when a candidate has vanished."""
        collapsed = request.collapse == "document"
        while True:
            fused = pools.fuse()
            wanted = fused if collapsed or request.explain else fused[: request.limit]
            content = await read_content(self._store, wanted)
            if len(content.chunks) < len(wanted):
                return None
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
