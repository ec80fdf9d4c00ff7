"""Evaluations."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from mcp_knowledge.domain.evaluations import Outcome, RunState, Verdict
from mcp_knowledge.domain.judged_queries import MAX_CASE_ID_CHARS, MAX_JUDGED_DOCUMENTS, MAX_KIND_CHARS
from mcp_knowledge.domain.search import Fusion, SearchMode
from mcp_knowledge.interfaces.rest.arguments import Arguments, NoControls
from mcp_knowledge.interfaces.rest.schemas.common import (
    CollectionName,
    Description,
    Id,
    PageQuery,
    Shape,
    Timestamp,
    changeable,
)
from mcp_knowledge.interfaces.rest.schemas.documented import FILTERS, ONE_LINE, QUERY_TEXT, Documented
from mcp_knowledge.services.search_request import MAX_IDS

CaseId = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CASE_ID_CHARS, pattern=r"^[^/]+$"),
    NoControls,
]
Query = Annotated[str, QUERY_TEXT]
Kind = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_KIND_CHARS), NoControls, ONE_LINE]
DocumentIds = Annotated[list[Id], Field(max_length=MAX_JUDGED_DOCUMENTS)]
_QUERY = "As a person would ask; 1 to 2,000 characters."
_OF_A_DOCUMENT: dict[str, Any] = {
    "required": ["documentId"],
    "properties": {"documentId": {"type": "string"}, "noAnswer": {"type": "null"}},
}
_OF_THE_QUERY: dict[str, Any] = {
    "required": ["noAnswer"],
    "properties": {"documentId": {"type": "null"}, "noAnswer": {"type": "boolean"}},
}
_ANSWERED_AND_NOT: dict[str, Any] = {
    "required": ["noAnswer", "relevant"],
    "properties": {"noAnswer": {"const": True}, "relevant": {"minItems": 1}},
}


class EvaluationSet(Shape):
    """A named set of judged queries."""

    id: str
    name: str
    description: str | None
    caseCount: int
    baselineRunId: str | None = Field(description="The run that others are compared with.")
    createdAt: Timestamp
    updatedAt: Timestamp


class EvaluationSetPage(Shape):
    """Sets, newest first."""

    items: list[EvaluationSet]
    nextCursor: str | None


class EvaluationSetCreate(Arguments):
    """A new set."""

    name: CollectionName = Field(description="Unique, whatever the case of its letters.")
    description: Description | None = None


class EvaluationSetUpdate(Arguments):
    """What to change; a field that is left out stays."""

    name: CollectionName = changeable("Unique, whatever the case of its letters.")
    description: Description | None = changeable("null clears it.")
    baselineRunId: Id | None = changeable("A run of this set; null: none.")


class EvaluationCase(Shape):
    """A query with its judgements."""

    id: str = Field(description="Unique in its set.")
    query: str
    relevant: list[str] = Field(description="Ids of the documents that answer it.")
    wrong: list[str] = Field(description="Ids of documents that were looked at and do not.")
    noAnswer: bool = Field(description="Nothing in the corpus answers it.")
    kind: str = Field(description="Free text to group by.")
    unresolved: list[str] = Field(description="Names of relevant documents that were not found; each run looks again.")
    createdAt: Timestamp
    updatedAt: Timestamp


class EvaluationCasePage(Shape):
    """Cases, in the order in which they came."""

    items: list[EvaluationCase]
    nextCursor: str | None


class EvaluationCaseId(Arguments):
    """A case's id out of a path."""

    caseId: CaseId


class EvaluationCaseWrite(Arguments):
    """A case as a whole. Without relevant documents, `noAnswer` says whether there are none."""

    model_config = ConfigDict(json_schema_extra={"not": _ANSWERED_AND_NOT})

    query: Query = Field(description=_QUERY)
    relevant: DocumentIds = Field([], description="Ids of the documents that answer it.")
    wrong: DocumentIds = Field([], description="Ids of documents that do not.")
    noAnswer: bool = False
    kind: Kind = ""


class Judge(Arguments):
    """One judgement: of a document (`documentId` with `verdict`), or of the query as a whole (`noAnswer`)."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [_OF_A_DOCUMENT, _OF_THE_QUERY]})

    query: Query = Field(description=_QUERY)
    documentId: Id | None = None
    verdict: Verdict | None = Field(None, description="null takes back what was said.")
    noAnswer: bool | None = Field(None, description="true: nothing here answers the query; false takes it back.")


class Judged(Shape):
    """The query's case."""

    case: EvaluationCase | None = Field(description="null: nothing is said of the query.")


class JudgementsQuery(Arguments):
    """Which query."""

    query: str


class ExportQuery(Arguments):
    """How to name documents."""

    documents: Literal["ids", "names"] = Field(
        "ids", description="`names`: by path or file name, where that is a document's alone, for another corpus."
    )


class MissingDocument(Shape):
    """A document that was not found."""

    query: str
    name: str


class ImportReport(Shape):
    """What an import did."""

    added: int
    changed: int
    merged: int = Field(description="Lines whose query another line had as well.")
    missing: list[MissingDocument] = Field(description="The first 1,000 documents that were not found.")
    missingCount: int


class RunSettings(Arguments):
    """A way to search."""

    mode: SearchMode = "hybrid"
    fusion: Fusion | None = Field(None, description="For hybrid; default FUSION.")
    collectionIds: Annotated[list[str], Documented(maxItems=MAX_IDS)] = Field([], description="Empty: no limit.")
    filters: Annotated[dict[str, Any], FILTERS] = Field({}, description="As in a search.")


class RunsCreate(Arguments):
    """Runs to start, one for each way to search."""

    settings: list[RunSettings] = Field(
        default_factory=lambda: [RunSettings(fusion=None, collectionIds=[], filters={})],
        min_length=1,
        max_length=8,
        description="Default: a hybrid search of everything.",
    )
    name: CollectionName | None = Field(None, description="Default: mode and fusion.")


class Metrics(Shape):
    """What a run came to. Means (0…1) are over the queries that have an answer."""

    queries: int
    answerable: int
    recallAt5: float
    recallAt10: float
    mrrAt10: float
    ndcgAt10: float
    noAnswerQueries: int
    falsePositives: int = Field(description="Queries without an answer that got a hit all the same.")
    falsePositiveRate: float | None = Field(description="Their share; null without such queries.")
    wrongHits: int = Field(description="Queries that showed, among the first 10, a document judged wrong.")
    gone: int = Field(description="Judgements of documents that do not exist (any more); these count as not found.")
    p50Ms: float
    p95Ms: float


class RunSettingsShown(Shape):
    """A way to search, as a run had it."""

    mode: SearchMode
    fusion: Fusion | None
    collectionIds: list[str]
    filters: dict[str, Any]


class Run(Shape):
    """A run of a set."""

    id: str
    setId: str
    name: str
    settings: RunSettingsShown
    state: RunState = Field(description="`interrupted`: its process ended before it did.")
    done: int = Field(description="Queries.")
    total: int
    indexConfiguration: dict[str, Any] = Field(
        description="Versions, chunk sizes, ranking settings and size of the corpus when it started."
    )
    corpusVersion: str
    metrics: Metrics | None = Field(description="null until it is completed.")
    error: str | None = Field(description="`CODE: message`, when failed.")
    createdAt: Timestamp
    completedAt: Timestamp | None


class RunPage(Shape):
    """Runs, newest first."""

    items: list[Run]
    nextCursor: str | None


class Runs(Shape):
    """The runs that were started."""

    items: list[Run]


class RunDocument(Shape):
    """A document as it was called then; title null: it did not exist."""

    id: str
    title: str | None


class QueryResult(Shape):
    """What a run found for one query."""

    caseId: str
    query: str
    kind: str
    noAnswer: bool
    found: list[RunDocument] = Field(description="The first 10 documents, best first.")
    relevant: list[RunDocument] = Field(description="Those judged right, as of then.")
    firstRelevantRank: int | None = Field(description="null: not among the first 10.")
    firstWrongRank: int | None
    recallAt5: float
    recallAt10: float
    reciprocalRank: float
    ndcg: float
    elapsedMs: float
    gone: int
    falsePositive: bool


class QueryResultPage(Shape):
    """Results, in the order of the cases."""

    items: list[QueryResult]
    nextCursor: str | None


class ComparisonQuery(PageQuery):
    """What to compare with, and which queries to list."""

    baseline: Id | None = Field(None, description="A completed run of the same set. Default: the set's baseline.")
    outcome: Outcome | None = Field(None, description="Only queries that came out so.")


class Difference(Shape):
    """Something that was set otherwise."""

    name: str
    then: Any
    now: Any


class ComparedQuery(Shape):
    """A query in two runs; a side is null where the run did not have it."""

    outcome: Outcome
    caseId: str
    query: str
    kind: str
    judgementsChanged: bool = Field(description="Other documents counted as right then.")
    now: QueryResult | None
    then: QueryResult | None


class OutcomeCounts(Shape):
    """How many queries came out in each way."""

    worse: int
    better: int
    only_now: int
    only_then: int
    same: int


class Comparison(Shape):
    """A run against an earlier one."""

    runId: str
    baselineRunId: str
    changes: dict[str, float] = Field(
        description="What was added to recall@5, recall@10, mrr@10, ndcg@10, and falsePositiveRate if both have one."
    )
    differences: list[Difference] = Field(description="In search settings, index configuration and corpus.")
    counts: OutcomeCounts
    items: list[ComparedQuery] = Field(description="Worse ones first; the largest changes first.")
    nextCursor: str | None
