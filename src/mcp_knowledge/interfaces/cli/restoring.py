"""`mcp-knowledge restore`: the data directory from a backup."""

import asyncio
import hashlib
import shutil
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rich.markup import escape

from mcp_knowledge.adapters.backup.placing import Target
from mcp_knowledge.adapters.backup.tar_files import Advance
from mcp_knowledge.adapters.backup.unpacking import Unpacked, unpack
from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.originals import open_blobs
from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.originals import named_originals
from mcp_knowledge.adapters.sqlite.connection import Database as FileDatabase
from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.errors import StartupError
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.backing_up import ON_A_SERVER, print_keys
from mcp_knowledge.interfaces.cli.byte_progress import byte_progress
from mcp_knowledge.ports import BlobStore
from mcp_knowledge.services.cleanup import release_running
from mcp_knowledge.services.moving import Original, OriginalsMove
from mcp_knowledge.settings import MIB, Settings

_UNPACKED = "unpacked"  # folder of originals on their way to another storage
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What was restored."""

    data_dir: Path
    originals_address: str
    unpacked: Unpacked
    missing: list[str]
    documents: dict[str, int]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the backup had all originals as they once were taken in."""
        return not self.missing and not self.unpacked.damaged

    def to_json(self) -> dict[str, Any]:
        """For a script."""
        manifest = self.unpacked.manifest
        return {
            "ok": self.ok,
            "dataDir": str(self.data_dir),
            "originalsIn": self.originals_address,
            "createdAt": manifest.created_at,
            "productVersion": manifest.product_version,
            "schema": manifest.schema,
            "documents": self.documents,
            "originals": {"count": len(self.unpacked.originals)},
            "missing": self.missing,
            "damaged": self.unpacked.damaged,
            "seconds": round(self.seconds, 2),
        }

    def print(self) -> None:
        """For a person."""
        manifest = self.unpacked.manifest
        print_keys("missing", self.missing)
        print_keys("damaged", self.unpacked.damaged)
        if not self.ok:
            output.out.print("[yellow]These originals were missing or damaged when the backup was made.[/yellow]")
        states = ", ".join(f"{count:,} {status}" for status, count in self.documents.items() if count) or "none"
        output.out.print(
            f"Restored the backup of {manifest.created_at} (version {escape(manifest.product_version)}) to "
            f"{escape(str(self.data_dir))}\n"
            f"Documents  {states}\n"
            f"Originals  {len(self.unpacked.originals):,}, in {escape(self.originals_address)}\n"
            f"Database   {manifest.database.size_bytes / MIB:,.1f} MiB, checked; {self.seconds:,.1f} s in all"
        )


def restore_from(settings: Settings, file: Path, *, quiet: bool) -> RestoreReport:
    """Restore a backup, all of it or nothing.

    Raises:
        StartupError: it is no backup or a damaged one, or the target is not empty.
        KnowledgeError: SERVICE_UNAVAILABLE when the storage does not answer.
    """
    if settings.database_driver == "postgres":
        raise StartupError(ON_A_SERVER.format(what="restore it", tool="pg_restore"))
    if not file.is_file():
        raise StartupError(f"There is no file {file}." if not file.exists() else f"{file} is no file.")
    started_s = time.monotonic()
    target = Target(settings)
    if not target.keeps_originals:
        _refuse_strangers(settings)
    try:
        with file.open("rb") as backup, target.working_folder() as folder:
            unpacked, missing, documents = _restore(target, folder, backup, quiet=quiet)
    except OSError as error:
        raise StartupError(f"The backup cannot be restored: {error.strerror}. Nothing was restored.") from error
    return RestoreReport(
        target.folder, settings.originals_address, unpacked, missing, documents, time.monotonic() - started_s
    )


def _restore(
    target: Target, folder: Path, backup: BinaryIO, *, quiet: bool
) -> tuple[Unpacked, list[str], dict[str, int]]:
    settings = target.settings_in(folder)
    size_bytes = Path(backup.name).stat().st_size
    _check_room(folder, size_bytes)
    originals = settings.blobs_path if target.keeps_originals else folder / _UNPACKED
    for needed in (originals, settings.database_path.parent):
        needed.mkdir(parents=True, exist_ok=True)
    with byte_progress("Restoring", quiet=quiet) as bar:
        bar.expect(size_bytes)
        unpacked = unpack(backup, settings.database_path, originals, bar.advance)
        if not target.keeps_originals:
            bar.expect(sum(path.stat().st_size for path in unpacked.originals.values()))
        missing, documents = asyncio.run(_settle(settings, unpacked, originals, bar.advance))
    for name in (_UNPACKED, "uploads"):  # of this command alone
        shutil.rmtree(folder / name, ignore_errors=True)
    target.fill(folder)
    return unpacked, missing, documents


def _check_room(folder: Path, size_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size_bytes:
        raise StartupError(
            f"There is not enough room on the disk of {folder.parent}: "
            f"{size_bytes / MIB:,.0f} MiB are needed, {free / MIB:,.0f} MiB are free."
        )


async def _settle(
    settings: Settings, unpacked: Unpacked, unpacked_in: Path, advance: Advance
) -> tuple[list[str], dict[str, int]]:
    """Bring the database to this version, compare it with the manifest, hand back what ran, and send the originals to
    their storage; which of them are missing, and how many documents there are by state.
    """
    async with AsyncExitStack() as closing:
        database = FileDatabase(unpacked.database)
        await database.open()
        closing.push_async_callback(database.close)
        named = await database.read(named_originals)
        listed = {(item.name, item.size_bytes, item.sha256) for item in unpacked.manifest.originals}
        if listed != {(item.key, item.size_bytes, item.sha256) for item in named}:
            raise StartupError("This backup is damaged: its database names other originals than its manifest.")
        going = {item.key for item in named if item.is_going}
        blobs = await closing.enter_async_context(open_blobs(settings, database))
        if settings.blobs_path != unpacked_in or settings.storage_driver != "local":
            await _send(unpacked, LocalBlobStore(unpacked_in), blobs, advance)
        await release_running(SqlJobQueue(database), SqlArchiveStore(database))
        return [key for key in unpacked.missing if key not in going], await _documents(database)


async def _documents(database: Database) -> dict[str, int]:
    sql = "SELECT status, count(*) FROM documents WHERE status <> 'deleted' GROUP BY status ORDER BY status"
    return dict(await database.read(lambda connection: list(connection.execute(sql))))


async def _send(unpacked: Unpacked, source: LocalBlobStore, target: BlobStore, advance: Advance) -> None:
    """Copy the originals to a storage outside of the data directory. A mark says that a restore of this backup has
    begun there, so that an interrupted one can be run again.
    """
    mark = _mark_of(unpacked)
    listing = target.keys()
    present = {key async for key, _ in listing}
    if any(is_own_key(key) for key in present) and mark not in present:
        raise StartupError("The storage holds originals already. Nothing was changed. Use an empty folder or bucket.")
    path = await asyncio.to_thread(target.upload_dir) / mark.replace("/", "-")
    await asyncio.to_thread(path.write_bytes, b"A restore is under way.\n")
    await target.put_file(mark, path)
    move = OriginalsMove(source, target, lambda count: None)
    items = [item for item in unpacked.manifest.originals if item.name in unpacked.originals]
    for at in range(0, len(items), _AT_ONCE):
        some = items[at : at + _AT_ONCE]
        await move.take([Original(item.name, item.sha256) for item in some])
        advance(sum(item.size_bytes for item in some))
    await target.delete(mark)


def _mark_of(unpacked: Unpacked) -> str:
    return f"archives/restoring-{hashlib.sha256(unpacked.manifest.to_bytes()).hexdigest()[:32]}"


def _refuse_strangers(settings: Settings) -> None:
    """A folder of originals outside of the data directory: empty, or left by an interrupted restore."""
    if settings.storage_driver != "local" or not settings.blobs_path.exists():
        return
    if not settings.blobs_path.is_dir():
        raise StartupError(f"{settings.blobs_path} (STORAGE_PATH) is no folder.")
    began = any((settings.blobs_path / "archives").glob("restoring-*"))
    others = [entry for entry in settings.blobs_path.iterdir() if entry.name != "owner" and _any_file(entry)]
    if others and not began:
        raise StartupError(
            f"The folder {settings.blobs_path} (STORAGE_PATH) is not empty. Nothing was changed. Use an empty one."
        )


def _any_file(path: Path) -> bool:
    """Whether something is, or lies somewhere below, a path."""
    return not path.is_dir() or any(not found.is_dir() for found in path.rglob("*"))
