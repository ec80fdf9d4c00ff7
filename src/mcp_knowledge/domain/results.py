"""From ranked chunks to what a reader gets: one hit a document if asked, the text around a hit, and the marks in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.documents import StoredChunk
from mcp_knowledge.domain.fusion import Fused
from mcp_knowledge.domain.search import Expand, Highlight

SECTION_CHUNKS = 40  # most chunks of a `section` expansion
DOCUMENT_CHUNKS = 80  # most chunks of a `document` expansion
MIN_OVERLAP_CHARS = 12  # shorter equal ends and beginnings are chance ("…the data" before "data …")
MAX_OVERLAP_CHARS = 1200  # more than 32 model tokens take in any script


@dataclass(frozen=True, slots=True)
class Passage:
    """A ranked chunk with its content. `chunk_rank` counts from 1 over all fused candidates."""

    fused: Fused
    chunk: StoredChunk
    chunk_rank: int


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """What the fused candidates hold of one document: the best passage, how many there are, under which headings."""

    best: Passage
    count: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """Joined text around a hit; the hit's own text is `text[own_start:own_end]`."""

    text: str
    own_start: int
    own_end: int


def collapse(passages: Sequence[Passage]) -> list[DocumentPassages]:
    """One entry a document, in the order of their best passages. Headings: the nearest, each once, in rank order."""
    by_document: dict[str, list[Passage]] = {}
    for passage in passages:
        by_document.setdefault(passage.chunk.document_id, []).append(passage)
    return [
        DocumentPassages(
            found[0],
            len(found),
            tuple(dict.fromkeys(item.chunk.heading_path[-1] for item in found if item.chunk.heading_path)),
        )
        for found in by_document.values()
    ]


def expansion_reach(expand: Expand) -> tuple[int, int]:
    """How many chunks before and after a hit an expansion may touch."""
    match expand.type:
        case "neighbors":
            return expand.before, expand.after
        case "section":
            return SECTION_CHUNKS - 1, SECTION_CHUNKS - 1
        case "document":
            return DOCUMENT_CHUNKS - 1, DOCUMENT_CHUNKS - 1
    return 0, 0


def choose_chunks(expand: Expand, own: StoredChunk, around: Sequence[StoredChunk]) -> list[StoredChunk]:
    """The chunks of an expansion out of those within its reach (same document, by sequence, `own` among them)."""
    if expand.type == "section":
        depth = len(own.heading_path)
        return _centred([item for item in around if item.heading_path[:depth] == own.heading_path], own, SECTION_CHUNKS)
    if expand.type == "document":
        return _centred(around, own, DOCUMENT_CHUNKS)
    return list(around)


def join_chunks(chunks: Sequence[StoredChunk], own: StoredChunk) -> Expansion:
    """Join chunks in order, without repeating what neighbours share, and say where the hit's own text lies."""
    text, own_start = "", 0
    for position, chunk in enumerate(chunks):
        shared = overlap_chars(chunks[position - 1], chunk) if position else 0
        if position and not shared and not _touch(chunks[position - 1], chunk):
            text += "\n\n"
        if chunk.chunk_no == own.chunk_no:
            own_start = len(text) - shared
        text += chunk.content[shared:]
    return Expansion(text, own_start, own_start + len(own.content))


def overlap_chars(before: StoredChunk, after: StoredChunk) -> int:
    """How many characters at the end of one chunk stand again at the beginning of the next.

    Where both state their place in the source text, that decides, if the texts agree; else the longest equal run does.
    """
    if before.sequence + 1 != after.sequence:
        return 0
    end, start = before.location.char_end, after.location.char_start
    if end is not None and start is not None:
        shared = end - start
        if shared <= 0:
            return 0
        if before.content.endswith(after.content[:shared]):
            return min(shared, len(after.content))
    longest = min(len(before.content), len(after.content), MAX_OVERLAP_CHARS)
    return next(
        (size for size in range(longest, MIN_OVERLAP_CHARS - 1, -1) if before.content.endswith(after.content[:size])), 0
    )


def place_highlights(spans: Sequence[tuple[int, int]], own_start: int, own_end: int, expanded: bool) -> list[Highlight]:
    """Marks for a hit whose own text starts at `own_start` of its content.

    Args:
        spans: matches within the hit's own text (character offsets into it).
        expanded: whether there is other text around; a hit without matches (the vector side found it by meaning) is
            then marked as a whole, so that a reader still sees which part is the hit.
    """
    if not spans and expanded:
        return [Highlight(own_start, own_end)]
    return [Highlight(own_start + start, own_start + end) for start, end in spans]


def _touch(before: StoredChunk, after: StoredChunk) -> bool:
    end = before.location.char_end
    return before.sequence + 1 == after.sequence and end is not None and end == after.location.char_start


def _centred(chunks: Sequence[StoredChunk], own: StoredChunk, limit: int) -> list[StoredChunk]:
    """At most `limit` chunks with the hit in the middle, moved inward at the ends."""
    place = next(index for index, item in enumerate(chunks) if item.chunk_no == own.chunk_no)
    first = max(0, min(place - limit // 2, len(chunks) - limit))
    return list(chunks[first : first + limit])
