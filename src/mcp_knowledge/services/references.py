"""Events that are told by what they are about, and looked up where somebody wants to see them."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mcp_knowledge.domain.documents import ArchiveImport, Document, Job
from mcp_knowledge.domain.evaluations import Run
from mcp_knowledge.domain.folder import ScanStatus
from mcp_knowledge.ports import Event

EventKind = Literal["document", "job", "archive", "scan", "evaluation"]
Data = Document | Job | ArchiveImport | ScanStatus | Run | dict[str, Any]

_PURGED = "purged"  # the subject of the event that every document is gone
_NO_SUBJECT = "-"
_KINDS: dict[str, EventKind] = {kind: kind for kind in get_args(EventKind)}
_MESSAGE = re.compile(r"([a-z]{1,16}):([a-z]{3}_[0-9a-f]{32}|purged|-):(evt_[0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class Reference:
    """An event without its data.

    Args:
        id: the event's.
        subject: id of the document, job, archive or run; `-` for the scan, of which there is one.
    """

    id: str
    kind: EventKind
    subject: str

    @classmethod
    def to(cls, event: Event) -> "Reference":
        """The reference to an event of this process."""
        data = event.data
        if isinstance(data, ScanStatus):
            subject = _NO_SUBJECT
        elif isinstance(data, dict):
            subject = str(data.get("id", _PURGED))
        else:
            subject = data.id
        return cls(event.id, event.kind, subject)

    def message(self) -> str:
        """As processes tell it."""
        return f"{self.kind}:{self.subject}:{self.id}"


def reference_in(message: str) -> Reference | None:
    """What another process has told; None for anything else."""
    parts = _MESSAGE.fullmatch(message)
    kind = _KINDS.get(parts[1]) if parts else None
    return Reference(parts[3], kind, parts[2]) if parts and kind else None


LookUp = Callable[[Sequence[Reference]], Awaitable[dict[str, Event]]]  # events by their ids


class ReferenceReader:
    """Reads what references point at, as it is now.

    Args:
        documents, jobs, archives, runs: those that exist among some ids.
        scan: how the scan of the folder stands.
    """

    def __init__(
        self,
        documents: Callable[[Iterable[str]], Awaitable[Mapping[str, Document]]],
        jobs: Callable[[Iterable[str]], Awaitable[Mapping[str, Job]]],
        archives: Callable[[Iterable[str]], Awaitable[Mapping[str, ArchiveImport]]],
        runs: Callable[[Iterable[str]], Awaitable[Mapping[str, Run]]],
        scan: Callable[[], Awaitable[ScanStatus]],
    ) -> None:
        self._documents, self._jobs, self._archives, self._runs = documents, jobs, archives, runs
        self._scan = scan

    async def __call__(self, references: Sequence[Reference]) -> dict[str, Event]:
        """Events by their ids. Of several references to one thing the last one gives an event; jobs, archives and
        runs that are gone give none.
        """
        newest = {(item.kind, item.subject): item for item in references}
        documents, jobs, archives, runs = await asyncio.gather(
            self._documents(_subjects(newest, "document")),
            self._jobs(_subjects(newest, "job")),
            self._archives(_subjects(newest, "archive")),
            self._runs(_subjects(newest, "evaluation")),
        )
        found: dict[str, Event] = {}
        for item in newest.values():
            data: Data | None
            if item.kind == "document":
                data = documents.get(item.subject) or _gone(item.subject)
            elif item.kind == "scan":
                data = await self._scan()
            elif item.kind == "evaluation":
                data = runs.get(item.subject)
            else:
                data = (jobs if item.kind == "job" else archives).get(item.subject)
            if data is not None:
                found[item.id] = Event(item.id, item.kind, data)
        return found


def _subjects(references: Iterable[tuple[EventKind, str]], kind: EventKind) -> list[str]:
    return [subject for its_kind, subject in references if its_kind == kind and subject != _PURGED]


def _gone(subject: str) -> dict[str, Any]:
    return {"purged": True} if subject == _PURGED else {"id": subject, "status": "deleted"}
