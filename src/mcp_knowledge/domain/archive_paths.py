"""Paths as archives spell them: which are safe, and which name things that no user put there."""

import re
import unicodedata

from mcp_knowledge.domain.filenames import is_litter

MAX_PATH_SEGMENTS = 32
MAX_SHOWN_CHARS = 1000
_DRIVE = re.compile(r"[A-Za-z]:")


class UnsafePathError(ValueError):
    """A path that must not be followed; the message is a sentence that says why."""


def entry_path(name: str) -> str:
    """An entry's path with `/` between its segments, without empty and `.` segments.

    Backslashes separate too: some Windows programs write them.

    Raises:
        UnsafePathError: an absolute path, a drive, `..`, control characters, nothing at all, or more than
            MAX_PATH_SEGMENTS segments.
    """
    path = name.replace("\\", "/")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in path):
        raise UnsafePathError("The path has control characters.")
    if path.startswith("/"):
        raise UnsafePathError("The path is absolute.")
    if _DRIVE.match(path):
        raise UnsafePathError("The path names a drive.")
    segments = [segment for segment in path.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise UnsafePathError("The path leads out of its folder.")
    if not segments:
        raise UnsafePathError("The path is empty.")
    if len(segments) > MAX_PATH_SEGMENTS:
        raise UnsafePathError(f"The path has more than {MAX_PATH_SEGMENTS} parts.")
    return "/".join(segments)


def shown_path(name: str) -> str:
    """A path of any kind as a list may show it: no control characters, not endlessly long."""
    kept = "".join("\ufffd" if unicodedata.category(char) in ("Cc", "Cs") else char for char in name[:MAX_SHOWN_CHARS])
    return kept + "…" if len(name) > MAX_SHOWN_CHARS else kept


def is_noise(path: str) -> bool:
    """Whether a system left this beside the user's files: resource forks, settings of folders and the like."""
    *folders, name = path.replace("\\", "/").split("/")
    return "__MACOSX" in folders or is_litter(name)
