"""Whose originals a folder holds. A database takes files that it does not know for left-overs and deletes them in the
end: it must never look at another one's.
"""

import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path

from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.errors import StartupError, opening

_MARK = "owner"  # no key is a bare name


async def claim_folder(root: Path, owner: str, held_keys: Callable[[], Awaitable[set[str]]]) -> Path:
    """Mark a folder as this database's. The mark.

    Args:
        root: the folder; made when it is missing.
        owner: the same in every process on one database, and in no other.
        held_keys: the keys that the database knows; asked only where originals lie in a folder without a mark, as
            versions before 0.3.0 left it.

    Raises:
        StartupError: it holds another database's originals, or cannot be used; nothing was changed.
    """
    mark = root / _MARK
    if not mark.exists():
        listing = LocalBlobStore(root).keys()
        found = {key async for key, _ in listing if is_own_key(key)}
        if found and found.isdisjoint(await held_keys()):
            raise _of_another(root)
        with _opening(root):
            _write_once(mark, owner)
    with _opening(root):
        found_owner = mark.read_text("utf-8", "replace").strip()
    if found_owner != owner:
        raise _of_another(root)
    return mark


def refuse_lost_database(database: Path, root: Path) -> None:
    """Make no new database beside the originals of one that is not there.

    Raises:
        StartupError: the file is missing or empty, and the folder is marked as a database's.
    """
    with opening(f"The database file {database}"):
        lost = not database.exists() or not database.stat().st_size
    if lost and (root / _MARK).exists():
        raise StartupError(
            f"The database file {database} is missing or empty, and {root} holds the originals of its documents. "
            "Nothing was changed. Mount the right disk, or restore a backup into an empty folder; to begin anew, move "
            "that folder away and ingest its files again."
        )


def _opening(root: Path) -> AbstractContextManager[None]:
    return opening(f"The folder of the originals {root} (STORAGE_PATH)")


def _write_once(mark: Path, owner: str) -> None:
    """Unless another process is quicker. Whoever reads it finds it whole."""
    mark.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=mark.parent, encoding="utf-8") as file:
        file.write(f"{owner}\n")
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(file.name, mark)
        except FileExistsError:
            return


def _of_another(root: Path) -> StartupError:
    return StartupError(
        f"The folder {root} (STORAGE_PATH) holds the originals of another database. Nothing was changed. "
        "Set it to a folder of its own. If that database is lost, move the folder away and ingest its files again."
    )
