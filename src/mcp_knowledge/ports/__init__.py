"""What services need from the outside world. Each Protocol has, or will have, two implementations.

Every method may be called from the event loop: none blocks it. Failures a client may see are `KnowledgeError`s.
"""

from mcp_knowledge.ports.access import AccessStore, LoginAttempt
from mcp_knowledge.ports.archives import (
    ArchiveMember,
    ArchiveReader,
    ArchiveStore,
    MemberFault,
    MemberKind,
    NewArchive,
    OpenArchive,
)
from mcp_knowledge.ports.changes import Change, Deletion, DocumentChanges, Move, Reindex, Tag, Untag
from mcp_knowledge.ports.details import DetailsStore
from mcp_knowledge.ports.embedder import Embedder
from mcp_knowledge.ports.evaluations import EvaluationStore, NewRun
from mcp_knowledge.ports.events import Broadcast, Event, Topic
from mcp_knowledge.ports.files import BlobStore, Fetched, Fetcher, PageImage, PageRenderer, ParsedFile, Parser
from mcp_knowledge.ports.folder import FolderStore, FolderWatch
from mcp_knowledge.ports.indexes import LexicalIndex, VectorIndex
from mcp_knowledge.ports.jobs import BackgroundRun, JobQueue, Pace
from mcp_knowledge.ports.listing import DocumentQuery, DocumentSort
from mcp_knowledge.ports.locks import Locks
from mcp_knowledge.ports.passages import PassageStore
from mcp_knowledge.ports.store import (
    BlockPage,
    Counts,
    IndexedRevision,
    NewDocument,
    NewRevision,
    OutlineEntry,
    Store,
    StoreHealth,
)
from mcp_knowledge.ports.terms import UNSET, Position, Unset, Vector

__all__ = [
    "UNSET",
    "AccessStore",
    "ArchiveMember",
    "ArchiveReader",
    "ArchiveStore",
    "BackgroundRun",
    "BlobStore",
    "BlockPage",
    "Broadcast",
    "Change",
    "Counts",
    "Deletion",
    "DetailsStore",
    "DocumentChanges",
    "DocumentQuery",
    "DocumentSort",
    "Embedder",
    "EvaluationStore",
    "Event",
    "Fetched",
    "Fetcher",
    "FolderStore",
    "FolderWatch",
    "IndexedRevision",
    "JobQueue",
    "LexicalIndex",
    "Locks",
    "LoginAttempt",
    "MemberFault",
    "MemberKind",
    "Move",
    "NewArchive",
    "NewDocument",
    "NewRevision",
    "NewRun",
    "OpenArchive",
    "OutlineEntry",
    "Pace",
    "PageImage",
    "PageRenderer",
    "ParsedFile",
    "Parser",
    "PassageStore",
    "Position",
    "Reindex",
    "Store",
    "StoreHealth",
    "Tag",
    "Topic",
    "Unset",
    "Untag",
    "Vector",
    "VectorIndex",
]
