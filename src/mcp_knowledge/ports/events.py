"""Changes that are told."""

from dataclasses import dataclass
from typing import Any, Literal

from mcp_knowledge.domain.documents import (
    ArchiveImport,
    Document,
    Job,
)
from mcp_knowledge.domain.folder import ScanStatus


@dataclass(frozen=True, slots=True)
class Event:
    """A change that a dashboard may want to show at once. The interfaces give a Document, Job, ArchiveImport or
    ScanStatus its JSON shape.

    Ids rise, also over restarts.
    """

    id: str
    kind: Literal["document", "job", "archive", "scan"]
    data: Document | Job | ArchiveImport | ScanStatus | dict[str, Any]
