"""Where the time of a search went: one bar, in which what ran at the same time lies one above the other."""

from dataclasses import dataclass

from mcp_knowledge.domain.search import SearchMode, Timings
from mcp_knowledge.interfaces.web.wording import milliseconds

WIDTH = 100.0  # user units of the drawing
HEIGHT = 20.0

_STAGES = {
    "embed": ("Question to numbers", "The model turns the question into 384 numbers that stand for its meaning."),
    "meaning": ("Nearest passages", "The passages whose numbers point most nearly the same way are looked up."),
    "words": ("Looking up words", "The index of words is asked for passages that hold them, rare words counting more."),
    "fusion": ("Merging", "Both lists become one."),
    "other": ("Fetching and marking", "The passages' texts are read, and what matched in them is marked."),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of the bar (user units), with its name, its time and what happens in it.

    `y` and `height` say whether it fills the bar, or ran beside another: meaning above, words below.
    """

    kind: str
    name: str
    about: str
    value: str
    start: float
    width: float
    y: float
    height: float


def stages(timings: Timings, mode: SearchMode) -> list[Stage]:
    """The stages from left to right. Their own beginnings are not measured: each follows the one it waits for."""
    meaning_end = timings.embedding_ms + timings.vector_search_ms
    sides_end = max(meaning_end, timings.lexical_search_ms)
    total = max(timings.total_ms, sides_end + timings.fusion_ms, 0.001)
    spans = [
        ("embed", 0.0, timings.embedding_ms),
        ("meaning", timings.embedding_ms, timings.vector_search_ms),
        ("words", 0.0, timings.lexical_search_ms),
        ("fusion", sides_end, timings.fusion_ms),
        ("other", sides_end + timings.fusion_ms, total - sides_end - timings.fusion_ms),
    ]
    left_out = {"vector": {"words", "fusion"}, "lexical": {"embed", "meaning", "fusion"}}.get(mode, set())
    half = HEIGHT / 2
    lanes = {"embed": (0.0, half), "meaning": (0.0, half), "words": (half, half)} if mode == "hybrid" else {}
    return [
        Stage(
            kind,
            *_STAGES[kind],
            milliseconds(length),
            round(start / total * WIDTH, 2),
            round(length / total * WIDTH, 2),
            *lanes.get(kind, (0.0, HEIGHT)),
        )
        for kind, start, length in spans
        if kind not in left_out and length > 0
    ]
