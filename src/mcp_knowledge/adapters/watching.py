"""Watching a folder with what the operating system offers."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import watchfiles

log = logging.getLogger(__name__)
_DEBOUNCE_MS = 500
_STEP_MS = 100
_TIMEOUT_MS = 1000
_END_S = 5.0


class NotifiedFolder:
    """A thread that waits for changes below a folder.

    Args:
        on_change: called in that thread after changes, and when it ends because it can watch no more.
    """

    def __init__(self, root: Path, on_change: Callable[[], None]) -> None:
        self._root = root
        self._on_change = on_change
        self._stop = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._watch, name="folder-watch", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether changes are told."""
        return self._thread.is_alive() and not self._failed

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(_END_S)

    def _watch(self) -> None:
        try:
            for _ in watchfiles.watch(
                self._root,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                stop_event=self._stop,
                rust_timeout=_TIMEOUT_MS,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._on_change()
        except Exception as error:  # too many watches for the system, the folder is gone, …
            log.warning("The folder cannot be watched (%s); it is looked through now and then instead", error)
            self._failed = True
            self._on_change()
