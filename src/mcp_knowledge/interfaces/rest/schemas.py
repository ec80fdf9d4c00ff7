"""The shapes of REST requests and answers. Models check requests, and describe answers in the documentation."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints

from mcp_knowledge.domain.documents import ArchiveState, DocumentStatus, EntryOutcome, JobKind, JobStatus, Stage
from mcp_knowledge.domain.search import Collapse, ExpandType, Fusion, MatchMode, SearchMode
from mcp_knowledge.interfaces.rest.arguments import Arguments, NoControls, NoNul, QueryInteger

Timestamp = Annotated[
    str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", examples=["2026-01-31T09:30:00.000Z"])
]
Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
CollectionName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NoControls]
Description = Annotated[str, StringConstraints(max_length=2000), NoNul]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), NoControls]
MetadataObject = dict[str, Any]


def _changeable(description: str = "") -> Any:
    """A field that a change may leave out; what it is then does not matter, and the documentation shows no default."""
    return Field(default=None, description=description or None, json_schema_extra=lambda schema: schema.pop("default"))


class Shape(BaseModel):
    """The body of an answer. Every field stands in it unless it says otherwise."""

    model_config = ConfigDict(extra="forbid")


# Common


class ErrorDetail(Shape):
    """What went wrong."""

    code: str = Field(description="Stable, upper case; programs decide by it.")
    message: str = Field(description="One sentence for people.")
    requestId: str = Field(description="Finds the request in the server's log.")


class Error(Shape):
    """Any failure."""

    error: ErrorDetail


class Ok(Shape):
    """It is done."""

    ok: Literal[True]


class PageQuery(Arguments):
    """How much of a list, and from where."""

    limit: QueryInteger = Field(50, description="Items on a page; brought into 1…MAX_LIST_LIMIT.")
    cursor: str | None = Field(None, description="`nextCursor` of the page before.")


# Service


class Health(Shape):
    """The process answers."""

    ok: Literal[True]


class Checks(Shape):
    """Which parts work."""

    database: bool
    storage: bool
    embedding: bool
    migrations: bool
    worker: bool


class Ready(Shape):
    """Whether requests can be served in full."""

    ready: bool
    checks: Checks


class DatabaseState(Shape):
    """The database."""

    driver: str
    healthy: bool
    sizeBytes: int


class StorageState(Shape):
    """Where originals are kept."""

    driver: str
    healthy: bool


class EmbeddingState(Shape):
    """The embedding model. Unhealthy also when the stored vectors were made by another one."""

    model: str
    dimensions: int
    healthy: bool


class WorkersState(Shape):
    """Workers that hold a job right now."""

    active: int


class QueueState(Shape):
    """Jobs by what they wait for."""

    queued: int
    running: int
    retrying: int
    failed: int


class DocumentCounts(Shape):
    """Documents by status."""

    pending: int
    processing: int
    ready: int
    failed: int
    deleting: int
    deleted: int


class IndexConfiguration(Shape):
    """What makes the index entries of a document ingested now."""

    parsers: dict[str, str] = Field(description="Version of each parser by its name.")
    chunkerName: str
    chunkerVersion: str
    chunkTargetTokens: int
    chunkMinTokens: int
    chunkMaxTokens: int
    chunkOverlapTokens: int
    embeddingModel: str
    embeddingDimensions: int
    embeddingVersion: str


class SystemStatus(Shape):
    """The service at a glance."""

    version: str
    profile: str
    role: str
    database: DatabaseState
    storage: StorageState
    embedding: EmbeddingState
    workers: WorkersState
    queue: QueueState
    documents: DocumentCounts
    chunks: int
    corpusVersion: str = Field(pattern=r"^generation:\d+$")
    indexConfiguration: IndexConfiguration
    staleDocuments: int = Field(description="Ready documents that another parser, chunker or model version made.")


# Collections


class Collection(Shape):
    """A named group of documents."""

    id: str
    name: str
    description: str | None
    documentCount: int
    createdAt: Timestamp
    updatedAt: Timestamp


class CollectionPage(Shape):
    """Collections, newest first."""

    items: list[Collection]
    nextCursor: str | None


class CollectionCreate(Arguments):
    """A new collection."""

    name: CollectionName = Field(description="Unique, whatever the case of its letters.")
    description: Description | None = None


class CollectionUpdate(Arguments):
    """What to change; a field that is left out stays."""

    name: CollectionName = _changeable("Unique, whatever the case of its letters.")
    description: Description | None = _changeable("null clears it.")


# Documents


class Progress(Shape):
    """How far the job of a document has come."""

    stage: Stage
    done: int
    total: int


class Document(Shape):
    """A document."""

    id: str
    collectionId: str | None
    currentRevisionId: str | None = Field(description="null until a revision is searchable.")
    revision: int
    title: str
    originalFilename: str
    mimeType: str
    extension: str
    sizeBytes: int
    sha256: str
    status: DocumentStatus
    metadata: MetadataObject
    sourcePath: str | None
    sourceUrl: str | None
    chunkCount: int
    latestError: str | None = Field(description="`CODE: message` of the last failure.")
    progress: Progress | None
    createdAt: Timestamp
    updatedAt: Timestamp


class DocumentPage(Shape):
    """Documents."""

    items: list[Document]
    nextCursor: str | None


DocumentSortName = Literal[
    "createdAt", "-createdAt", "updatedAt", "-updatedAt", "title", "-title", "sizeBytes", "-sizeBytes"
]


class DocumentListQuery(PageQuery):
    """Which documents, in which order."""

    collectionId: Id | None = None
    status: DocumentStatus | None = Field(None, description="Without it, all but deleting and deleted ones.")
    search: Annotated[str, StringConstraints(max_length=200), NoNul] | None = Field(
        None, description="A part of the title or file name, in any case."
    )
    sort: DocumentSortName = Field("-createdAt", description="`-` for descending.")


class DocumentUpload(BaseModel):
    """The multipart form, in any order. Other fields are passed over."""

    file: bytes = Field(json_schema_extra={"format": "binary"}, description="The document, with its file name.")
    collectionId: str = Field("", description="The collection to file it in.")
    metadata: str = Field("", description="A JSON object: up to 64 KiB, 64 levels.")


class DocumentFromUrl(Arguments):
    """Where the document is, and what to know of it."""

    url: str = Field(description="An http or https address on the public internet.", examples=["https://example.com/"])
    collectionId: Id | None = Field(None, description="The collection to file it in.")
    metadata: MetadataObject | None = Field(None, description="Up to 64 KiB, 64 levels.")


class RevisionUpload(BaseModel):
    """The multipart form."""

    file: bytes = Field(json_schema_extra={"format": "binary"}, description="The newer original, with its file name.")


class UploadReceipt(Shape):
    """What became of an upload."""

    id: str
    status: DocumentStatus
    revision: int
    duplicate: bool = Field(description="A live document has the same bytes, and this is its id.")


class ArchiveReceipt(Shape):
    """An archive was taken in; its files become documents in the background."""

    archiveId: str
    status: ArchiveState


class AnyReceipt(RootModel[UploadReceipt | ArchiveReceipt]):
    """UploadReceipt, or ArchiveReceipt when the file was an archive."""


class DocumentUpdate(Arguments):
    """What to change; a field that is left out stays."""

    title: Title = _changeable()
    collectionId: Id | None = _changeable("null takes it out of its collection.")
    metadata: MetadataObject = _changeable("Replaces what was there. Up to 64 KiB, 64 levels.")


class Purge(Arguments):
    """The confirmation."""

    confirm: Literal["purge"]


class Revision(Shape):
    """A version of a document's original, and what made its index entries (null until it was indexed)."""

    id: str
    revision: int
    originalFilename: str
    sha256: str
    sizeBytes: int
    parserName: str | None
    parserVersion: str | None
    chunkerName: str | None
    chunkerVersion: str | None
    embeddingModel: str | None
    embeddingDimensions: int | None
    embeddingVersion: str | None
    chunkCount: int
    createdAt: Timestamp
    indexedAt: Timestamp | None
    current: bool


class RevisionPage(Shape):
    """Revisions, newest first."""

    items: list[Revision]
    nextCursor: str | None


class Location(Shape):
    """Where a passage stands in its source; what the format does not know is left out."""

    pageStart: int | None = None
    pageEnd: int | None = None
    slide: int | None = None
    sheet: str | None = None
    cellRange: str | None = None
    section: str | None = None
    charStart: int | None = None
    charEnd: int | None = None


class Block(Shape):
    """A block of a normalized document; its type says which fields it has."""

    type: Literal["heading", "paragraph", "list", "table", "code", "quote", "image", "pageBreak"]
    level: int | None = None
    text: str | None = None
    ordered: bool | None = None
    items: list[str] | None = None
    headers: list[str] | None = None
    rows: list[list[str]] | None = None
    language: str | None = None
    alt: str | None = None
    location: Location | None = None


class NormalizedDocument(Shape):
    """A document as the parser understood it."""

    title: str | None = Field(None, description="Left out when the file states none.")
    metadata: MetadataObject
    blocks: list[Block]


class Chunk(Shape):
    """A passage as it is indexed."""

    id: str
    documentId: str
    revisionId: str
    sequence: int
    content: str
    headingPath: list[str]
    location: Location
    tokenCount: int
    metadata: MetadataObject
    contentHash: str


class ChunkPage(Shape):
    """Chunks in the order of the document."""

    items: list[Chunk]
    nextCursor: str | None


class ChunkNeighbours(Shape):
    """A chunk and its neighbours, in the order of the document."""

    items: list[Chunk]


class NeighbourQuery(Arguments):
    """How many chunks around it."""

    before: QueryInteger = Field(0, description="Chunks before it, 0 to 5.", ge=0, le=5)
    after: QueryInteger = Field(0, description="Chunks after it, 0 to 5.", ge=0, le=5)


class CatalogQuery(Arguments):
    """Which documents, and what of them."""

    limit: QueryInteger = Field(50, description="Items on a page, 1…MAX_LIST_LIMIT.")
    cursor: str | None = Field(None, description="`nextCursor` of the page before.")
    status: str = Field("ready", description="pending, processing, ready, failed or deleted.")
    collectionId: Id | None = None
    filters: str | None = Field(None, description="Metadata filters: a JSON object.")
    fields: str | None = Field(
        None,
        description="Comma-separated, from id, revisionId, title, sourcePath, metadata, status, updatedAt; "
        "without it, the first five.",
    )
    ifCorpusVersion: str | None = Field(None, description="`generation:<n>`: answer only if the corpus changed since.")


class CatalogItem(Shape):
    """The chosen fields of a document."""

    id: str | None = None
    revisionId: str | None = None
    title: str | None = None
    sourcePath: str | None = None
    metadata: MetadataObject | None = None
    status: DocumentStatus | None = None
    updatedAt: Timestamp | None = None


class CatalogPage(Shape):
    """A page of the catalog, or that nothing has changed."""

    corpusVersion: str = Field(pattern=r"^generation:\d+$")
    items: list[CatalogItem] | None = Field(None, description="Left out when `unchanged` is there.")
    nextCursor: str | None = Field(None, description="Left out on the last page.")
    unchanged: Literal[True] | None = None


# Archives


class ArchiveCounts(Shape):
    """How many files of an archive met which outcome so far."""

    examined: int
    extracted: int = Field(description="New documents, and new revisions of documents.")
    duplicate: int = Field(description="A live document has the same bytes.")
    unsupported: int = Field(description="No parser reads this format; archives inside archives are not looked into.")
    oversized: int = Field(description="Larger than MAX_UPLOAD_BYTES.")
    failed: int = Field(description="An unsafe path, a link, an empty or a damaged file.")


class ArchiveEntry(Shape):
    """What became of a file of an archive."""

    path: str = Field(description="In the archive, with `/`.")
    outcome: EntryOutcome
    documentId: str | None = Field(None, description="Its document, or the one with its bytes; left out without any.")
    error: str | None = Field(None, description="`CODE: message`; left out when there is none.")


class Archive(Shape):
    """The import of an archive."""

    id: str
    originalFilename: str
    collectionId: str | None
    sourcePath: str | None = Field(description="Where the archive lies in the scanned folder.")
    sourceUrl: str | None
    sizeBytes: int
    state: ArchiveState = Field(description="completed_with_errors: a file has failed or was oversized.")
    fileCount: int | None = Field(description="Files in the archive; null until it was looked into.")
    counts: ArchiveCounts
    documentIds: list[str] = Field(description="Documents of the extracted files.")
    entries: list[ArchiveEntry] = Field(description="In the archive's order; folders and macOS metadata are left out.")
    error: str | None = Field(description="`CODE: message`, when nothing could be imported.")
    createdAt: Timestamp
    startedAt: Timestamp | None
    completedAt: Timestamp | None


class ArchivePage(Shape):
    """A page of imports."""

    items: list[Archive]
    nextCursor: str | None


# Jobs


class JobListQuery(PageQuery):
    """Which jobs."""

    status: JobStatus | None = None
    documentId: Id | None = None


class Job(Shape):
    """A piece of durable work."""

    id: str
    kind: JobKind
    documentId: str
    filename: str
    revisionId: str | None
    status: JobStatus
    attempt: int
    maxAttempts: int
    worker: str | None
    stage: Stage | None
    durationMs: int | None
    error: str | None
    createdAt: Timestamp
    startedAt: Timestamp | None
    completedAt: Timestamp | None


class JobPage(Shape):
    """Jobs, newest first."""

    items: list[Job]
    nextCursor: str | None


# Search


class ExpandRequest(Arguments):
    """How much text around each hit."""

    type: ExpandType = "none"
    before: int = Field(2, ge=0, le=5, description="Chunks before, for `neighbors`.")
    after: int = Field(2, ge=0, le=5, description="Chunks after, for `neighbors`.")


class SearchRequest(BaseModel):
    """A search."""

    query: str = Field(min_length=1, max_length=2000)
    mode: SearchMode = "hybrid"
    limit: int = Field(8, description="Hits; brought into 1…MAX_SEARCH_LIMIT_API.")
    collectionIds: list[str] = Field([], description="Empty: no limit.")
    documentIds: list[str] = Field([], description="Empty: no limit.")
    filters: dict[str, Any] = Field(
        {},
        description="Metadata field to a value, or to an object of eq, neq, in, exists, gte, lte; all must hold.",
        examples=[{"year": {"gte": 2024}, "team": "audit"}],
    )
    fusion: Fusion = Field("rrf", description="How the two sides are fused in hybrid mode.")
    expand: ExpandRequest = Field(default_factory=lambda: ExpandRequest(type="none", before=2, after=2))
    collapse: Collapse = Field("none", description="`document`: the best passage of each document.")
    explain: bool = Field(False, description="Answer as /search/explain does.")


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
