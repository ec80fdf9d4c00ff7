"""Reading a backup: unpacked into a folder of its own, and compared, before anything is put in place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from mcp_knowledge.adapters.backup import layout
from mcp_knowledge.adapters.backup.layout import Manifest, manifest_from
from mcp_knowledge.adapters.backup.tar_files import Advance, TarReader, copy_to
from mcp_knowledge.adapters.sqlite.migrate import migrations
from mcp_knowledge.adapters.sqlite.snapshot import examine_copy
from mcp_knowledge.errors import StartupError

_NEXT_STEP = "Nothing was restored. Use another backup."


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a backup held.

    Args:
        database: the file.
        originals: the files by key.
        missing: keys of originals that were not there when the backup was made.
        damaged: those that were damaged already.
    """

    manifest: Manifest
    database: Path
    originals: Mapping[str, Path]
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def unpack(file: BinaryIO, database: Path, originals: Path, advance: Advance) -> Unpacked:
    """Unpack a backup whole, and compare it with what it says of itself.

    Args:
        file: a regular file, at its beginning.
        database: where the database belongs; its folder is there, and nothing in it.
        originals: a folder that gets the originals under their keys.

    Raises:
        StartupError: it is no backup, a damaged or a newer one, or holds something that does not belong into one.
        OSError: the disk is full or broken.
    """
    reader = TarReader(file, advance)
    sums = dict[str, str]()
    manifest = _manifest(reader, sums, database.parent)
    _expect(reader.next(), layout.DATABASE, manifest.database.size_bytes)
    sums[layout.DATABASE] = copy_to(database, reader.read(manifest.database.size_bytes))
    paths, listed = _originals(reader, manifest, originals, sums)
    if reader.next() is not None:
        raise StartupError(f"This backup is damaged: something follows its {layout.SUMS}.")
    if listed != layout.sums_to_bytes(sums) or sums[layout.DATABASE] != manifest.database.sha256:
        raise StartupError(
            "This backup is damaged: what is in it is not what was put into it (the SHA-256 of a file differs)."
        )
    examine_copy(database, manifest.schema, _NEXT_STEP)
    return Unpacked(
        manifest,
        database,
        paths,
        missing=[item.name for item in manifest.originals if item.name not in paths],
        damaged=[item.name for item in manifest.originals if sums.get(item.name, item.sha256) != item.sha256],
    )


def _manifest(reader: TarReader, sums: dict[str, str], folder: Path) -> Manifest:
    first = reader.next()
    if first is None or first[0] != layout.MANIFEST:
        raise StartupError(f"This is not a backup of MCP Knowledge: it does not begin with {layout.MANIFEST}.")
    path = folder / layout.MANIFEST
    try:
        sums[layout.MANIFEST] = copy_to(path, reader.read(_bounded(first[1])))
        return manifest_from(path.read_bytes(), migrations()[-1].number)
    finally:
        path.unlink(missing_ok=True)


def _originals(
    reader: TarReader, manifest: Manifest, folder: Path, sums: dict[str, str]
) -> tuple[dict[str, Path], bytes]:
    """Unpack the originals; where they are, and the sums that follow them."""
    known = {item.name for item in manifest.originals}
    paths = dict[str, Path]()
    while (member := reader.next()) is not None:
        name, size_bytes = member
        if name == layout.SUMS:
            return paths, b"".join(reader.read(_bounded(size_bytes)))
        if name in paths:
            raise StartupError(f"This backup holds a file twice ({name!a:.80}).")
        if name not in known:
            raise StartupError(f"This backup holds a file that it does not name ({name!a:.80}).")
        paths[name] = folder / name  # one of our own keys: it leads out of no folder
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        sums[name] = copy_to(paths[name], reader.read(size_bytes))
    raise StartupError(f"This backup is damaged: it ends without its {layout.SUMS}.")


def _expect(member: tuple[str, int] | None, name: str, size_bytes: int) -> None:
    if member != (name, size_bytes):
        raise StartupError(f"This backup is damaged: {name} of {size_bytes:,} bytes does not follow its manifest.")


def _bounded(size_bytes: int) -> int:
    if size_bytes > layout.MAX_LIST_BYTES:
        raise StartupError("This backup names more files than this version can restore.")
    return size_bytes
