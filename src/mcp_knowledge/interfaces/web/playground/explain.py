"""A search result's reasons, ready to draw: marked text, bars and sentences."""

from collections.abc import Iterable
from dataclasses import dataclass

from mcp_knowledge.domain.search import Highlight, Hit, Ranking, SearchMode, SearchResult, Timings
from mcp_knowledge.interfaces.web.wording import milliseconds, score

BAR_WIDTH = 100.0  # user units of a drawing's width; all its lengths are shares of it


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text, marked when it matched."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a drawing: where it begins and how long it is (user units), and what it stands for."""

    kind: str
    start: float
    width: float
    label: str
    value: str
    lane: int = 0


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A hit with everything that the page says about its place."""

    hit: Hit
    segments: list[Segment]
    bars: list[Bar]
    bar_label: str
    reasons: list[tuple[str, str]]


def segments(text: str, highlights: Iterable[Highlight]) -> list[Segment]:
    """Cut a text at its highlights; whatever overlaps or leaves the text is trimmed."""
    parts: list[Segment] = []
    at = 0
    for mark in sorted(highlights, key=lambda item: item.start):
        start, end = max(mark.start, at), min(mark.end, len(text))
        if start >= end:
            continue
        if start > at:
            parts.append(Segment(text[at:start], False))
        parts.append(Segment(text[start:end], True))
        at = end
    if at < len(text):
        parts.append(Segment(text[at:], False))
    return parts


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


def _side_formula(rank: int | None, rrf_k: int) -> str:
    return "0" if rank is None else f"1 / ({rrf_k} + {rank})"


def _fusion_reason(result: SearchResult, ranking: Ranking, rrf_k: int) -> str:
    shares = ranking.contributions
    total = score(shares.vector + shares.lexical)
    if result.request.fusion == "rrf":
        vector, lexical = (_side_formula(rank, rrf_k) for rank in (ranking.vector_rank, ranking.lexical_rank))
        return f"{vector} for meaning + {lexical} for words = {total}"
    parts = f"{score(shares.vector)} for meaning + {score(shares.lexical)} for words = {total}"
    return f"{parts}, where the best of each side is worth 0.5"


def _reasons(result: SearchResult, hit: Hit, rrf_k: int) -> list[tuple[str, str]]:
    mode, ranking = result.request.mode, hit.ranking
    reasons: list[tuple[str, str]] = []
    if mode != "lexical":
        reasons.append(("Meaning", _vector_reason(ranking)))
    if mode != "vector":
        reasons.append(("Words", _lexical_reason(ranking)))
    if mode == "hybrid":
        reasons.append(("Score", _fusion_reason(result, ranking, rrf_k)))
    if hit.matched_terms:
        reasons.append(("Matched", ", ".join(hit.matched_terms)))
    if ranking.chunk_rank is not None:
        reasons.append(
            ("Document", f"Shown by its best passage, which is number {ranking.chunk_rank} of all passages.")
        )
    return reasons


def hits(result: SearchResult, rrf_k: int) -> list[ExplainedHit]:
    """Every hit of a result with its reasons, best first."""
    mode = result.request.mode
    best = max((sum(_shares(hit, mode)) for hit in result.hits), default=0.0)
    explained: list[ExplainedHit] = []
    for hit in result.hits:
        bars = _bars(hit, mode, best)
        label = "; ".join(f"{bar.label} added {bar.value}" for bar in bars) or "No score"
        explained.append(
            ExplainedHit(hit, segments(hit.content, hit.highlights), bars, label, _reasons(result, hit, rrf_k))
        )
    return explained


def lanes(timings: Timings, mode: SearchMode) -> list[Bar]:
    """The stages on a time line: meaning in the first lane, words, at the same time, in the second, the end below.

    The stages' own beginnings are not measured: each is drawn after the one it waits for.
    """
    total = max(timings.total_ms, timings.embedding_ms + timings.vector_search_ms, timings.lexical_search_ms, 0.001)
    meaning_end = timings.embedding_ms + timings.vector_search_ms
    sides_end = max(meaning_end, timings.lexical_search_ms)
    stages = [
        ("embed", "Question to vector", 0.0, timings.embedding_ms, 0),
        ("meaning", "Nearest passages", timings.embedding_ms, timings.vector_search_ms, 0),
        ("words", "Word search", 0.0, timings.lexical_search_ms, 1),
        ("fusion", "Merging", sides_end, timings.fusion_ms, 2),
        ("other", "Fetching and marking", sides_end + timings.fusion_ms, total - sides_end - timings.fusion_ms, 2),
    ]
    left_out = {"vector": {"words", "fusion"}, "lexical": {"embed", "meaning", "fusion"}}.get(mode, set())
    scale = BAR_WIDTH / total
    return [
        Bar(kind, round(start * scale, 2), round(length * scale, 2), name, milliseconds(length), lane)
        for kind, name, start, length, lane in stages
        if kind not in left_out and length > 0
    ]
