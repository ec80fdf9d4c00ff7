"""Why something is not among a search's hits."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from mcp_knowledge.domain.absence import Outcome, Subject, Unfit
from mcp_knowledge.domain.search import MatchMode
from mcp_knowledge.interfaces.rest.schemas.common import Shape
from mcp_knowledge.interfaces.rest.schemas.documented import ASCII
from mcp_knowledge.interfaces.rest.schemas.search import SearchRequest


class WhyNotRequest(SearchRequest):
    """A search, and what is missing in it: a document, a chunk, or a chunk of a certain document."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": "string"}}} for name in ("documentId", "chunkId")
            ]
        }
    )

    documentId: Annotated[str, ASCII] | None = Field(None, description="The document in question.")
    chunkId: Annotated[str, ASCII] | None = Field(None, description="The chunk in question.")


class CheckedCondition(Shape):
    """A metadata condition of the search, and what the document has there."""

    field: str
    operator: str
    value: Any
    documentValues: list[Any]
    holds: bool


class CheckedWord(Shape):
    """A word of the query."""

    text: str
    chunks: int | None = Field(
        description="Chunks of the whole corpus that hold it; 10,000: as many or more; null: not counted."
    )
    dropped: bool = Field(description="Too common for the fallback pass.")
    part: bool = Field(description="A part of another word, looked for alone in the fallback pass.")
    present: bool | None = Field(description="Whether the passage in question holds it.")


class SideStanding(Shape):
    """How one side sees it, by its best chunk there."""

    considered: bool = Field(description="Whether it is one of the side's candidates.")
    candidates: int = Field(description="How many candidates the side gives at most.")
    chunkId: str | None
    rank: int | None = Field(description="Among all that may answer; null: none, or very far behind.")
    score: float | None = Field(description="Cosine, or BM25; null: it cannot be found on this side.")
    among: int | None = Field(description="How many may answer, or match; null: not counted.")
    matchMode: MatchMode | None = None
    unfit: Unfit | None = Field(None, description="Why it has no place on this side.")


class Standing(Shape):
    """A place in the ranking of all candidates."""

    rank: int
    score: float
    candidates: int = Field(description="Candidates of each side that took part.")


class Absence(Shape):
    """What became of a document or chunk in a search. What was not reached is null or empty."""

    outcome: Outcome = Field(description="Where it fell out, or `here`.")
    subject: Subject
    sentence: str = Field(description="The same for people.")
    advice: list[str] = Field(description="What can be done about it.")
    documentId: str | None
    chunkId: str | None
    title: str | None
    limit: int
    conditions: list[CheckedCondition]
    words: list[CheckedWord]
    vector: SideStanding | None
    lexical: SideStanding | None
    ranked: Standing | None = Field(description="Its place, of documents where the search collapses.")
    deeper: Standing | None = Field(description="Its place if each side gave that many candidates.")
    shownBy: str | None = Field(description="The chunk that stands for its document.")
    otherwise: "Absence | None" = Field(description="What would become of it without the limit that left it out.")
