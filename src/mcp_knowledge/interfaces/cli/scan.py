"""`scan`: look through the folder of INGEST_DATA_DIR now, and name every file that was passed over."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from rich.markup import escape
from rich.progress import Progress, TaskID

from mcp_knowledge.domain.folder import FolderFile, ScanStatus
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.ingest import progress_bar, with_worker
from mcp_knowledge.services import Services

_POLL_S = 0.2
_PAGE = 500


@dataclass(frozen=True, slots=True)
class ScanReport:
    """How the scan went.

    Args:
        skipped: every file that was passed over or failed, documents that could not be read included.
        waiting: work that a server has still to do.
    """

    status: ScanStatus
    skipped: list[FolderFile]
    waiting: int

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return self.status.state == "completed" and all(file.outcome != "failed" for file in self.skipped)

    def to_json(self) -> dict[str, Any]:
        """The JSON shape for scripts."""
        return wire.scan_status(self.status, self.skipped) | {"waiting": self.waiting}

    def print(self) -> None:
        """The report for a person."""
        status, counts = self.status, self.status.counts
        if status.error:
            output.out.print(f"[red]The scan failed.[/red] {escape(status.error)}")
            return
        for file in self.skipped:
            shown = wire.scan_file(file)
            path = escape(_on_one_line(file.path))
            output.out.print(f"[yellow]{file.outcome}[/yellow] {path}: {escape(shown['reason'])}")
        output.out.print(
            f"{counts.discovered} files: {counts.queued} new or changed, {counts.unchanged} unchanged, "
            f"{counts.duplicates} duplicates, {counts.unsupported} unsupported, {counts.oversized} too large, "
            f"{counts.failed} not taken in."
        )
        if status.removed:
            output.out.print(f"{status.removed} documents were removed because their files are gone.")
        if status.held_back_reason:
            output.out.print(f"[yellow]{escape(status.held_back_reason)}[/yellow]")
        if status.limit_reached:
            output.out.print("There are more files: run 'mcp-knowledge scan' again to go on.")
        if self.waiting:
            output.out.print("The running server is at work on them.")


async def scan_folder(services: Services, *, force: bool, quiet: bool) -> ScanReport:
    """Scan, and see the work through; a running server does it otherwise.

    Args:
        force: remove documents whose files are gone, however many they are.
        quiet: no progress bar.
    """
    serving = await services.presence.somebody_works()
    with progress_bar(quiet) as bar:
        task = bar.add_task("Scanning", total=None)

        async def scan() -> ScanStatus:
            following = asyncio.create_task(_follow(services, bar, task))
            try:
                ended = await services.folders.scan(force)
                if not serving:
                    await _until_done(services)
            finally:
                following.cancel()
            return ended

        work = asyncio.create_task(scan())
        await with_worker(services, work, run_worker=not serving)
    waiting = await services.folders.waiting_work()
    status = replace(work.result(), passed_over=(await services.folders.status()).passed_over)
    return ScanReport(status, await _all_skipped(services), waiting)


async def _until_done(services: Services) -> None:
    while True:
        if not await services.folders.waiting_work():
            return
        await asyncio.sleep(_POLL_S)


async def _follow(services: Services, bar: Progress, task: TaskID) -> None:
    while True:
        counts = (await services.folders.status()).counts
        bar.update(task, completed=counts.examined, total=counts.discovered or None)
        await asyncio.sleep(_POLL_S)


async def _all_skipped(services: Services) -> list[FolderFile]:
    found: list[FolderFile] = []
    after: str | None = None
    while True:
        items, after = await services.folders.files(_PAGE, after)
        found += items
        if after is None:
            return found


def _on_one_line(path: str) -> str:
    """A path whose control characters cannot disturb a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in path)
