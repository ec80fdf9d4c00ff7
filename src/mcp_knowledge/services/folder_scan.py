"""One pass over the scanned folder: each file is compared with what is known of it, and taken in if it is new."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from mcp_knowledge.domain.documents import Document, Metadata
from mcp_knowledge.domain.filenames import extension_of, safe_name
from mcp_knowledge.domain.folder import FileOutcome, FolderFile, ScanCounts
from mcp_knowledge.domain.manifest import Manifest
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, FolderStore
from mcp_knowledge.services.archives import Archives
from mcp_knowledge.services.cleanup import discard_after, discard_blob
from mcp_knowledge.services.folder_files import FileChangedError, copy_file, filename_of, is_gone
from mcp_knowledge.services.folder_walk import FoundFile, Walk
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.library import Filing, Library, StoredUpload

T = TypeVar("T")
_BATCH_FILES = 200
_FEW_RULES = 50  # of the manifest: up to a millisecond for a file
_MOST_TWINS = 100
_ROOM_FILES = 32  # between two looks at the queue
_QUEUE_AHEAD = 256  # jobs waiting for the worker while more files are read: some seconds of work
_ROOM_POLL_S = 0.25
_NEVER_NS = -1  # no file has this time: it is read again
# Faults of a file, and the outcome each one is.
_FAULTS: dict[str, FileOutcome] = {
    "DOCUMENT_UNSUPPORTED_FORMAT": "unsupported",
    "PAYLOAD_TOO_LARGE": "oversized",
    "DOCUMENT_EMPTY": "failed",
    "INVALID_METADATA": "failed",
    "DOCUMENT_NOT_FOUND": "failed",
}


class StoppedError(Exception):
    """The service shuts down."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a scan works with.

    Args:
        changed: tells readers of events that a document has changed.
        max_bytes: of one file.
        stopping: whether the service shuts down.
    """

    folder: FolderStore
    library: Library
    archives: Archives
    intake: Intake
    blobs: BlobStore
    changed: Callable[[Document], None]
    max_bytes: int
    stopping: Callable[[], bool]


class Scan:
    """A pass over the files of a walk.

    Args:
        quiet_ns: leave files alone that changed so short a time ago: somebody may still be writing. `deferred` tells
            that there were any, `newcomers_left` that nothing is known of some of them: one may be a file that moved.
        progressed: called after each file with its path.
    """

    def __init__(
        self,
        root: Path,
        manifest: Manifest,
        counts: ScanCounts,
        tools: Tools,
        progressed: Callable[[str], Awaitable[None]],
        quiet_ns: int = 0,
    ) -> None:
        self._root, self._manifest, self.counts = root, manifest, counts
        self._tools, self._progressed, self._quiet_ns = tools, progressed, quiet_ns
        self._folder = tools.folder
        self._written: list[FolderFile] = []
        self._since_room = 0
        self.deferred = self.newcomers_left = False

    async def run(self, found: Walk) -> None:
        """Compare and take in. Raises StoppedError, or KnowledgeError when it cannot go on."""
        self.counts.discovered = len(found.files)
        await self._note_skipped(found.skipped)
        await self._take(found.files, set(await self._folder.stale_duplicates()))
        stale = set(await self._folder.stale_duplicates())  # of documents that this scan gives other bytes
        again = [item for item in found.files if item.path in stale]
        self.counts.examined -= len(again)
        self.counts.duplicates -= len(again)
        await self._take(again, stale)

    async def _note_skipped(self, skipped: dict[str, str]) -> None:
        known = await self._folder.files(skipped)
        for path, reason in skipped.items():
            old = known.get(path)
            file = replace(old or FolderFile(path, 0, 0, 0, None, "skipped", {}), outcome="skipped", reason=reason)
            if file != old:
                self._written.append(file)
        await self._flush()

    async def _take(self, files: Sequence[FoundFile], stale: set[str]) -> None:
        for start in range(0, len(files), _BATCH_FILES):
            batch = files[start : start + _BATCH_FILES]
            known = await self._folder.files(item.path for item in batch)
            for item in batch:
                if self._tools.stopping():
                    await self._flush()
                    raise StoppedError
                if await self._take_one(item, known.get(item.path), item.path in stale):
                    self.counts.examined += 1
                await self._progressed(item.path)
            await self._flush()
            await asyncio.sleep(0)

    async def _take_one(self, found: FoundFile, old: FolderFile | None, stale: bool) -> bool:
        """False when the file is left for a later pass."""
        try:
            # Off the loop, unless it takes less time than going there: a manifest may have some 20,000 rules.
            few = len(self._manifest.rules) <= _FEW_RULES
            metadata = self._check(found) if few else await asyncio.to_thread(self._check, found)
            if not stale and _is_unchanged(found, old, metadata):
                self._count(old)
                return True
            if 0 <= time.time_ns() - found.changed_ns < self._quiet_ns:
                self._defer(old)
                return False
            await self._room()
            await self._read(found, old, metadata, stale)
        except (FileChangedError, FileNotFoundError):
            self._defer(old)
            self._pass_over(found, old, "changing", "This file changed while it was read; the next scan reads it.")
        except OSError as error:
            self._pass_over(found, old, "failed", f"This file cannot be read ({error.strerror}).")
        except KnowledgeError as error:
            if error.code not in _FAULTS:
                raise
            self._pass_over(found, old, _FAULTS[error.code], str(error))
        return True

    def _defer(self, old: FolderFile | None) -> None:
        self.deferred = True
        self.newcomers_left |= old is None or not (old.document_id or old.archive_id)

    def _check(self, found: FoundFile) -> Metadata:
        """What can be told without reading; the metadata that the manifest gives. Raises KnowledgeError."""
        self._tools.intake.check_extension(filename_of(found))
        if found.size_bytes > self._tools.max_bytes:
            raise KnowledgeError("PAYLOAD_TOO_LARGE")
        if found.size_bytes == 0:
            raise KnowledgeError("DOCUMENT_EMPTY")
        return {} if self._tools.intake.is_archive(found.path) else self._manifest.metadata_for(found.path)

    async def _read(self, found: FoundFile, old: FolderFile | None, metadata: Metadata, stale: bool) -> None:
        folder = self._tools.library.upload_dir()
        copied = await asyncio.to_thread(copy_file, self._root, found, folder, self._tools.max_bytes)
        upload, status, settled = copied
        file = FolderFile(
            path=found.path,
            size_bytes=status.st_size,
            modified_ns=status.st_mtime_ns if settled else _NEVER_NS,
            changed_ns=status.st_ctime_ns,
            sha256=upload.sha256,
            outcome="archive" if self._tools.intake.is_archive(found.path) else "document",
            metadata=metadata,
            document_id=old.document_id if old else None,
            archive_id=old.archive_id if old else None,
        )
        try:
            if old is not None and old.sha256 == file.sha256 and not stale:
                await self._take_same(upload, file, old)
            else:
                await self._take_other(upload, found, file, old)
        finally:
            upload.path.unlink(missing_ok=True)

    async def _take_same(self, upload: StoredUpload, file: FolderFile, old: FolderFile) -> None:
        """The bytes are those that were taken in last: at most the manifest gives other metadata."""
        own = await self._is_own(file.path, old)
        if own and old.metadata != file.metadata:
            await self._add_document(upload, file, replaces=old.document_id)
            return
        touched = file.changed_ns != old.changed_ns
        if touched and old.archive_id and (await self._tools.archives.get(old.archive_id)).state == "failed":
            await self._add_archive(upload, file)  # the limits may be others by now
            return
        outcome: FileOutcome = "duplicate" if old.document_id and not own else file.outcome
        self._written.append(replace(file, outcome=outcome, reason=old.reason if outcome == old.outcome else None))
        self._count(self._written[-1])

    async def _take_other(
        self, upload: StoredUpload, found: FoundFile, file: FolderFile, old: FolderFile | None
    ) -> None:
        if old is not None and await self._is_own(file.path, old):
            if old.metadata != file.metadata:
                await self._add_document(upload, file, replaces=old.document_id)
            else:
                await self._add_revision(upload, file)
            return
        former = await self._moved_from(found, file, upload.filename)
        if former is not None:
            await self._move(
                upload, replace(file, document_id=former.document_id, archive_id=former.archive_id), former
            )
        elif file.outcome == "archive":
            await self._add_archive(upload, file)
        else:
            await self._add_document(upload, replace(file, document_id=None))

    async def _is_own(self, path: str, old: FolderFile) -> bool:
        """Whether a file's document came from the file, and is not merely one with the same bytes."""
        if old.document_id is None or old.outcome in ("duplicate", "archive", "deleted"):
            return False
        if old.outcome == "document":
            return True
        documents = await self._tools.library.get_documents([old.document_id])  # passed over since it was taken in
        return any(document.source_path == path for document in documents.values())

    async def _add_document(self, upload: StoredUpload, file: FolderFile, replaces: str | None = None) -> None:
        new = await self._tools.library.keep(upload, Filing(metadata=file.metadata, source_path=file.path))
        with_file = self._folder.add_document(replace(new, replaces=replaces), file)
        document, duplicate = await self._written_with(new.blob_key, with_file)
        if duplicate:
            await discard_blob(self._tools.blobs, new.blob_key)
            self.counts.duplicates += 1
        else:
            self._tools.library.announce(document)
            self.counts.queued += 1

    async def _add_revision(self, upload: StoredUpload, file: FolderFile, former_path: str | None = None) -> None:
        new = await self._tools.library.keep(upload)
        revision = new.as_revision(file.document_id or "")
        document, _ = await self._written_with(new.blob_key, self._folder.add_revision(revision, file, former_path))
        self._tools.library.announce(document)
        self.counts.queued += 1

    async def _written_with(self, blob_key: str, writing: Awaitable[T]) -> T:
        try:
            return await writing
        except KnowledgeError as error:
            await discard_after(self._tools.blobs, blob_key, error)
            raise

    async def _add_archive(self, upload: StoredUpload, file: FolderFile) -> None:
        new = await self._tools.archives.keep(upload, Filing(source_path=file.path))
        queued = await self._written_with(new.blob_key, self._folder.add_archive(new, file))
        self._tools.archives.announce(queued)
        self.counts.queued += 1

    # Files that were moved

    async def _moved_from(self, found: FoundFile, file: FolderFile, filename: str) -> FolderFile | None:
        """The file that these bytes had been before, if it is no longer there."""
        twins = await self._folder.same_bytes(file.sha256 or "", _MOST_TWINS)
        twins = [
            item for item in twins if item.path != file.path and item.outcome in ("document", "archive", "deleted")
        ]
        twins.sort(key=lambda item: (item.path.rpartition("/")[2] != filename, item.path))
        for item in twins:
            if await asyncio.to_thread(is_gone, self._root, item.path, found):
                return item
        return None

    async def _move(self, upload: StoredUpload, file: FolderFile, former: FolderFile) -> None:
        if former.document_id is not None and _extension(former.path) != _extension(file.path):
            await self._add_revision(upload, file, former.path)  # another extension, another parser
            return
        document = await self._folder.move(former, file, safe_name(upload.filename))
        if document is not None:
            self._tools.changed(document)
        self.counts.unchanged += 1

    # Keeping account

    def _count(self, file: FolderFile | None) -> None:
        if file is not None and file.outcome == "duplicate":
            self.counts.duplicates += 1
        else:
            self.counts.unchanged += 1

    def _pass_over(self, found: FoundFile, old: FolderFile | None, outcome: FileOutcome, reason: str) -> None:
        file = FolderFile(found.path, found.size_bytes, found.modified_ns, found.changed_ns, None, outcome, {}, reason)
        if old is not None:  # what it became when it could be read stays known
            file = replace(
                file,
                sha256=old.sha256,
                metadata=old.metadata,
                document_id=old.document_id,
                archive_id=old.archive_id,
            )
        if file != old:
            self._written.append(file)
        if outcome == "unsupported":
            self.counts.unsupported += 1
        elif outcome == "oversized":
            self.counts.oversized += 1
        else:
            self.counts.failed += 1

    async def _flush(self) -> None:
        if self._written:
            written, self._written = self._written, []
            await self._folder.write(written)

    async def _room(self) -> None:
        """Returns when the worker is not too far behind."""
        self._since_room -= 1
        while self._since_room < 0:
            if await self._folder.waiting_jobs() < _QUEUE_AHEAD:
                self._since_room = _ROOM_FILES
                return
            if self._tools.stopping():
                raise StoppedError
            await asyncio.sleep(_ROOM_POLL_S)


def _is_unchanged(found: FoundFile, old: FolderFile | None, metadata: Metadata) -> bool:
    if old is None or old.outcome not in ("document", "archive", "duplicate", "deleted"):
        return False
    if (old.size_bytes, old.modified_ns, old.changed_ns) != (found.size_bytes, found.modified_ns, found.changed_ns):
        return False
    return old.outcome != "document" or old.metadata == metadata


def _extension(path: str) -> str:
    return extension_of(path.rpartition("/")[2])
