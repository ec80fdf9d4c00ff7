"""How good a ranking is, against judgements (a document is relevant to a query, or it is not).

Every function takes the ranked document ids of one query, best first and each once, and the ids judged relevant.
Definitions: Manning, Raghavan, Schütze, "Introduction to Information Retrieval", chapter 8.
"""

from collections.abc import Collection, Sequence
from math import ceil, log2


def recall(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of the relevant documents among the first `k`; 0 when nothing is relevant."""
    wanted = set(relevant)
    return len(wanted.intersection(ranked[:k])) / len(wanted) if wanted else 0.0


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 / rank of the first relevant document among the first `k`, 0 without one. Its mean over queries is MRR@k."""
    wanted = set(relevant)
    return next((1.0 / rank for rank, item in enumerate(ranked[:k], 1) if item in wanted), 0.0)


def ndcg(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002), gains 0 and 1: 1.0 is the ideal order."""
    wanted = set(relevant)
    gained = sum(1.0 / log2(rank + 1) for rank, item in enumerate(ranked[:k], 1) if item in wanted)
    ideal = sum(1.0 / log2(rank + 1) for rank in range(1, min(len(wanted), k) + 1))
    return gained / ideal if ideal else 0.0


def mean(values: Collection[float]) -> float:
    """The arithmetic mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Collection[float], share: float) -> float:
    """The smallest value that at least `share` (0..1) of the values do not exceed (nearest rank), 0 of nothing."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    rank = ceil(share * len(ordered))
    return ordered[min(len(ordered), max(1, rank)) - 1]
