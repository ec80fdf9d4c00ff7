"""Files of the scanned folder, one at a time: copying them as they stand, and telling whether they are still there."""

import hashlib
import os
import re
import stat
import tempfile
import time
from pathlib import Path

from mcp_knowledge.errors import KnowledgeError, storing
from mcp_knowledge.services.folder_walk import FoundFile
from mcp_knowledge.services.library import StoredUpload

_PIECE_BYTES = 1024 * 1024
# A file may change once more within the grain of its file system's clock, and keep its times.
_CLOCK_GRAIN_NS = 50_000_000
_ESCAPED_BYTE = re.compile(r"\\x([89a-f][0-9a-f])")


class FileChangedError(Exception):
    """The file was written to, or replaced, while it was read."""


def filename_of(found: FoundFile) -> str:
    """The file's name for people. One that is no UTF-8 comes from an old Windows: Latin letters, mostly."""
    name = found.name.rpartition("/")[2]
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode("cp1252", "replace")
    return name


def copy_file(root: Path, found: FoundFile, folder: Path, max_bytes: int) -> tuple[StoredUpload, os.stat_result, bool]:
    """Copy a file into the upload folder while hashing it; the copy, the file's status while it was made, and whether
    that would tell a later change.

    Raises:
        FileChangedError: what was copied may be half old and half new.
        OSError: the file cannot be read.
        KnowledgeError: PAYLOAD_TOO_LARGE, DOCUMENT_EMPTY, or SERVICE_UNAVAILABLE when the copy cannot be written.
    """
    path, begun_ns = root / found.name, time.time_ns()
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            raise FileChangedError
        copy, sha256, size_bytes = _copy(handle, folder, max_bytes)
        try:
            if not _fingerprint(before) == _fingerprint(os.fstat(handle)) == _fingerprint(path.lstat()):
                raise FileChangedError
            if size_bytes == 0:
                raise KnowledgeError("DOCUMENT_EMPTY")
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
    finally:
        os.close(handle)
    settled = abs(begun_ns - before.st_ctime_ns) > _CLOCK_GRAIN_NS
    return StoredUpload(copy, filename_of(found), size_bytes, sha256), before, settled


def _fingerprint(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _copy(handle: int, folder: Path, max_bytes: int) -> tuple[Path, str, int]:
    digest, size_bytes = hashlib.sha256(), 0
    with storing():
        target, name = tempfile.mkstemp(dir=folder)
    path = Path(name)
    try:
        with os.fdopen(target, "wb") as file:
            while piece := os.read(handle, _PIECE_BYTES):
                size_bytes += len(piece)
                if size_bytes > max_bytes:
                    raise KnowledgeError("PAYLOAD_TOO_LARGE")
                digest.update(piece)
                with storing():
                    file.write(piece)
            with storing():
                file.flush()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path, digest.hexdigest(), size_bytes


def is_gone(root: Path, path: str, found: FoundFile | None = None) -> bool:
    """Whether there is no file at a path (as the database spells it). False when that cannot be told.

    Args:
        found: a file that may have been there: where case does not count, the old name still leads to it.
    """
    names = [path]
    if _ESCAPED_BYTE.search(path):  # stands for a byte that is no UTF-8, or for itself
        names.append(_ESCAPED_BYTE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), path))
    return all(_is_missing(root, name, found) for name in names)


def _is_missing(root: Path, name: str, found: FoundFile | None) -> bool:
    try:
        there = (root / name).lstat()
        return found is not None and there.st_nlink == 1 and os.path.samestat(there, (root / found.name).lstat())
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
