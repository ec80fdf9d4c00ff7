"""Documents, their revisions and what is in them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints

from mcp_knowledge.domain.documents import ArchiveState, DocumentStatus, Stage
from mcp_knowledge.interfaces.rest.arguments import Arguments, NoNul, QueryInteger
from mcp_knowledge.interfaces.rest.schemas.common import (
    Cursor,
    Id,
    MetadataObject,
    Ok,
    PageQuery,
    Shape,
    Timestamp,
    Title,
    changeable,
)
from mcp_knowledge.interfaces.rest.schemas.documented import FILTERS_IN_TEXT, NO_NUL, Documented
from mcp_knowledge.services.catalog import CATALOG_FIELDS, CATALOG_STATUSES

_CATALOG_FIELD = f"\\s*({'|'.join(CATALOG_FIELDS)})\\s*"


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
    search: Annotated[str, StringConstraints(max_length=200), NoNul, NO_NUL] | None = Field(
        None, description="A part of the title or file name, in any case."
    )
    sort: DocumentSortName = Field("-createdAt", description="`-` for descending.")


class DocumentDeleteQuery(Arguments):
    """How long a deletion can be undone."""

    undoSeconds: QueryInteger = Field(
        0, ge=0, le=600, description="For so long the content is kept, and `restore` brings the document back."
    )


class DocumentDeletion(Ok):
    """A document is gone from lists and search."""

    undoUntil: Timestamp | None = Field(
        None, description="Only with `undoSeconds`: up to when `restore` brings it back, at least."
    )


class DocumentUpload(BaseModel):
    """The multipart form, in any order. Other fields are passed over."""

    file: bytes = Field(json_schema_extra={"format": "binary"}, description="The document, with its file name.")
    collectionId: str = Field("", description="The collection to file it in.")
    metadata: Annotated[str, Documented(contentMediaType="application/json", contentSchema={"type": "object"})] = Field(
        "", description="A JSON object: up to 64 KiB, 64 levels."
    )


class DocumentFromUrl(Arguments):
    """Where the document is, and what to know of it."""

    url: Annotated[str, Documented(pattern=r"^https?://[^\s/?#]")] = Field(
        description="An http or https address on the public internet."
    )
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

    title: Title = changeable()
    collectionId: Id | None = changeable("null takes it out of its collection.")
    metadata: MetadataObject = changeable("Replaces what was there. Up to 64 KiB, 64 levels.")


class Reindex(Arguments):
    """Which documents to parse and embed again."""

    stale: bool = Field(
        description="True: only ready documents that another parser, chunker or model version made. False: all."
    )


class Reindexed(Shape):
    """What was queued."""

    queued: int = Field(description="Documents that are parsed and embedded again.")


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


class OriginalQuery(Arguments):
    """Which original. Other arguments are passed over, as they were when there was none: addresses of files get some
    against caches.
    """

    model_config = ConfigDict(extra="ignore")

    revisionId: Id | None = Field(None, description="Of an earlier or newer revision; without it, the one shown.")


class SimilarQuery(Arguments):
    """How many passages."""

    limit: QueryInteger = Field(8, description="Passages; brought into 1…MAX_SEARCH_LIMIT_API.")


class SimilarPassage(Shape):
    """A passage like the given one."""

    score: float = Field(description="Cosine of both vectors: 1 for the same text, near 0 for unrelated ones.")
    title: str = Field(description="Of its document.")
    chunk: Chunk


class SimilarPassages(Shape):
    """Passages of other documents, nearest first."""

    items: list[SimilarPassage]


class PageImageQuery(Arguments):
    """How the picture of a page should be."""

    width: QueryInteger = Field(1000, description="Pixels across; brought into 100…2,000.")
    chunkId: Id | None = Field(None, description="A passage of the document: its words are marked on the page.")


class CatalogQuery(Arguments):
    """Which documents, and what of them."""

    limit: Annotated[QueryInteger, Documented(minimum=1)] = Field(50, description="Items on a page, 1…MAX_LIST_LIMIT.")
    cursor: Cursor | None = Field(None, description="`nextCursor` of the page before.")
    status: Annotated[str, Documented(enum=list(CATALOG_STATUSES))] = Field(
        "ready", description="pending, processing, ready, failed or deleted."
    )
    collectionId: Id | None = None
    filters: Annotated[str, FILTERS_IN_TEXT] | None = Field(None, description="Metadata filters: a JSON object.")
    fields: Annotated[str, Documented(pattern=f"^{_CATALOG_FIELD}(,{_CATALOG_FIELD})*$")] | None = Field(
        None,
        description="Comma-separated, from id, revisionId, title, sourcePath, metadata, status, updatedAt; "
        "without it, the first five.",
    )
    ifCorpusVersion: Annotated[str, Documented(pattern=r"^generation:(0|[1-9][0-9]{0,18})$")] | None = Field(
        None, description="`generation:<n>`: answer only if the corpus changed since."
    )


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
