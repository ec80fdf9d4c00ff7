"""The vocabulary of retrieval: what is asked, what each side finds, and what comes out with its reasons."""

from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_knowledge.domain.blocks import SourceLocation
from mcp_knowledge.domain.filters import Filter

SearchMode = Literal["hybrid", "vector", "lexical"]
Fusion = Literal["rrf", "relative"]
Collapse = Literal["none", "document"]
ExpandType = Literal["none", "neighbors", "section", "document"]
MatchMode = Literal["exact", "fallback"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents may answer. Empty tuples mean no limit; everything set must hold at once."""

    collection_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()

    @property
    def unlimited(self) -> bool:
        """Whether every ready document may answer."""
        return not (self.collection_ids or self.document_ids or self.filters)


@dataclass(frozen=True, slots=True)
class Expand:
    """How much text around a hit to give back; `before` and `after` count chunks (0-5) and serve `neighbors` only."""

    type: ExpandType = "none"
    before: int = 2
    after: int = 2


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A validated search. `limit` counts hits."""

    query: str
    mode: SearchMode = "hybrid"
    limit: int = 8
    scope: Scope = Scope()
    fusion: Fusion = "rrf"
    expand: Expand = Expand()
    collapse: Collapse = "none"
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """One side's find; lists are best first, rank = index + 1.

    `score` is the side's own: cosine, or BM25 turned so that higher is better.
    """

    chunk_no: int
    chunk_id: str
    score: float
    match_mode: MatchMode | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands on one side among all that may answer: its rank (from 1) of `among`, and its score there."""

    rank: int
    score: float
    among: int


@dataclass(frozen=True, slots=True)
class Contributions:
    """What each side added to the fusion score; they sum to it exactly."""

    vector: float
    lexical: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Why a hit stands where it does. Ranks start at 1; None = that side did not find it.

    `normalized_scores` has each side's score brought to 0..1 over its pool, under relative fusion only.
    """

    final_rank: int
    contributions: Contributions
    vector_rank: int | None = None
    lexical_rank: int | None = None
    vector_score: float | None = None
    lexical_score: float | None = None
    fusion_score: float | None = None
    lexical_match_mode: MatchMode | None = None
    chunk_rank: int | None = None
    normalized_scores: Contributions | None = None


@dataclass(frozen=True, slots=True)
class Highlight:
    """Character offsets into a hit's content, end exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage with the reasons for its place. `content` holds the expansion, if one was asked for."""

    chunk_id: str
    document_id: str
    revision_id: str
    title: str
    content: str
    heading_path: tuple[str, ...]
    location: SourceLocation
    score: float
    ranking: Ranking
    metadata: dict[str, Any]
    matched_terms: tuple[str, ...]
    highlights: tuple[Highlight, ...]
    matching_chunk_count: int | None = None
    matched_headings: tuple[str, ...] | None = None
    own_start: int = 0  # where the hit's own text lies within an expanded content
    own_end: int = 0


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds by stage; the two sides of a hybrid search overlap, so the parts need not sum to the total."""

    embedding_ms: float = 0.0
    vector_search_ms: float = 0.0
    lexical_search_ms: float = 0.0
    fusion_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class SideCandidate:
    """One side's candidate as an explanation lists it; `normalized_score` (0..1) under relative fusion only."""

    chunk_id: str
    document_id: str
    rank: int
    score: float
    match_mode: MatchMode | None = None
    normalized_score: float | None = None


@dataclass(frozen=True, slots=True)
class QueryReading:
    """How the lexical side understood the query: its tokens, both passes in words, the stop words that were dropped."""

    tokens: tuple[str, ...]
    exact: str
    fallback: str | None
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and all that an explanation needs. `notice`: a sentence on what could not be searched."""

    request: SearchRequest
    hits: tuple[Hit, ...]
    timings: Timings
    reading: QueryReading
    vector: tuple[SideCandidate, ...] = ()
    lexical: tuple[SideCandidate, ...] = ()
    matched_terms: tuple[str, ...] = field(default=())
    notice: str | None = None
