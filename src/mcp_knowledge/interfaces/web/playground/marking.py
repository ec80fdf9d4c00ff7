"""A hit's text in pieces: what matched, what is its own, and what stands around it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.search import Highlight

NEAR_CHARS = 500  # of the text around a passage; what is further away is folded


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text, marked when it matched."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A passage with the text around it. `far_before` and `far_after` are what lies beyond the near text."""

    far_before: str
    before: str
    own: list[Segment]
    after: str
    far_after: str

    @property
    def surrounded(self) -> bool:
        """Whether there is any text around it."""
        return bool(f"{self.far_before}{self.before}{self.after}{self.far_after}".strip())


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


def marked_text(text: str, own_start: int, own_end: int, highlights: Sequence[Highlight]) -> MarkedText:
    """A passage's own text, `text[own_start:own_end]`, apart from what surrounds it.

    Args:
        highlights: offsets into `text`. Within other text, one that covers the own text as a whole marks nothing: its
            place tells as much.
    """
    alone = own_end - own_start == len(text)
    own_marks = [
        Highlight(mark.start - own_start, mark.end - own_start)
        for mark in highlights
        if alone or (mark.start, mark.end) != (own_start, own_end)
    ]
    before, after = text[:own_start].strip("\n"), text[own_end:].strip("\n")
    cut = _blank_after(before, len(before) - NEAR_CHARS)
    end = _blank_before(after, NEAR_CHARS)
    return MarkedText(
        before[:cut], before[cut:], segments(text[own_start:own_end], own_marks), after[:end], after[end:]
    )


def _blank_after(text: str, place: int) -> int:
    """The first place from `place` on behind which a word begins; 0 for a short text."""
    return 0 if place <= 0 else next((at for at in range(place, len(text)) if text[at - 1].isspace()), place)


def _blank_before(text: str, place: int) -> int:
    """The last place up to `place` where a word ends; the whole of a short text."""
    if place >= len(text):
        return len(text)
    return next((at for at in range(place, 0, -1) if text[at].isspace()), place)
