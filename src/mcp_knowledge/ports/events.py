"""Changes that are told, inside a process and between processes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mcp_knowledge.domain.documents import (
    ArchiveImport,
    Document,
    Job,
)
from mcp_knowledge.domain.evaluations import Run
from mcp_knowledge.domain.folder import ScanStatus

Topic = Literal["jobs", "archives", "events"]


@dataclass(frozen=True, slots=True)
class Event:
    """A change that a dashboard may want to show at once. The interfaces give a Document, Job, ArchiveImport,
    ScanStatus or Run (`evaluation`) its JSON shape.

    Ids rise, also over restarts.
    """

    id: str
    kind: Literal["document", "job", "archive", "scan", "evaluation"]
    data: Document | Job | ArchiveImport | ScanStatus | Run | dict[str, Any]


class Broadcast(Protocol):
    """Short messages between the processes that share a database. Any of them may get lost."""

    @property
    def reaches_others(self) -> bool:
        """Whether there may be other processes to tell."""
        ...

    def hear(self, topic: Topic, heard: Callable[[str], None]) -> None:
        """Call `heard` on the event loop, while `run` runs, with what other processes say on a topic. `jobs` and
        `archives`: nothing but that work was queued; `events`: what was given to `send`. Nothing is also said when
        messages may have been lost.
        """
        ...

    def send(self, message: str) -> None:
        """Tell the other processes on the topic `events`, a moment later.

        Args:
            message: up to 200 characters of ASCII without a space; never anybody's text.
        """
        ...

    async def run(self) -> None:
        """Listen until `stop`."""
        ...

    async def stop(self) -> None:
        """End `run`."""
        ...
