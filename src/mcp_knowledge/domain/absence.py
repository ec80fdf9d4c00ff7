"""Why a document or passage is not among a search's hits: how far it came on the way to them."""

from dataclasses import dataclass
from typing import Any, Literal

from mcp_knowledge.domain.documents import Document, StoredChunk
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.domain.search import MatchMode

Outcome = Literal[
    "here",
    "unknown",
    "deleted",
    "not_ready",
    "failed",
    "no_passages",
    "other_document",
    "other_collection",
    "filtered",
    "no_candidate",
    "below_limit",
    "collapsed",
]
Subject = Literal["document", "chunk"]
Unfit = Literal["other_model", "no_match"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One metadata condition of the search, and the values that the document has there."""

    filter: Filter
    values: tuple[Any, ...]
    holds: bool


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word, phrase, identifier or prefix of a query as it was typed.

    Args:
        chunks: how many chunks of the whole corpus hold it, up to a limit; None: it was not counted.
        dropped: so common a word that only the exact pass looks for it.
        part: a part of another word of the query, which the fallback pass looks for on its own.
        present: whether the chunk in question holds it (title and headings count); None where none is in question.
    """

    text: str
    chunks: int | None
    dropped: bool = False
    part: bool = False
    present: bool | None = None


@dataclass(frozen=True, slots=True)
class SideStanding:
    """How one side sees it: by the best of its chunks.

    Args:
        candidates: how many the side gives to the ranking at most.
        unfit: why it has no rank there; None: it has one, or stands behind the last that was looked at.
        chunk: its best chunk on this side.
        rank: among all that may answer; None with a score: too far behind to be looked for.
        score: cosine, or BM25.
        among: how many may answer or match; None where they were not counted.
        considered: whether the search took it as a candidate.
    """

    candidates: int
    unfit: Unfit | None = None
    chunk: StoredChunk | None = None
    rank: int | None = None
    score: float | None = None
    among: int | None = None
    match_mode: MatchMode | None = None
    considered: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """A place in the ranking of all candidates: chunks, or documents where the search collapses.

    Args:
        candidates: how many of each side the ranking was made of.
    """

    rank: int
    score: float
    candidates: int


@dataclass(frozen=True, slots=True)
class Absence:
    """What became of a document or chunk in a search.

    What was not reached has its default. `otherwise` tells what became of it without the limits that left it out;
    `deeper` where it would stand if both sides gave enough candidates; `shown_by` the chunk that stands for its
    document.
    """

    outcome: Outcome
    subject: Subject
    limit: int
    document: Document | None = None
    chunk: StoredChunk | None = None
    conditions: tuple[Condition, ...] = ()
    words: tuple[QueryWord, ...] = ()
    vector: SideStanding | None = None
    lexical: SideStanding | None = None
    ranked: Standing | None = None
    deeper: Standing | None = None
    shown_by: StoredChunk | None = None
    otherwise: "Absence | None" = None
