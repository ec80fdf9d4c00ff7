"""Keys of originals and archives. The service makes them from its own ids: nothing of a user's goes into one."""

import re

ORIGINALS = "originals"
ARCHIVES = "archives"
# One or two digits: the first version spread originals over 256 folders.
_OWN = re.compile(rf"{ORIGINALS}/[0-9a-f]{{1,2}}/rev_[0-9a-f]{{32}}|{ARCHIVES}/arc_[0-9a-f]{{32}}")
_PLAIN = re.compile(r"(?!uploads/)[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")


def original_key(revision_id: str) -> str:
    """Where a revision's original is kept.

    The last digit of the id's random end spreads originals over 16 folders. One each would cost a block of disk, and
    the first file of a new folder takes four times as long to make durable. In a bucket it costs nothing.
    """
    return f"{ORIGINALS}/{revision_id[-1]}/{revision_id}"


def archive_key(archive_id: str) -> str:
    """Where an archive is kept until it is imported."""
    return f"{ARCHIVES}/{archive_id}"


def is_own_key(key: str) -> bool:
    """Whether the service makes such keys. What lies elsewhere in its storage is not its own to delete."""
    return _OWN.fullmatch(key) is not None


def checked_key(key: str) -> str:
    """The key itself, when it is a relative path of plain names that leads out of no folder, nor among the uploads.

    Raises:
        ValueError: it is not.
    """
    if not _PLAIN.fullmatch(key):
        raise ValueError("a blob key is a relative path of plain names")
    return key
