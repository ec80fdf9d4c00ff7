"""Searches and their answers."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from mcp_knowledge.domain.search import Collapse, ExpandType, Fusion, MatchMode, SearchMode
from mcp_knowledge.interfaces.rest.arguments import Arguments
from mcp_knowledge.interfaces.rest.schemas.common import MetadataObject, Shape
from mcp_knowledge.interfaces.rest.schemas.documented import FILTERS, QUERY_TEXT, Documented
from mcp_knowledge.interfaces.rest.schemas.documents import Location
from mcp_knowledge.services.search_request import MAX_IDS

_Ids = Annotated[list[str], Documented(maxItems=MAX_IDS)]


class ExpandRequest(Arguments):
    """How much text around each hit."""

    type: ExpandType | None = "none"
    before: Annotated[int, Field(ge=0, le=5)] | None = Field(2, description="Chunks before, for `neighbors`.")
    after: Annotated[int, Field(ge=0, le=5)] | None = Field(2, description="Chunks after, for `neighbors`.")


class SearchRequest(BaseModel):
    """A search. A null is as good as a field that is left out, except for the query."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, QUERY_TEXT]
    mode: SearchMode | None = "hybrid"
    limit: int | None = Field(8, description="Hits; brought into 1…MAX_SEARCH_LIMIT_API.")
    collectionIds: _Ids | None = Field([], description="Empty: no limit.")
    documentIds: _Ids | None = Field([], description="Empty: no limit.")
    filters: Annotated[dict[str, Any], FILTERS] | None = Field(
        {},
        description="Metadata field to a value, or to an object of eq, neq, in, exists, gte, lte; all must hold.",
        examples=[{"year": {"gte": 2024}, "team": "audit"}],
    )
    fusion: Fusion | None = Field("rrf", description="How the two sides are fused in hybrid mode.")
    expand: ExpandRequest | None = Field(default_factory=lambda: ExpandRequest(type="none", before=2, after=2))
    collapse: Collapse | None = Field("none", description="`document`: the best passage of each document.")
    explain: bool | None = Field(False, description="Answer as /search/explain does.")


class Contributions(Shape):
    """What each side added; they sum to the fusion score."""

    vector: float
    lexical: float


class Ranking(Shape):
    """Why a hit stands where it does. A side that did not find it is left out."""

    finalRank: int
    vectorRank: int | None = None
    lexicalRank: int | None = None
    vectorScore: float | None = None
    lexicalScore: float | None = None
    fusionScore: float | None = None
    lexicalMatchMode: MatchMode | None = None
    chunkRank: int | None = None
    contributions: Contributions
    normalizedScores: Contributions | None = Field(
        None, description="With fusion `relative`: each side's score, brought to 0…1 over its candidates."
    )


class Highlight(Shape):
    """Character offsets into the hit's content, end exclusive."""

    start: int
    end: int


class Hit(Shape):
    """A passage, with the reasons for its place."""

    chunkId: str
    documentId: str
    revisionId: str
    title: str
    content: str
    headingPath: list[str]
    location: Location
    score: float
    ranking: Ranking
    metadata: MetadataObject
    matchedTerms: list[str]
    highlights: list[Highlight]
    matchingChunkCount: int | None = Field(None, description="With `collapse`.")
    matchedHeadings: list[str] | None = Field(None, description="With `collapse`.")


class SideCandidate(Shape):
    """One side's candidate."""

    chunkId: str
    documentId: str
    rank: int
    score: float
    matchMode: MatchMode | None = None
    normalizedScore: float | None = Field(None, description="With fusion `relative`: the score brought to 0…1.")


class Timings(Shape):
    """Milliseconds by stage; the two sides run at once."""

    embeddingMs: float
    vectorSearchMs: float
    lexicalSearchMs: float
    fusionMs: float
    totalMs: float


class Condition(Shape):
    """One metadata condition as understood."""

    field: str
    operator: str
    value: Any


class UnderstoodFilters(Shape):
    """All limits as understood."""

    collectionIds: list[str]
    documentIds: list[str]
    conditions: list[Condition]


class QueryReading(Shape):
    """How the lexical side read the query."""

    tokens: list[str]
    exact: str
    fallback: str | None
    dropped: list[str]


class SearchAnswer(Shape):
    """Hits, best first."""

    hits: list[Hit]
    notice: str | None = Field(None, description="What could not be searched, and what to do about it.")
    mode: SearchMode | None = Field(None, description="This and what follows: with `explain`.")
    fusion: Fusion | None = None
    vector: list[SideCandidate] | None = None
    lexical: list[SideCandidate] | None = None
    timings: Timings | None = None
    matchedTerms: list[str] | None = None
    filters: UnderstoodFilters | None = None
    query: QueryReading | None = None


class Explanation(Shape):
    """Hits, best first, and how they came about."""

    hits: list[Hit]
    notice: str | None = Field(None, description="What could not be searched, and what to do about it.")
    mode: SearchMode
    fusion: Fusion
    vector: list[SideCandidate]
    lexical: list[SideCandidate]
    timings: Timings
    matchedTerms: list[str]
    filters: UnderstoodFilters
    query: QueryReading
