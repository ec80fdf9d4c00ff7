"""`mcp-knowledge backup`: the database and its originals into one file."""

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape

from mcp_knowledge import __version__
from mcp_knowledge.adapters.backend import open_backend
from mcp_knowledge.adapters.backup.packing import Packed, pack, publish, snapshot
from mcp_knowledge.adapters.backup.workspace import workspace
from mcp_knowledge.adapters.originals import BACKUP, open_blobs
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.transfer.state import refuse_unfinished
from mcp_knowledge.errors import KnowledgeError, StartupError
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.byte_progress import byte_progress
from mcp_knowledge.ports import BlobStore, Locks
from mcp_knowledge.services.cleanup import remove_orphan_blobs
from mcp_knowledge.settings import MIB, Settings

_SHOWN_KEYS = 20
ON_A_SERVER = (
    "This database is on a PostgreSQL server: {what} with {tool}, and the originals beside it. "
    "The chapter 'PostgreSQL' of docs/backup.md says how."
)


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What is in a backup that was made."""

    file: Path
    size_bytes: int
    packed: Packed
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether all originals are in it as they once were taken in."""
        return not self.packed.missing and not self.packed.damaged

    def to_json(self) -> dict[str, Any]:
        """For a script."""
        packed, manifest = self.packed, self.packed.manifest
        return {
            "ok": self.ok,
            "file": str(self.file),
            "sizeBytes": self.size_bytes,
            "createdAt": manifest.created_at,
            "schema": manifest.schema,
            "database": {"sizeBytes": manifest.database.size_bytes, "sha256": manifest.database.sha256},
            "originals": {"count": packed.originals, "sizeBytes": packed.originals_bytes},
            "missing": packed.missing,
            "damaged": packed.damaged,
            "deletedMeanwhile": packed.deleted,
            "seconds": round(self.seconds, 2),
        }

    def print(self) -> None:
        """For a person."""
        packed = self.packed
        print_keys("missing", packed.missing)
        print_keys("damaged", packed.damaged)
        if not self.ok:
            output.out.print(
                "[yellow]The backup is made, but these originals were missing or damaged before.[/yellow] "
                "Upload their documents again, or take them from an older backup."
            )
        if packed.deleted:
            output.out.print(f"{len(packed.deleted):,} documents were deleted while the backup was made.")
        speed = self.size_bytes / MIB / max(self.seconds, 0.001)
        output.out.print(
            f"{escape(str(self.file))}: database {packed.manifest.database.size_bytes / MIB:,.1f} MiB, "
            f"{packed.originals:,} originals {packed.originals_bytes / MIB:,.1f} MiB, "
            f"in {self.seconds:,.1f} s ({speed:,.0f} MiB/s)."
        )


def print_keys(what: str, keys: list[str]) -> None:
    """Some keys of originals, a line each."""
    for key in keys[:_SHOWN_KEYS]:
        output.out.print(f"[yellow]{what}[/yellow]  {escape(key)}")
    if len(keys) > _SHOWN_KEYS:
        output.out.print(f"[yellow]{what}[/yellow]  and {len(keys) - _SHOWN_KEYS:,} more: --json lists them all")


async def back_up(settings: Settings, file: Path, *, force: bool, quiet: bool) -> BackupReport:
    """Make a backup and give it its name.

    Args:
        file: an absolute path.

    Raises:
        StartupError: there is nothing to back up, the file cannot be made, or the database is damaged.
        KnowledgeError: SERVICE_UNAVAILABLE when the storage does not answer, or the disk is full.
    """
    _check(settings, file, force)
    started_s = time.monotonic()
    try:
        with workspace(file.parent, file.name, "backup") as folder:
            packed = await _make(settings, folder, quiet=quiet)
            size_bytes = (folder / "backup.tar").stat().st_size
            publish(folder / "backup.tar", file, replace=force)
    except FileExistsError:
        raise _exists(file) from None
    except OSError as error:
        raise StartupError(f"The backup {file} cannot be written: {error.strerror}. Nothing was left of it.") from error
    return BackupReport(file, size_bytes, packed, time.monotonic() - started_s)


def _check(settings: Settings, file: Path, force: bool) -> None:
    if settings.database_driver == "postgres":
        raise StartupError(ON_A_SERVER.format(what="back it up", tool="pg_dump"))
    if file.name == "-":
        raise StartupError("A backup is written to a file, not to standard output: name one.")
    if not settings.database_path.exists():
        raise StartupError(f"There is no database at {settings.database_path}: nothing to back up.")
    if not file.parent.is_dir():
        raise StartupError(f"There is no folder {file.parent}: make it first.")
    if file.is_symlink() or file.exists():
        if not file.is_file():
            raise StartupError(f"{file} is no file: name one.")
        if not force:
            raise _exists(file)


def _exists(file: Path) -> StartupError:
    return StartupError(f"{file} is there already, and stays as it is. Name another file, or use --force.")


async def _make(settings: Settings, folder: Path, *, quiet: bool) -> Packed:
    async with AsyncExitStack() as closing:
        backend = await closing.enter_async_context(open_backend(settings, lambda: ""))
        await refuse_unfinished(backend.database)
        blobs = await closing.enter_async_context(open_blobs(settings, backend.database))
        closing.push_async_callback(_remove_left, backend.database, blobs)
        await closing.enter_async_context(_originals_stay(backend.locks))
        bar = closing.enter_context(byte_progress("Backup", quiet=quiet))
        bar.expect(await backend.database.size_bytes())
        named = await snapshot(settings.database_path, folder / "app.db", bar.advance)
        bar.expect((folder / "app.db").stat().st_size + sum(original.size_bytes for original in named))
        return await pack(
            folder / "backup.tar",
            folder / "app.db",
            named,
            blobs,
            backend.database,
            bar.advance,
            version=__version__,
            schema=backend.database.migration,
        )


async def _remove_left(database: Database, blobs: BlobStore) -> None:
    """Remove what was deleted while the backup was made. Where it fails, the sweep of a server does it."""
    with suppress(KnowledgeError, OSError):
        await remove_orphan_blobs(SqlStore(database), blobs)


@asynccontextmanager
async def _originals_stay(locks: Locks) -> AsyncIterator[None]:
    """Let no process delete an original while the block runs. It is held before the database is copied: whatever was
    deleted earlier, the copy knows of.
    """
    name = f"{BACKUP}/{secrets.token_hex(8)}"
    await locks.keep(name)
    while name in await locks.free([name]):  # who asks for a lock holds it for an instant, and was in the way
        await locks.keep(name)
    try:
        yield
    finally:
        await locks.drop(name)
