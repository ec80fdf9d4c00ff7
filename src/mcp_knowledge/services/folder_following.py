"""Following a watched folder: a scan whenever something in it has changed, and now and then to be sure."""

import asyncio
import stat
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from mcp_knowledge.domain.folder import ScanStatus
from mcp_knowledge.ports import FolderWatch

_QUIET_NS = 2_000_000_000  # a watched file is read when nobody has written to it for so long
_PAUSE_S = 1.0  # between two passes of a watched folder, and
_PAUSE_SHARE = 4  # so many times as long as a pass took
_POLL_S = 10.0  # between two passes where changes are not told
_SAFETY_S = 300.0  # between two passes where they are: a network drive tells nothing of what others change

WatchFolder = Callable[[Path, Callable[[], None]], FolderWatch]


class FolderFollower:
    """Scans a folder again and again.

    Args:
        scan: scans, leaving alone files that changed so many nanoseconds ago; the result, and whether files were left
            for a pass that is due soon.
        watch_folder: starts to watch a folder; the function given to it is called, in any thread, after changes.
        stopped: set when the service shuts down, as `wake` then is too.
        wake: set when something has changed.
    """

    def __init__(
        self,
        root: Path,
        scan: Callable[[int], Awaitable[tuple[ScanStatus, bool]]],
        watch_folder: WatchFolder,
        stopped: asyncio.Event,
        wake: asyncio.Event,
    ) -> None:
        self._root, self._scan, self._watch_folder = root, scan, watch_folder
        self._stopped, self._wake = stopped, wake
        self._midway = self._round_again = False

    async def run(self) -> None:
        """Follow until the service stops."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake.set)

        watch: FolderWatch | None = None
        watched: tuple[int, int] | None = None
        quiet_ns = 0  # the first pass is a plain scan
        try:
            while not self._stopped.is_set():
                present = await asyncio.to_thread(_identity, self._root)
                if watch is not None and present != watched:  # another disk stands there now, or none
                    await asyncio.to_thread(watch.close)
                    watch = None
                if watch is None and present is not None:
                    watched = present
                    watch = await asyncio.to_thread(self._watch_folder, self._root, wake)
                await self._wait_for_change(await self._pass(quiet_ns), watch)
                quiet_ns = _QUIET_NS
        finally:
            if watch is not None:
                await asyncio.to_thread(watch.close)

    async def _pass(self, quiet_ns: int) -> float:
        """One scan of a watched folder; seconds until the next one is due even if nothing is told to have changed.

        With more files than a scan takes, it is one of a round: what is left for later, and what changes meanwhile (it
        may lie where the round has been), asks for another round.
        """
        self._round_again |= self._midway and self._wake.is_set()
        self._wake.clear()
        begun = time.monotonic()
        status, deferred = await self._scan(quiet_ns)
        self._round_again |= deferred
        self._midway = status.limit_reached
        with suppress(TimeoutError):
            async with asyncio.timeout(max(_PAUSE_S, _PAUSE_SHARE * (time.monotonic() - begun))):
                await self._stopped.wait()
        if status.state == "failed":
            return _POLL_S
        if self._midway:
            return 0
        again, self._round_again = self._round_again, False
        return 0 if again else _SAFETY_S

    async def _wait_for_change(self, most_s: float, watch: FolderWatch | None) -> None:
        if watch is None or not watch.alive:
            most_s = min(most_s, _POLL_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._wake.wait()


def _identity(root: Path) -> tuple[int, int] | None:
    """Which folder stands at the path; None when there is none."""
    try:
        status = root.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
