"""Following queued work until it is done."""

import asyncio

from rich.progress import Progress, TaskID

from mcp_knowledge.domain.documents import ArchiveEntry, ArchiveImport
from mcp_knowledge.interfaces.cli.report import ArchiveOutcome, IngestReport, Skipped
from mcp_knowledge.services import Services

_POLL_S = 0.1
_UNFINISHED = ("pending", "processing")
_LOOKED_AT = 256  # documents are worked on in the order of their ids, about: no need to ask for 10,000 every time


class Watch:
    """Follows queued documents and archives until each is done, moving a progress bar. `archives`: paths by id."""

    def __init__(self, services: Services, report: IngestReport, bar: Progress, task: TaskID) -> None:
        self._services = services
        self._report = report
        self._bar = bar
        self.task = task
        self.pending: set[str] = set()
        self.archives: dict[str, str] = {}

    async def settle(self, until: int) -> None:
        """Wait until no more than `until` documents are unfinished, for 0 also until every archive is imported."""
        while True:
            await self._collect_archives()
            await self._collect()
            if len(self.pending) <= until and not (until == 0 and self.archives):
                return
            await asyncio.sleep(_POLL_S)

    async def note_duplicates(self, document_ids: list[str]) -> None:
        """Note files whose bytes are there already; as failed where their document has failed."""
        found = await self._services.library.get_documents(document_ids)
        for document_id in document_ids:
            document = found.get(document_id)
            if document is not None and document.status == "failed":
                self._report.failed.append(document)
            else:
                self._report.duplicates.append(document_id)

    async def leave(self) -> None:
        """Note what is still in the queue."""
        self._report.waiting.extend(sorted(self.pending))
        for archive_id, path in self.archives.items():
            self._report.archives.append(ArchiveOutcome(path, await self._services.archives.get(archive_id)))

    async def _collect_archives(self) -> None:
        for archive_id, path in list(self.archives.items()):
            item = await self._services.archives.get(archive_id)
            if item.ended:
                del self.archives[archive_id]
                await self._take_over(path, item)

    async def _take_over(self, path: str, item: ArchiveImport) -> None:
        """Report what became of an archive's files, and follow the documents that came of them."""
        self._report.archives.append(ArchiveOutcome(path, item))
        entries = (await self._services.archives.entries([item.id]))[item.id]
        documents = {entry.document_id for entry in entries if entry.outcome == "extracted" and entry.document_id}
        await self.note_duplicates(
            [entry.document_id for entry in entries if entry.outcome == "duplicate" and entry.document_id]
        )
        for entry in entries:
            if entry.outcome not in ("extracted", "duplicate"):
                self._report.skipped.append(Skipped(f"{path}/{entry.path}", _reason(entry)))
        self.pending |= documents
        total = self._bar.tasks[self.task].total or 0
        self._bar.update(self.task, advance=1, total=total + len(documents))

    async def _collect(self) -> None:
        oldest = sorted(self.pending)[:_LOOKED_AT]
        found = await self._services.library.get_documents(oldest)
        for document_id in oldest:
            document = found.get(document_id)
            if document is not None and (document.status in _UNFINISHED or document.progress is not None):
                continue
            self.pending.discard(document_id)
            self._bar.advance(self.task)
            if document is None:
                self._report.skipped.append(Skipped(document_id, "deleted meanwhile"))
            elif document.latest_error is not None and await self._has_failed(document_id):
                self._report.failed.append(document)
            else:
                self._report.ready.append(document.id)

    async def _has_failed(self, document_id: str) -> bool:
        """Whether its newest job did; the error that it shows may be of a newer revision, which was not asked for."""
        jobs, _ = await self._services.jobs.list(1, document_id=document_id)
        return not jobs or jobs[0].status == "failed"


def _reason(entry: ArchiveEntry) -> str:
    return entry.error or entry.outcome
