"""Health, readiness and status."""

from typing import Literal

from pydantic import Field

from mcp_knowledge.interfaces.rest.schemas.common import Shape


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
