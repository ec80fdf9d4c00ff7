"""Use cases. Ports come in through the constructor; no SQL, no HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # whoever needs one of them, or only this type, does not import them all
    from mcp_knowledge.domain.cursors import CursorSigner
    from mcp_knowledge.services.access import Access
    from mcp_knowledge.services.archive_worker import ArchiveWorker
    from mcp_knowledge.services.archives import Archives
    from mcp_knowledge.services.background import Background
    from mcp_knowledge.services.bulk import Bulk
    from mcp_knowledge.services.catalog import Catalog
    from mcp_knowledge.services.collections import Collections
    from mcp_knowledge.services.contents import Contents
    from mcp_knowledge.services.editing import Editing
    from mcp_knowledge.services.errands import Errands
    from mcp_knowledge.services.evaluations import Evaluations
    from mcp_knowledge.services.events import Events
    from mcp_knowledge.services.figures import Figures
    from mcp_knowledge.services.folders import FolderScanner
    from mcp_knowledge.services.ingest import IngestWorker
    from mcp_knowledge.services.intake import Intake
    from mcp_knowledge.services.jobs import Jobs
    from mcp_knowledge.services.library import Library
    from mcp_knowledge.services.metadata import Metadata
    from mcp_knowledge.services.pages import Pages
    from mcp_knowledge.services.presence import Presence
    from mcp_knowledge.services.reading import Reading
    from mcp_knowledge.services.samples import Samples
    from mcp_knowledge.services.search import Search
    from mcp_knowledge.services.similar import Similar
    from mcp_knowledge.services.status import Status
    from mcp_knowledge.services.urls import Urls
    from mcp_knowledge.services.why_not import WhyNot
    from mcp_knowledge.settings import Settings


@dataclass(frozen=True, slots=True)
class Services:
    """Every use case, put together once; the interfaces get this and nothing else."""

    settings: Settings
    cursors: CursorSigner
    access: Access
    library: Library
    bulk: Bulk
    errands: Errands
    samples: Samples
    archives: Archives
    intake: Intake
    folders: FolderScanner
    urls: Urls
    contents: Contents
    pages: Pages
    editing: Editing
    collections: Collections
    jobs: Jobs
    search: Search
    similar: Similar
    why_not: WhyNot
    metadata: Metadata
    evaluations: Evaluations
    catalog: Catalog
    reading: Reading
    status: Status
    figures: Figures
    events: Events
    worker: IngestWorker
    archive_worker: ArchiveWorker
    presence: Presence
    background: Background
