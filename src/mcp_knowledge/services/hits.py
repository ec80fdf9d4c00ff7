"""Ranked candidates to hits: their content, the text around them, highlights, and the reasons for their places."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.documents import Document, StoredChunk
from mcp_knowledge.domain.fusion import Fused
from mcp_knowledge.domain.query import LexicalQuery, find_matches
from mcp_knowledge.domain.results import (
    DocumentPassages,
    Expansion,
    Passage,
    choose_chunks,
    collapse,
    expansion_reach,
    join_chunks,
    place_highlights,
)
from mcp_knowledge.domain.search import Expand, Hit, Ranking, SearchRequest
from mcp_knowledge.ports import Store


class VanishedError(Exception):
    """Something that was found is searchable no more: its document was deleted, or a new revision took its place."""


@dataclass(frozen=True, slots=True)
class Content:
    """Chunks by their number, and the documents that hold them by id, both as of one moment."""

    chunks: dict[int, StoredChunk]
    documents: dict[str, Document]

    def passages(self, fused: Iterable[Fused]) -> list[Passage]:
        """The candidates whose content is here, ranked in the given order."""
        here = [item for item in fused if item.chunk_no in self.chunks]
        return [Passage(item, self.chunks[item.chunk_no], rank) for rank, item in enumerate(here, 1)]


async def read_content(store: Store, fused: Iterable[Fused]) -> Content:
    """The content of candidates, as far as it is still searchable."""
    return Content(*await store.get_passages([item.chunk_no for item in fused]))


async def make_hits(
    store: Store, request: SearchRequest, query: LexicalQuery, passages: Sequence[Passage], content: Content
) -> list[Hit]:
    """The request's hits out of all ranked passages, best first.

    Raises:
        VanishedError: a passage whose surroundings were asked for.
    """
    groups: list[DocumentPassages | None]
    if request.collapse == "document":
        groups = list(collapse(passages)[: request.limit])
        chosen = [group.best for group in groups if group is not None]
    else:
        chosen = list(passages[: request.limit])
        groups = [None] * len(chosen)
    expansions = await asyncio.gather(*(expanded(store, request.expand, passage.chunk) for passage in chosen))
    return [
        _hit(rank, passage, group, expansion, query, content.documents[passage.chunk.document_id])
        for rank, (passage, group, expansion) in enumerate(zip(chosen, groups, expansions, strict=True), 1)
    ]


async def expanded(store: Store, expand: Expand, own: StoredChunk) -> Expansion | None:
    """The text around a chunk; None where none is asked for. Raises VanishedError."""
    before, after = expansion_reach(expand)
    if not before and not after:
        return None
    around = await store.chunk_range(own.document_id, max(0, own.sequence - before), own.sequence + after)
    if all(chunk.chunk_no != own.chunk_no for chunk in around):
        raise VanishedError
    return join_chunks(choose_chunks(expand, own, around), own)


def _hit(
    rank: int,
    passage: Passage,
    group: DocumentPassages | None,
    expansion: Expansion | None,
    query: LexicalQuery,
    document: Document,
) -> Hit:
    chunk = passage.chunk
    text = expansion or Expansion(chunk.content, 0, len(chunk.content))
    expanded = len(text.text) > len(chunk.content)
    match_mode = passage.fused.lexical.match_mode if passage.fused.lexical else None
    terms, spans = find_matches(query, chunk.content, (document.title, *chunk.heading_path), match_mode)
    return Hit(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        revision_id=chunk.revision_id,
        title=document.title,
        content=text.text,
        heading_path=chunk.heading_path,
        location=chunk.location,
        score=passage.fused.score,
        ranking=_ranking(rank, passage, collapsed=group is not None),
        metadata=document.metadata,
        matched_terms=terms,
        highlights=tuple(place_highlights(spans, text.own_start, text.own_end, expanded)),
        matching_chunk_count=group.count if group else None,
        matched_headings=group.headings if group else None,
        own_start=text.own_start,
        own_end=text.own_end,
    )


def _ranking(rank: int, passage: Passage, collapsed: bool) -> Ranking:
    fused = passage.fused
    return Ranking(
        final_rank=rank,
        contributions=fused.contributions,
        vector_rank=fused.vector_rank,
        lexical_rank=fused.lexical_rank,
        vector_score=fused.vector.score if fused.vector else None,
        lexical_score=fused.lexical.score if fused.lexical else None,
        fusion_score=fused.fusion_score,
        lexical_match_mode=fused.lexical.match_mode if fused.lexical else None,
        chunk_rank=passage.chunk_rank if collapsed else None,
        normalized_scores=fused.normalized,
    )
