"""Files that are gone from the scanned folder: what is forgotten, what moves, and which documents are removed."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.domain.filenames import safe_name
from mcp_knowledge.domain.folder import FolderFile
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import FolderStore
from mcp_knowledge.services.folder_files import is_gone
from mcp_knowledge.services.folder_walk import Walk
from mcp_knowledge.services.library import Library

MOST_REMOVED_PERCENT = 10
_PAGE = 1000
_MOST_TWINS = 100


@dataclass(frozen=True, slots=True)
class Pruned:
    """Documents that were removed, and those that were not, with the reason."""

    removed: int = 0
    held_back: int = 0
    reason: str | None = None


async def find_gone(folder: FolderStore, root: Path, found: Walk) -> list[FolderFile]:
    """Known files that are not there, and what is passed over no more, such as a folder that can be read again."""
    met = {item.path for item in found.files} | set(found.skipped)
    unread = ["/".join(segments) for segments in found.unread]
    gone: list[FolderFile] = []
    after_path: str | None = None
    while page := await folder.page(_PAGE, after_path):
        after_path = page[-1].path
        missing = [file for file in page if file.path not in met and not _is_below(file.path, unread)]
        gone += await asyncio.to_thread(_gone_of, missing, root, found)
    return gone


def _gone_of(missing: Sequence[FolderFile], root: Path, found: Walk) -> list[FolderFile]:
    return [
        file for file in missing if (file.outcome == "skipped" and found.passed(file.path)) or is_gone(root, file.path)
    ]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(not folder or path.startswith(f"{folder}/") for folder in folders)


async def settle_gone(
    folder: FolderStore, root: Path, gone: Sequence[FolderFile], changed: Callable[[Document], None]
) -> list[FolderFile]:
    """Forget files that gave no document of their own; hand a document whose bytes another file has to that file.

    Returns:
        The files whose documents or archives are left without a file.
    """
    paths = {file.path for file in gone}
    await folder.forget([file.path for file in gone if file.outcome not in ("document", "archive", "deleted")])
    orphaned = []
    for file in gone:
        if file.outcome not in ("document", "archive"):
            continue
        twin = await _twin_of(folder, file, paths) if file.outcome == "document" else None
        if twin is None:
            orphaned.append(file)
            continue
        heir = replace(twin, outcome="document", reason=None, document_id=file.document_id)
        document = await folder.move(file, heir, safe_name(twin.path.rpartition("/")[2]))
        if document is not None:
            changed(document)
    return orphaned


async def _twin_of(folder: FolderStore, file: FolderFile, gone: set[str]) -> FolderFile | None:
    twins = await folder.same_bytes(file.sha256 or "", _MOST_TWINS)
    return next((item for item in twins if item.outcome == "duplicate" and item.path not in gone), None)


async def remove_orphaned(
    folder: FolderStore, library: Library, orphaned: Sequence[FolderFile], *, folder_is_empty: bool, force: bool
) -> Pruned:
    """Delete the documents whose files are gone, unless that looks like an accident.

    Args:
        folder_is_empty: nothing at all was found: it is rather a disk that is not there than the user's will.
        force: also when they are more than a tenth of the folder's documents.
    """
    documents = await folder.documents_of(file.path for file in orphaned)
    if not documents:
        return Pruned()
    if folder_is_empty:
        return Pruned(0, len(documents), "The folder is empty. Its disk may not be there: nothing was removed.")
    total = await folder.document_count()
    most = max(1, total * MOST_REMOVED_PERCENT // 100)
    if len(documents) > most and not force:
        return Pruned(
            0,
            len(documents),
            f"The files of {len(documents)} of the folder's {total} documents are gone. More than "
            f"{MOST_REMOVED_PERCENT}% look like an accident: nothing was removed. "
            "If it is what you want, run 'mcp-knowledge scan --force'.",
        )
    for document_id in documents:
        try:
            await library.delete_document(document_id)
        except KnowledgeError as error:
            if error.code != "DOCUMENT_NOT_FOUND":
                raise
    await folder.forget([file.path for file in orphaned])
    return Pruned(len(documents))
