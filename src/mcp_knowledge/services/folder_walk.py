"""Looking through the scanned folder: which files there are, in a fixed order, without reading any."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mcp_knowledge.domain.filenames import is_litter, is_owner_file
from mcp_knowledge.domain.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    Manifest,
    invalid_manifest,
    parse_manifest,
)
from mcp_knowledge.errors import KnowledgeError

Segments = tuple[str, ...]

_MOST_SKIPPED = 10_000  # of one walk, so that a folder of links takes no memory without bound


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the folder.

    Args:
        name: its path below the folder as the operating system spells it (undecodable bytes as surrogates).
        path: the same as text, for people and the database.
        size_bytes, modified_ns, changed_ns: as the walk saw them; times in Unix nanoseconds.
    """

    name: str
    path: str
    size_bytes: int
    modified_ns: int
    changed_ns: int


@dataclass(slots=True)
class Walk:
    """What a walk found.

    Args:
        skipped: paths that are not looked into, each with the reason.
        unread: folders (as path segments) of which nothing is known: they could not be listed.
        after: the file behind which it began, None for the first one.
        stopped_at: the last file, when there are more than were asked for.
    """

    files: list[FoundFile] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    unread: list[Segments] = field(default_factory=list)
    after: Segments | None = None
    stopped_at: Segments | None = None

    def passed(self, path: str) -> bool:
        """Whether it came by this place."""
        segments = tuple(path.split("/"))
        began, ended = self.after is None or segments > self.after, self.stopped_at
        return began and (ended is None or segments <= ended)


class _EnoughError(Exception):
    """The walk has found as many files as it may."""


def text_path(name: str) -> str:
    """A path as text: bytes that are no UTF-8 become `\\xNN`, so that every file has a path of its own."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def check_root(root: Path) -> None:
    """Raises INGEST_DATA_UNAVAILABLE when the folder cannot be listed."""
    try:
        with os.scandir(root):
            return
    except FileNotFoundError:
        reason = "does not exist"
    except NotADirectoryError:
        reason = "is not a folder"
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
    raise KnowledgeError("INGEST_DATA_UNAVAILABLE", f"The folder of INGEST_DATA_DIR {reason}.")


def read_manifest(root: Path) -> Manifest:
    """The folder's manifest, or an empty one when it has none. Raises INVALID_INGEST_MANIFEST."""
    path = root / MANIFEST_NAME
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        what = "it is a symbolic link." if path.is_symlink() else f"it cannot be read ({error.strerror})."
        invalid_manifest(what)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            invalid_manifest("it is not a regular file.")
        with os.fdopen(os.dup(handle), "rb") as file:
            return parse_manifest(file.read(MAX_MANIFEST_BYTES + 1))
    finally:
        os.close(handle)


def walk(
    root: Path, max_depth: int, max_files: int, after: Segments | None, stopping: Callable[[], bool] = lambda: False
) -> Walk:
    """List the files below a folder, in the order of their path segments.

    Args:
        max_depth: how many folders deep.
        max_files: when there are more, the walk ends and says where.
        after: begin behind this file, where an earlier walk ended.
        stopping: asked now and then; the walk ends early when it is true.
    """
    found = Walk(after=after)
    last: Segments = after or ()
    try:
        for segments, entry in _entries(root, (), max_depth, after, found):
            if stopping():
                break
            if len(found.files) >= max_files or len(found.skipped) >= max(max_files, _MOST_SKIPPED):
                raise _EnoughError
            last = segments
            _sort_in(found, segments, entry, max_depth)
    except _EnoughError:
        found.stopped_at = last
    return found


def _entries(
    root: Path, folder: Segments, max_depth: int, after: Segments | None, found: Walk
) -> Iterator[tuple[Segments, os.DirEntry[str]]]:
    """All but folders that are walked into, depth first."""
    try:
        with os.scandir(root.joinpath(*folder)) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        found.unread.append(folder)
        found.skipped[text_path("/".join(folder))] = "This folder cannot be read."
        return
    for entry in entries:
        segments = (*folder, entry.name)
        if is_litter(entry.name) or (after is not None and segments < after[: len(segments)]):
            continue
        if len(segments) <= max_depth and not entry.name.startswith(".") and _is_folder(entry):
            yield from _entries(root, segments, max_depth, after, found)
        elif after is None or segments > after:
            yield segments, entry


def _sort_in(found: Walk, segments: Segments, entry: os.DirEntry[str], max_depth: int) -> None:
    name = "/".join(segments)
    path = text_path(name)
    if segments == (MANIFEST_NAME,):
        return
    try:
        if reason := _reason_to_skip(entry, max_depth):
            found.skipped[path] = reason
            return
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # gone since its folder was listed
    found.files.append(FoundFile(name, path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


def _reason_to_skip(entry: os.DirEntry[str], max_depth: int) -> str | None:
    if entry.name == MANIFEST_NAME:
        return "Only the folder's own manifest counts, at its root."
    if entry.is_symlink():
        return "Symbolic links are not followed."
    if entry.name.startswith("."):
        return "Hidden folders are not scanned." if _is_folder(entry) else "Hidden files are not read."
    if _is_folder(entry):
        return f"This folder is more than {max_depth} folders deep."
    if is_owner_file(entry.name):
        return "An office program's note that a document is open."
    return None if entry.is_file(follow_symlinks=False) else "This is not a regular file."


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
