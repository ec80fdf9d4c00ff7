"""Two ranked lists into one, with the reasons: each score and what the sides added to it come from the same loop.

Reciprocal rank fusion is from Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
individual Rank Learning Methods" (SIGIR 2009): the sum over the sides of 1 / (k + rank).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mcp_knowledge.domain.search import Candidate, Contributions, Fusion, SearchMode


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its place on each side (ranks from 1; None: that side did not find it).

    `score` is the fusion score in hybrid mode and the side's own in the others (`fusion_score` is then None);
    `contributions` sum to it exactly. `normalized` has each side's score brought to 0..1, under relative fusion only.
    """

    chunk_no: int
    chunk_id: str
    score: float
    contributions: Contributions
    vector_rank: int | None
    vector: Candidate | None
    lexical_rank: int | None
    lexical: Candidate | None
    fusion_score: float | None = None
    normalized: Contributions | None = None

    @property
    def best_rank(self) -> int:
        """The better of the two ranks."""
        return min(rank for rank in (self.vector_rank, self.lexical_rank) if rank is not None)


def fuse(
    mode: SearchMode, fusion: Fusion, vector: Sequence[Candidate], lexical: Sequence[Candidate], rrf_k: int
) -> list[Fused]:
    """Rank the union of both sides, best first.

    The order is total: by score, then the better of the two ranks, then chunk id (then chunk number, as files with the
    same bytes have the same chunk ids). In a single-side mode the side's own order and scores stand.

    Args:
        vector: the vector side's candidates, best first, each chunk once.
        lexical: the lexical side's candidates, best first (exact hits before fallback hits), each chunk once.
        rrf_k: the constant of reciprocal rank fusion; higher makes the first places matter less.
    """
    if mode == "vector":
        return [_alone(item, rank, None) for rank, item in enumerate(vector, 1)]
    if mode == "lexical":
        return [_alone(item, None, rank) for rank, item in enumerate(lexical, 1)]
    relative = fusion == "relative"
    vector_scores = normalized_scores(vector) if relative else _reciprocal_ranks(len(vector), rrf_k)
    lexical_scores = normalized_scores(lexical) if relative else _reciprocal_ranks(len(lexical), rrf_k)
    vector_ranks = {item.chunk_no: rank for rank, item in enumerate(vector, 1)}
    lexical_ranks = {item.chunk_no: rank for rank, item in enumerate(lexical, 1)}
    weight = 0.5 if relative else 1.0
    fused = []
    for chunk_no in vector_ranks | lexical_ranks:
        vector_rank, lexical_rank = vector_ranks.get(chunk_no), lexical_ranks.get(chunk_no)
        vector_score = 0.0 if vector_rank is None else vector_scores[vector_rank - 1]
        lexical_score = 0.0 if lexical_rank is None else lexical_scores[lexical_rank - 1]
        by_vector = None if vector_rank is None else vector[vector_rank - 1]
        by_lexical = None if lexical_rank is None else lexical[lexical_rank - 1]
        shares = Contributions(weight * vector_score, weight * lexical_score)
        found = by_vector or by_lexical
        assert found is not None
        fused.append(
            Fused(
                chunk_no,
                found.chunk_id,
                shares.vector + shares.lexical,
                shares,
                vector_rank,
                by_vector,
                lexical_rank,
                by_lexical,
                shares.vector + shares.lexical,
                Contributions(vector_score, lexical_score) if relative else None,
            )
        )
    fused.sort(key=lambda item: (-item.score, item.best_rank, item.chunk_id, item.chunk_no))
    return fused


def normalized_scores(side: Sequence[Candidate]) -> list[float]:
    """One side's scores brought to 0..1 over its pool (min-max), never rising with rank.

    A fallback hit can have a higher BM25 score than an exact hit, which always ranks before it. So each candidate first
    counts at least as much as the best one behind it, and the best score of the pool belongs to rank 1. A pool whose
    scores are all equal, such as a pool of one, is all 1: nothing in it is worse than its best.
    """
    if not side:
        return []
    held = list(accumulate((item.score for item in reversed(side)), max))[::-1]
    highest, lowest = held[0], held[-1]
    if highest == lowest:
        return [1.0] * len(held)
    return [(score - lowest) / (highest - lowest) for score in held]


def _reciprocal_ranks(count: int, rrf_k: int) -> list[float]:
    return [1.0 / (rrf_k + rank) for rank in range(1, count + 1)]


def _alone(item: Candidate, vector_rank: int | None, lexical_rank: int | None) -> Fused:
    by_vector = vector_rank is not None
    return Fused(
        item.chunk_no,
        item.chunk_id,
        item.score,
        Contributions(item.score, 0.0) if by_vector else Contributions(0.0, item.score),
        vector_rank,
        item if by_vector else None,
        lexical_rank,
        None if by_vector else item,
    )
