"""What must outlast a power cut."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Make a file's bytes, or the names in a folder, durable. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
