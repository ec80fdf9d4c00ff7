"""A folder to work in beside what is to become of the work. A killed process's is recognised, and goes."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

Purpose = Literal["backup", "restore"]


@contextmanager
def workspace(parent: Path, name: str, purpose: Purpose) -> Iterator[Path]:
    """A folder `.NAME.RANDOM.PURPOSE` that only this user can read; gone at the end, unless it was renamed.

    Its lock of the operating system dies with the process: a folder without one was left by a killed process, and is
    removed by the next one with the same name and purpose.

    Raises:
        OSError: it cannot be made.
    """
    for left in leftovers(parent, name, purpose):
        shutil.rmtree(left, ignore_errors=True)
    folder = parent / f".{name}.{secrets.token_hex(4)}.{purpose}"
    folder.mkdir(mode=0o700)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def leftovers(parent: Path, name: str, purpose: Purpose) -> list[Path]:
    """The folders of killed processes."""
    prefix, suffix = f".{name}.", f".{purpose}"
    with suppress(FileNotFoundError):
        found = [entry for entry in parent.iterdir() if entry.name.startswith(prefix) and entry.name.endswith(suffix)]
        return [entry for entry in found if entry.is_dir() and not entry.is_symlink() and _is_left(entry)]
    return []


def _is_left(folder: Path) -> bool:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
