"""The scanned folder: looked through at start, on request, and while it is watched."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.domain.folder import PASSED_OVER, FileOutcome, FolderFile, ScanCounts, ScanStatus
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, FolderStore, Locks
from mcp_knowledge.services.archives import Archives
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.folder_following import FolderFollower, WatchFolder
from mcp_knowledge.services.folder_prune import Pruned, find_gone, remove_orphaned, settle_gone
from mcp_knowledge.services.folder_scan import Scan, StoppedError, Tools
from mcp_knowledge.services.folder_walk import Walk, check_root, read_manifest, walk
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.library import Library
from mcp_knowledge.services.outages import is_outage
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

NOT_SET = "INGEST_DATA_DIR is not set."
_OUR_FAULT = "INTERNAL_ERROR: Something went wrong on our side. The log says more."
_TELL_S = 0.5  # between two looks at the progress of a scan
_LOCK_POLL_S = 0.2  # between two looks whether another process's scan has ended
_TURN_POLL_S = 1.0  # between two looks whether the process that follows the folder has ended
_AGAIN_S = 10.0  # after a failure that no scan expects, or an outage
_STOP_S = 6.0  # of the 10 seconds that a shutdown may take


class FolderScanner:
    """The use cases around the folder of INGEST_DATA_DIR.

    Args:
        watch_folder: starts to watch a folder; the function given to it is called, in any thread, after changes.
    """

    def __init__(
        self,
        folder: FolderStore,
        library: Library,
        archives: Archives,
        intake: Intake,
        blobs: BlobStore,
        events: Events,
        locks: Locks,
        settings: Settings,
        watch_folder: WatchFolder,
    ) -> None:
        self._folder, self._library, self._events, self._settings = folder, library, events, settings
        self._locks = locks
        self._root = settings.ingest_data_dir
        self._watch_folder = watch_folder
        self._stopped = asyncio.Event()
        self._wake = asyncio.Event()
        self._tools = Tools(
            folder=folder,
            library=library,
            archives=archives,
            intake=intake,
            blobs=blobs,
            changed=lambda document: events.publish("document", document),
            max_bytes=settings.max_upload_bytes,
            stopping=self._stopped.is_set,
        )
        self._task: asyncio.Task[None] | None = None
        self._told = 0.0
        self._scans = self._root is not None and settings.role != "api"
        # Until the first scan of this process has ended, or another process turns out to be at it.
        self._scanning = ScanStatus("scanning") if self._scans else None

    # What a server does by itself

    async def run(self) -> None:
        """Scan once and, when it is so set, keep watching, until `stop`. Faults end in the status, never here. Of
        several processes one does so, and when it ends another one.
        """
        if self._root is None or self._stopped.is_set():
            return
        self._task = asyncio.create_task(self._run(self._root))
        with suppress(asyncio.CancelledError):
            await asyncio.shield(self._task)

    async def stop(self) -> None:
        """End after the file that is being read."""
        self._stopped.set()
        self._wake.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_STOP_S)
            self._task.cancel()

    async def _run(self, root: Path) -> None:
        began_ms = now_ms()
        while not self._stopped.is_set():
            try:
                async with self._alone("folder", _TURN_POLL_S):
                    await self._follow(root, began_ms)
                    return
            except StoppedError:
                return
            except Exception as error:
                if is_outage(error):
                    log.warning("Following the folder waits for the database or the storage: %s", error)
                else:
                    log.exception("Following the folder met a failure and begins anew")
                await self._pause()

    async def _follow(self, root: Path, began_ms: int) -> None:
        scan = partial(self._scan, False)
        if self._settings.ingest_data_watch:
            await FolderFollower(root, scan, self._watch_folder, self._stopped, self._wake).run()
            return
        last = _status_from(await self._folder.scan_state())
        if last.started_at_ms is not None and last.started_at_ms >= began_ms and last.state.startswith("completed"):
            self._scanning = None
            return  # another process had its turn first, and did it
        while _met_outage((await scan(0))[0]) and not self._stopped.is_set():
            await self._pause()

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_AGAIN_S):
                await self._stopped.wait()

    # What anybody may ask for

    async def scan(self, force: bool = False) -> ScanStatus:
        """Look through the folder now; waits for a scan that is at work, in this process or another.

        Args:
            force: remove documents whose files are gone (INGEST_DATA_PRUNE) however many they are.
        """
        status, _ = await self._scan(force, quiet_ns=0)
        return replace(status, passed_over=await self._folder.count_passed_over())

    async def status(self) -> ScanStatus:
        """The scan at work, or the last one."""
        saved = None if self._scanning else await self._folder.scan_state()
        if self._root is None and (saved is None or self._settings.role != "api"):  # else workers have one
            return ScanStatus("disabled", disabled_reason=NOT_SET)
        status = self._scanning or _status_from(saved)
        return replace(status, passed_over=await self._folder.count_passed_over())

    async def files(
        self, limit: int, after_path: str | None = None, outcomes: Sequence[FileOutcome] = PASSED_OVER
    ) -> tuple[list[FolderFile], str | None]:
        """A page of the files that were passed over or failed, by path, and after which the next page goes on."""
        found = await self._folder.passed_over(limit + 1, after_path, outcomes)
        items = found[:limit]
        return items, items[-1].path if len(found) > limit else None

    async def waiting_work(self) -> int:
        """Jobs and archives that are queued or under way."""
        return await self._folder.waiting_jobs()

    # One scan

    async def _scan(self, force: bool, quiet_ns: int) -> tuple[ScanStatus, bool]:
        """The result, and whether files were left for a pass that is due soon."""
        if self._root is None:
            return ScanStatus("disabled", disabled_reason=NOT_SET), False
        try:
            async with self._alone("scan", _LOCK_POLL_S):
                last = _status_from(await self._folder.scan_state())
                ended, deferred = await self._scan_alone(self._root, last, force, quiet_ns)
        except StoppedError:  # what was saved says "scanning": the next start begins here once more
            return self._scanning or ScanStatus("scanning"), False
        except Exception as error:  # not even the state of the scan can be read or written
            log.exception("The folder cannot be scanned")
            return ScanStatus("failed", error=str(error) if isinstance(error, KnowledgeError) else _OUR_FAULT), False
        finally:
            self._scanning = None
        if ended.error != last.error or ended.counts.queued:
            level = logging.WARNING if ended.error else logging.INFO
            code = ended.error and ended.error.partition(":")[0]  # the rest may name files: the scan's status has it
            log.log(level, "Scan of the folder: %s", code or asdict(ended.counts))
        return ended, deferred

    async def _scan_alone(self, root: Path, last: ScanStatus, force: bool, quiet_ns: int) -> tuple[ScanStatus, bool]:
        after = last.stopped_at if last.limit_reached else None
        begun = ScanStatus(
            "scanning", started_at_ms=now_ms(), limit_reached=last.limit_reached, stopped_at=last.stopped_at
        )
        await self._tell(begun)
        deferred = False
        try:
            ended, deferred = await self._look_through(root, begun, after, force, quiet_ns)
        except KnowledgeError as error:
            ended = replace(begun, state="failed", error=f"{error.code}: {error.message}")
        except StoppedError:
            raise
        except Exception:
            log.exception("The scan of the folder failed")
            ended = replace(begun, state="failed", error=_OUR_FAULT)
        ended = replace(ended, completed_at_ms=now_ms())
        await self._tell(ended)
        return ended, deferred

    async def _look_through(
        self, root: Path, begun: ScanStatus, after: tuple[str, ...] | None, force: bool, quiet_ns: int
    ) -> tuple[ScanStatus, bool]:
        settings, stopping = self._settings, self._tools.stopping
        await asyncio.to_thread(check_root, root)
        manifest = await asyncio.to_thread(read_manifest, root)
        found = await asyncio.to_thread(
            walk, root, settings.ingest_data_max_depth, settings.ingest_data_max_files, after, stopping
        )
        if stopping():
            raise StoppedError
        scan = Scan(root, manifest, begun.counts, self._tools, lambda path: self._progressed(begun, path), quiet_ns)
        await scan.run(found)
        pruned = await self._settle_gone(
            root, found, scan.newcomers_left, is_empty=not found.files and after is None, force=force
        )
        counts = begun.counts
        ended = replace(
            begun,
            state="completed_with_errors" if counts.failed or counts.oversized else "completed",
            limit_reached=found.stopped_at is not None,
            stopped_at=found.stopped_at,
            removed=pruned.removed,
            held_back=pruned.held_back,
            held_back_reason=pruned.reason,
        )
        return ended, scan.deferred

    async def _settle_gone(
        self, root: Path, found: Walk, newcomers_left: bool, *, is_empty: bool, force: bool
    ) -> Pruned:
        gone = await find_gone(self._folder, root, found)
        await asyncio.to_thread(check_root, root)  # it may have gone meanwhile, and everything with it
        orphaned = await settle_gone(self._folder, root, gone, self._tools.changed)
        if not self._settings.ingest_data_prune:
            return Pruned()
        if newcomers_left or found.stopped_at is not None:
            return Pruned()  # what was not looked at yet may be where a file has moved to
        return await remove_orphaned(self._folder, self._library, orphaned, folder_is_empty=is_empty, force=force)

    # Telling

    async def _progressed(self, begun: ScanStatus, path: str) -> None:
        self._scanning = status = replace(begun, current_path=path)
        if time.monotonic() - self._told >= _TELL_S:
            self._told = time.monotonic()
            status = replace(status, counts=replace(begun.counts))
            await self._folder.save_scan_state(_state_of(status))  # other processes show it too
            self._events.publish("scan", status)

    async def _tell(self, status: ScanStatus) -> None:
        self._scanning = status
        await self._folder.save_scan_state(_state_of(status))
        passed_over = await self._folder.count_passed_over()
        self._events.publish("scan", replace(status, counts=replace(status.counts), passed_over=passed_over))

    @asynccontextmanager
    async def _alone(self, name: str, poll_s: float) -> AsyncIterator[None]:
        """Keep other scans away, also those of other processes. The lock dies with the process, however it ends."""
        while not self._stopped.is_set():
            async with self._locks.held(name) as ours:
                if ours:
                    yield
                    return
            self._scanning = None
            with suppress(TimeoutError):
                async with asyncio.timeout(poll_s):
                    await self._stopped.wait()
        raise StoppedError


def _met_outage(status: ScanStatus) -> bool:
    """Whether a scan ended because the database or the storage could not be used."""
    return status.state == "failed" and str(status.error).startswith("SERVICE_UNAVAILABLE")


def _state_of(status: ScanStatus) -> dict[str, Any]:
    """A status as it is saved."""
    return asdict(status) | {"passed_over": None}


def _status_from(state: dict[str, Any] | None) -> ScanStatus:
    """The saved status. Without one nothing was scanned yet, or since a purge, and no scan is at work."""
    if state is None:
        return ScanStatus("completed")
    stopped_at = state["stopped_at"]
    return ScanStatus(
        **{
            **state,
            "counts": ScanCounts(**state["counts"]),
            "passed_over": {},
            "stopped_at": None if stopped_at is None else tuple(stopped_at),
        }
    )
