"""A search result's reasons, ready to draw: bars, figures and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from mcp_knowledge.domain.query import LexicalQuery, parse_query
from mcp_knowledge.domain.search import Contributions, Hit, Ranking, SearchMode, SearchResult, SideCandidate
from mcp_knowledge.domain.tokens import is_unspaced
from mcp_knowledge.interfaces.web.playground.marking import MarkedText, marked_text
from mcp_knowledge.interfaces.web.wording import score

BAR_WIDTH = 100.0  # user units of a drawing's width; all its lengths are shares of it
_MOST_DIGITS = 7  # of a fused score, behind the point
_MOST_SCORE_DIGITS = 12  # of a side's score, behind the point: BM25 of common words is very small
_EXACT_ENOUGH = 0.001  # of a share between 0 and 1; half of it is shown with three digits


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a drawing: where it begins and how long it is (user units), and what it stands for."""

    kind: str
    start: float
    width: float
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Summand:
    """A side's part of a fused score: how it comes about with this hit's numbers, and what it is."""

    name: str
    kind: str
    formula: str
    value: str


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A hit with everything that the page says about its place.

    Args:
        pass_kind: how its words were found: `exact`, `fallback`, or `aside` where only its meaning was.
        reasons: a name and a sentence each.
        sum: of a hybrid search: what the score consists of, and `total`, the score with as many digits.
        missing: words of the question that do not stand in it, where some do.
    """

    hit: Hit
    text: MarkedText
    pass_kind: str
    bars: list[Bar]
    bar_label: str
    reasons: list[tuple[str, str]]
    sum: list[Summand]
    total: str
    missing: list[str]


def hits(result: SearchResult, rrf_k: int) -> list[ExplainedHit]:
    """Every hit of a result with its reasons, best first."""
    mode = result.request.mode
    query = parse_query(result.request.query)
    best = max((sum(_shares(hit, mode)) for hit in result.hits), default=0.0)
    explained: list[ExplainedHit] = []
    for hit in result.hits:
        bars = _bars(hit, mode, best)
        meaning, words, total = _adding_up(hit.ranking.contributions, hit.score)
        explained.append(
            ExplainedHit(
                hit,
                marked_text(hit.content, hit.own_start, hit.own_end or len(hit.content), hit.highlights),
                hit.ranking.lexical_match_mode or "aside",
                bars,
                "; ".join(f"{bar.label} added {bar.value}" for bar in bars) or f"Score {score(hit.score)}",
                _reasons(result, hit),
                _summands(result, hit.ranking, rrf_k, (meaning, words)),
                total,
                _missing(query, hit),
            )
        )
    return explained


def _shares(hit: Hit, mode: SearchMode) -> tuple[float, float]:
    """What meaning and words added to the hit's score; on one side alone, the score is all its own."""
    if mode == "hybrid":
        return hit.ranking.contributions.vector, hit.ranking.contributions.lexical
    return (hit.score, 0.0) if mode == "vector" else (0.0, hit.score)


def _bars(hit: Hit, mode: SearchMode, best: float) -> list[Bar]:
    """Each side's share as a length; the best score of the list fills the whole bar."""
    bars: list[Bar] = []
    at = 0.0
    for kind, name, value in zip(("meaning", "words"), ("Meaning", "Words"), _shares(hit, mode), strict=True):
        width = max(0.0, value) / best * BAR_WIDTH if best > 0 else 0.0
        if width > 0:
            bars.append(Bar(kind, round(at, 2), round(width, 2), name, score(value)))
            at += width
    return bars


def _vector_reason(ranking: Ranking) -> str:
    if ranking.vector_rank is None:
        return "Not among the passages closest in meaning."
    closeness = (
        "" if ranking.vector_score is None else f" (similarity {score(ranking.vector_score)}; 1 would be the same)"
    )
    return f"Place {ranking.vector_rank} among the passages closest in meaning{closeness}."


def _lexical_reason(ranking: Ranking) -> str:
    if ranking.lexical_rank is None:
        return "Not among the passages that match by words."
    how = "contains every word asked for" if ranking.lexical_match_mode == "exact" else "contains some of the words"
    strength = "" if ranking.lexical_score is None else f" (BM25 {score(ranking.lexical_score)}; rare words weigh more)"
    return f"Place {ranking.lexical_rank} by words; {how}{strength}."


def _reasons(result: SearchResult, hit: Hit) -> list[tuple[str, str]]:
    mode, ranking = result.request.mode, hit.ranking
    reasons: list[tuple[str, str]] = []
    if mode != "lexical":
        reasons.append(("Meaning", _vector_reason(ranking)))
    if mode != "vector":
        reasons.append(("Words", _lexical_reason(ranking)))
    if hit.matched_terms:
        reasons.append(("Matched", ", ".join(hit.matched_terms)))
    if ranking.chunk_rank is not None:
        reasons.append(
            ("Document", f"Shown by its best passage, which is number {ranking.chunk_rank} of all passages.")
        )
    return reasons


def _adding_up(parts: Contributions, total: float) -> tuple[str, str, str]:
    """Both parts and their sum with as few digits as it takes for the rounded parts to add up to the rounded sum."""
    fewest = len(score(total).partition(".")[2])
    meaning = words = both = ""
    for digits in range(fewest, _MOST_DIGITS + 1):
        meaning, words, both = (f"{value:.{digits}f}" for value in (parts.vector, parts.lexical, total))
        if Decimal(meaning) + Decimal(words) == Decimal(both):
            return meaning, words, both
    return meaning, str(Decimal(both) - Decimal(meaning)), both  # few never add up; the last digit makes up for it


def _summands(result: SearchResult, ranking: Ranking, rrf_k: int, values: tuple[str, str]) -> list[Summand]:
    """How a fused score is made, in the numbers of this hit."""
    if result.request.mode != "hybrid":
        return []
    if result.request.fusion == "rrf":
        formulas = [_reciprocal(rank, rrf_k) for rank in (ranking.vector_rank, ranking.lexical_rank)]
    else:
        formulas = [
            _relative(result.vector, ranking.vector_rank),
            _relative(result.lexical, ranking.lexical_rank),
        ]
    names = (("Meaning", "meaning"), ("Words", "words"))
    return [
        Summand(name, kind, formula, value)
        for (name, kind), formula, value in zip(names, formulas, values, strict=True)
    ]


def _reciprocal(rank: int | None, rrf_k: int) -> str:
    return "not found there" if rank is None else f"1 ÷ ({rrf_k} + {rank})"


def _relative(side: Sequence[SideCandidate], rank: int | None) -> str:
    """Half of where a score lies between the pool's lowest and highest (see `domain.fusion.normalized_scores`)."""
    if rank is None:
        return "not found there"
    held = list(accumulate((item.score for item in reversed(side)), max))[::-1]
    own, lowest, highest = held[rank - 1], held[-1], held[0]
    if lowest == highest:
        return "½ × 1, as all of that side are equal"
    share = (own - lowest) / (highest - lowest)
    fewest = len(score(highest).partition(".")[2])
    for digits in range(fewest, _MOST_SCORE_DIGITS + 1):  # few differences need more of them to come to the same
        top, bottom, here = (round(value, digits) for value in (highest, lowest, own))
        if top > bottom and abs((here - bottom) / (top - bottom) - share) < _EXACT_ENOUGH:
            break
    return f"½ × ({own:.{digits}f} − {lowest:.{digits}f}) ÷ ({highest:.{digits}f} − {lowest:.{digits}f})"


def _missing(query: LexicalQuery, hit: Hit) -> list[str]:
    """The words of the pass that found it which do not stand in it. Pairs of characters are no words to name."""
    if hit.ranking.lexical_match_mode != "fallback" or not hit.matched_terms:
        return []
    if any(is_unspaced(token) for token in query.tokens):
        return []
    return [phrase.text for phrase in query.fallback if phrase.text not in hit.matched_terms]
