"""`mcp-knowledge migrate-to`: a corpus to another database and storage, without parsing or embedding anything again."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from mcp_knowledge.adapters.backend import Backend, open_backend
from mcp_knowledge.adapters.originals import open_blobs
from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.transfer.postgres_side import PostgresSide
from mcp_knowledge.adapters.transfer.rows import Beginning, Compared, End, RowTransfer
from mcp_knowledge.adapters.transfer.sides import SqliteSide
from mcp_knowledge.errors import StartupError
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.ingest import progress_bar
from mcp_knowledge.interfaces.running_servers import server_lock
from mcp_knowledge.services.cleanup import release_running
from mcp_knowledge.services.moving import Moved, Original, OriginalsMove
from mcp_knowledge.services.presence import Presence
from mcp_knowledge.settings import MIB, Settings

_SHOWN_KEYS = 20
_BEGINNINGS: dict[Beginning, str] = {
    "new": "",
    "resumed": "Went on where it was interrupted.",
    "restarted": "The source had changed since the interruption: began anew.",
}


@dataclass(frozen=True, slots=True)
class MoveReport:
    """How it went.

    Args:
        in_place: the originals stay where they are.
        lost: originals that the source has and the target lacks.
        unchanged: nobody wrote into the source meanwhile.
    """

    beginning: Beginning
    tables: list[Compared]
    originals: Moved
    in_place: bool
    lost: int
    unchanged: bool
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the target holds what the source holds."""
        return self.unchanged and not self.lost and all(table.equal for table in self.tables)

    def to_json(self) -> dict[str, Any]:
        """The JSON shape for scripts."""
        return {
            "ok": self.ok,
            "beginning": self.beginning,
            "sourceUnchanged": self.unchanged,
            "tables": [
                {
                    "table": item.table,
                    "rows": item.source.rows,
                    "rowsInTarget": item.target.rows,
                    "hash": item.source.short,
                    "equal": item.equal,
                }
                for item in self.tables
            ],
            "originals": {
                "files": self.originals.files,
                "sizeBytes": self.originals.size_bytes,
                "inPlace": self.in_place,
                "missingInSource": self.originals.missing,
                "damagedInSource": self.originals.damaged,
                "lost": self.lost,
            },
            "seconds": round(self.seconds, 1),
        }

    def print(self) -> None:
        """The report for a person."""
        table = Table("What", "Rows", "Content hash", "Target", box=box.SIMPLE_HEAD)
        table.columns[1].justify = "right"
        for item in self.tables:
            verdict = "[green]equal[/green]" if item.equal else f"[red]differs ({item.target.rows:,} rows)[/red]"
            table.add_row(item.table, f"{item.source.rows:,}", item.source.short if item.source.total else "", verdict)
        output.out.print(table)
        moved = self.originals
        what = "read and compared where they are" if self.in_place else "copied, read back and compared"
        output.out.print(f"Originals: {moved.files:,} {what}, {moved.size_bytes / MIB:,.1f} MiB.")
        _print_keys("missing in the source", moved.missing)
        _print_keys("damaged in the source", moved.damaged)
        if note := _BEGINNINGS[self.beginning]:
            output.out.print(note)
        if not self.unchanged:
            output.out.print(
                "[red]The source changed meanwhile.[/red] Stop what writes there, and run the command again."
            )
        elif not self.ok:
            output.out.print("[red]The target is not like the source.[/red] Run the command again.")
        else:
            output.out.print(f"Moved and compared in {self.seconds:,.0f} s. The source is as it was.")


def _print_keys(what: str, keys: list[str]) -> None:
    for key in keys[:_SHOWN_KEYS]:
        output.out.print(f"[yellow]{what}[/yellow]  {escape(key)}")
    if len(keys) > _SHOWN_KEYS:
        output.out.print(f"[yellow]{what}[/yellow]  and {len(keys) - _SHOWN_KEYS:,} more: --json lists them all")


async def move(source: Settings, target: Settings, *, quiet: bool) -> MoveReport:
    """Copy, compare and hand over.

    Raises:
        StartupError: one of the two cannot be used, or is at work.
        KnowledgeError: SERVICE_UNAVAILABLE when one of them goes away; the next run goes on.
    """
    started_s = time.monotonic()
    if source.database_driver != "postgres" and not source.database_path.exists():
        raise StartupError(f"There is no database at {source.database_path}: nothing to move.")
    async with AsyncExitStack() as closing:
        from_ = await closing.enter_async_context(_opened(source))
        into = await closing.enter_async_context(_opened(target))
        in_place = _storage(source) == _storage(target)
        rows = RowTransfer(End(from_.database, _side(source)), End(into.database, _side(target)))
        beginning, held = await rows.look(), await rows.held_keys()
        theirs = await closing.enter_async_context(open_blobs(source, from_.database))
        await rows.share_secret(same_storage=in_place)  # before the target marks its storage with it
        ours = None if in_place else await closing.enter_async_context(open_blobs(target, into.database))
        bar = closing.enter_context(progress_bar(quiet))
        copied, indexed = _task(bar, "Rows", rows.rows), _task(bar, "Full text", rows.chunks)
        settled = _task(bar, "Indexes", 1)
        originals = OriginalsMove(theirs, ours, _task(bar, "Originals", len(held)))
        if beginning == "new":
            await originals.refuse_others(held)
        if beginning != "resumed":
            await rows.begin()
        await rows.copy(copied)
        await rows.index(indexed, settled)
        await rows.originals(lambda page: originals.take([Original(key, sha256.hex()) for key, sha256 in page]))
        tables = await rows.compare(_task(bar, "Comparison", rows.rows))
        lost, unchanged = await originals.missing_in_target(held), await rows.unchanged()
        report = MoveReport(beginning, tables, originals.moved, in_place, lost, unchanged, time.monotonic() - started_s)
        if not report.ok:
            await rows.reject()
            return report
        await rows.finish()
        await release_running(SqlJobQueue(into.database), SqlArchiveStore(into.database))
        return report


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Backend]:
    """A database that nobody serves meanwhile, as far as can be told."""
    async with AsyncExitStack() as closing:
        if settings.database_driver != "postgres":
            closing.enter_context(server_lock(settings.data_dir))
        backend = await closing.enter_async_context(open_backend(settings, lambda: ""))
        if await Presence(backend.locks, "migrate-to").somebody_serves():
            raise StartupError("A server or worker is at work on one of the two databases: stop it first.")
        if not await closing.enter_async_context(backend.locks.held("moving")):
            raise StartupError("Another migrate-to is at work on one of the two databases: wait for its end.")
        yield backend


def _side(settings: Settings) -> PostgresSide | SqliteSide:
    return PostgresSide(settings.embedding_dimensions) if settings.database_driver == "postgres" else SqliteSide()


def _storage(settings: Settings) -> tuple[str, ...]:
    """What tells one storage from another."""
    if settings.storage_driver == "s3":
        return "s3", settings.s3_endpoint, settings.s3_bucket
    return "local", str(settings.blobs_path.resolve())


def _task(bar: Progress, name: str, total: int) -> Callable[[int], None]:
    task = bar.add_task(name, total=total)
    return lambda count: bar.advance(task, count)
