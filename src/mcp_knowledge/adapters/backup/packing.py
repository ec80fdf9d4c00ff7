"""Making a backup: the database as it is at one moment, then the originals that it names."""

import asyncio
import hashlib
import os
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from mcp_knowledge.adapters.backup import layout
from mcp_knowledge.adapters.backup.layout import Item, Manifest
from mcp_knowledge.adapters.backup.tar_files import Advance, TarWriter, new_file
from mcp_knowledge.adapters.durable import sync
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.rows.originals import named_originals
from mcp_knowledge.adapters.rows.revisions import blob_keys
from mcp_knowledge.adapters.sqlite.connection import Database as FileDatabase
from mcp_knowledge.adapters.sqlite.snapshot import examine_copy, take_snapshot
from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.domain.documents import NamedOriginal
from mcp_knowledge.errors import KnowledgeError, StartupError
from mcp_knowledge.ports import BlobStore

_AHEAD = 4  # originals that are fetched while one is written; each may be a download
_NEXT_STEP = "Nothing was written. 'mcp-knowledge verify' says more, and what can be repaired."


@dataclass(slots=True)
class Packed:
    """What a backup holds.

    Args:
        missing: keys of originals that were not there.
        damaged: those that are not what was once taken in; they are in the backup as they are.
        deleted: those whose documents were deleted while the backup was made, before their turn came.
    """

    manifest: Manifest
    originals: int = 0
    originals_bytes: int = 0
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)


async def snapshot(source: Path, copy: Path, advance: Advance) -> list[NamedOriginal]:
    """Copy a database to a new file and look through it; the originals that the copy names.

    Raises:
        StartupError: it is damaged.
    """
    take_snapshot(source, copy, advance)
    examine_copy(copy, None, _NEXT_STEP)
    database = FileDatabase(copy)
    await database.open()
    try:
        named = await database.read(named_originals)
    finally:
        await database.close()
    if not all(is_own_key(original.key) for original in named):
        raise StartupError(f"The database is damaged: it names an original that cannot be one of its own. {_NEXT_STEP}")
    return named


async def pack(
    target: Path,
    copy: Path,
    named: Sequence[NamedOriginal],
    blobs: BlobStore,
    database: Database,
    advance: Advance,
    *,
    version: str,
    schema: int,
) -> Packed:
    """Write the backup.

    Args:
        target: a new file.
        copy: of the database.
        named: the originals that it names.
        database: the one at work; asked what became of originals that are not there.
        version: of the product.
        schema: number of the newest migration.

    Raises:
        OSError: there is no room, or the disk is broken.
        KnowledgeError: SERVICE_UNAVAILABLE when the storage does not answer.
    """
    created = datetime.now(UTC)
    manifest = Manifest(
        version,
        created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        schema,
        _database_item(copy),
        [Item(original.key, original.size_bytes, original.sha256) for original in named],
    )
    packed, sums = Packed(manifest), dict[str, str]()
    with new_file(target) as file:
        writer = TarWriter(file, int(created.timestamp()))
        sums[layout.MANIFEST] = writer.add_bytes(layout.MANIFEST, manifest.to_bytes())
        sums[layout.DATABASE] = _add_database(writer, copy, manifest.database.size_bytes, advance)
        if sums[layout.DATABASE] != manifest.database.sha256:
            raise StartupError("The disk of the backup gives back something else than was written to it.")
        lost = await _add_originals(writer, named, blobs, packed, sums, advance)
        await _sort_out(lost, database, packed)
        writer.add_bytes(layout.SUMS, layout.sums_to_bytes(sums))
        await asyncio.to_thread(writer.finish)
    return packed


async def _add_originals(
    writer: TarWriter,
    named: Sequence[NamedOriginal],
    blobs: BlobStore,
    packed: Packed,
    sums: dict[str, str],
    advance: Advance,
) -> list[NamedOriginal]:
    """Write the originals; those that are not there."""
    lost = []
    async with _opened(named, blobs) as following:
        async for original, file in following:
            if file is None:
                lost.append(original)
                advance(original.size_bytes)
                continue
            size_bytes = os.fstat(file.fileno()).st_size
            sha256 = await asyncio.to_thread(writer.add, original.key, file, size_bytes, advance)
            sums[original.key] = sha256
            packed.originals += 1
            packed.originals_bytes += size_bytes
            if sha256 != original.sha256:
                packed.damaged.append(original.key)
    return lost


async def _sort_out(lost: Sequence[NamedOriginal], database: Database, packed: Packed) -> None:
    """Tell originals that were lost from those of documents that were deleted meanwhile."""
    held = await database.read(blob_keys) if lost else set()
    for original in lost:
        if original.is_going:
            continue  # nobody will miss it
        (packed.missing if original.key in held else packed.deleted).append(original.key)


@asynccontextmanager
async def _opened(
    named: Sequence[NamedOriginal], blobs: BlobStore
) -> AsyncIterator[AsyncIterator[tuple[NamedOriginal, BinaryIO | None]]]:
    """The originals, opened, in their order; some are fetched ahead. None for one that is not there."""
    left, ahead = iter(named), deque[tuple[NamedOriginal, asyncio.Task[tuple[AsyncExitStack, BinaryIO | None]]]]()

    def fetch(count: int) -> None:
        ahead.extend((item, asyncio.create_task(_open(blobs, item.key))) for item in islice(left, count))

    async def following() -> AsyncIterator[tuple[NamedOriginal, BinaryIO | None]]:
        fetch(_AHEAD)
        while ahead:
            closing, file = await ahead[0][1]
            original, _ = ahead.popleft()
            fetch(1)
            async with closing:
                yield original, file

    try:
        yield following()
    finally:
        for _, task in ahead:
            task.cancel()
        for result in await asyncio.gather(*(task for _, task in ahead), return_exceptions=True):
            if isinstance(result, tuple):
                await result[0].aclose()


async def _open(blobs: BlobStore, key: str) -> tuple[AsyncExitStack, BinaryIO | None]:
    async with AsyncExitStack() as closing:
        try:
            path = await closing.enter_async_context(blobs.local_copy(key))
            file = closing.enter_context(await asyncio.to_thread(path.open, "rb"))
        except OSError:  # gone meanwhile, or not for this user to read
            return closing.pop_all(), None
        except KnowledgeError as error:
            if error.code != "DOCUMENT_CONTENT_UNAVAILABLE":
                raise
            return closing.pop_all(), None
        return closing.pop_all(), file
    raise AssertionError("an exit stack swallows nothing")


def _database_item(copy: Path) -> Item:
    with copy.open("rb") as file:
        return Item(layout.DATABASE, copy.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _add_database(writer: TarWriter, copy: Path, size_bytes: int, advance: Advance) -> str:
    with copy.open("rb") as file:
        return writer.add(layout.DATABASE, file, size_bytes, advance)


def publish(made: Path, target: Path, *, replace: bool) -> None:
    """Give a finished backup its name, durably and in one step. One that is there stays unless `replace`.

    Raises:
        FileExistsError: there is one.
        OSError: the folder cannot be written.
    """
    if replace:
        made.replace(target)
    else:
        _link(made, target)
    sync(target.parent)


def _link(made: Path, target: Path) -> None:
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError(target) from None
        made.rename(target)
