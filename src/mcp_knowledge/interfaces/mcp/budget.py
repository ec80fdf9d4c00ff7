"""Keeping answers within what clients accept."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mcp_knowledge.domain.search import Hit
from mcp_knowledge.services.reading import compact_json

Json = dict[str, Any]

_WORD_CHARS = 40  # text without a blank in so many characters is cut anywhere


def without_bulk(item: Json, max_chars: int) -> Json:
    """An item of an answer without metadata that would fill more than half of it; `metadataOmitted` then says so.

    A document may have metadata as large as an answer. It must not hide the document itself, nor all that come after.

    Args:
        max_chars: of the whole answer.
    """
    if "metadata" not in item or 2 * len(compact_json(item["metadata"])) <= max_chars:
        return item
    return {**item, "metadata": {}, "metadataOmitted": True}


def fit_hits(hits: Sequence[Hit], shape_hit: Callable[[Hit], Json], max_chars: int) -> tuple[list[Json], bool]:
    """Hits whose JSON array has at most `max_chars` characters, and whether anything had to go.

    Expansions shrink towards their hit first, all to the same reach; then the last hits go.

    Args:
        shape_hit: makes a hit's JSON.
    """

    def shape(hit: Hit) -> Json:
        return without_bulk(shape_hit(hit), max_chars)

    whole = [shape(hit) for hit in hits]
    if _chars(whole) <= max_chars:
        return whole, False
    bare = [shape(_shrunk(hit, 0)) for hit in hits]
    if _chars(bare) > max_chars:
        while bare and _chars(bare) > max_chars:
            bare.pop()
        return bare, True
    fits, too_much = 0, max(len(hit.content) for hit in hits)
    while too_much - fits > 1:
        reach = (fits + too_much) // 2
        if _chars([shape(_shrunk(hit, reach)) for hit in hits]) <= max_chars:
            fits = reach
        else:
            too_much = reach
    return [shape(_shrunk(hit, fits)) for hit in hits], True


def _chars(items: list[Json]) -> int:
    return len(compact_json(items))


def _shrunk(hit: Hit, reach: int) -> Hit:
    """The hit with at most `reach` characters around its own text on each side, cut between words if it has any."""
    start, end = hit.own_start, hit.own_end
    if end <= start:  # never expanded: all of it is the hit's own
        return hit
    text = hit.content
    first, last = max(0, start - reach), min(len(text), end + reach)
    if first > 0:
        nearby = range(first, min(start, first + _WORD_CHARS))
        first = next((place for place in nearby if text[place - 1].isspace()), first)
    if last < len(text):
        nearby = range(last, max(end, last - _WORD_CHARS), -1)
        last = next((place for place in nearby if text[place].isspace()), last)
    return replace(hit, content=text[first:last])
