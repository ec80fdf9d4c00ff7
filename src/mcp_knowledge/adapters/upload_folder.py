"""The folder of temporary files: uploads on their way to their place, and copies on their way to a parser."""

import time
from contextlib import suppress
from pathlib import Path

from mcp_knowledge.errors import storing

_ABANDONED_S = 24 * 3600  # nothing takes this long: its process was killed


class UploadFolder:
    """Made, and rid of what killed processes left in it, when it is first asked for.

    Args:
        folder: nothing but temporary files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_ready = False

    def path(self) -> Path:
        """The folder, which exists. Raises SERVICE_UNAVAILABLE."""
        if not self._is_ready:
            with storing():
                self._folder.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(self._folder)
            self._is_ready = True
        return self._folder


def _remove_abandoned(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(OSError):  # another process may be sweeping too
            if path.stat().st_mtime < time.time() - _ABANDONED_S:
                path.unlink()
