"""Jobs."""

from mcp_knowledge.domain.documents import JobKind, JobStatus, Stage
from mcp_knowledge.interfaces.rest.schemas.common import Id, PageQuery, Shape, Timestamp


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
