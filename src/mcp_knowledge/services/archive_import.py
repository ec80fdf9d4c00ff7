"""The import of one archive: each file is judged, extracted, kept and written with its outcome."""

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.archive_paths import UnsafePathError, entry_path, is_noise, shown_path
from mcp_knowledge.domain.documents import ArchiveEntry, ArchiveImport, EntryOutcome
from mcp_knowledge.domain.filenames import is_owner_file
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import ArchiveMember, ArchiveReader, ArchiveStore, BlobStore, OpenArchive
from mcp_knowledge.services.cleanup import discard_after, discard_blob
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.library import Filing, Library, StoredUpload

_TELL_EVERY_S = 0.5
_NESTED = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz")
# Names that stand at the root of a package: a document under the name of an archive, not a folder of documents.
_PACKAGE_MARKS = (
    frozenset({"[Content_Types].xml"}),
    frozenset({"mimetype", "META-INF/manifest.xml"}),
    frozenset({"mimetype", "META-INF/container.xml"}),
)


class ImportLostError(Exception):
    """The import is another worker's by now, or was purged."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A file that is to become a document."""

    member: ArchiveMember
    path: str


class ArchiveImporter:
    """Sees a claimed import through. Whoever comes after a killed one goes on where it stood.

    Args:
        max_upload_bytes: larger files are left out.
    """

    def __init__(
        self,
        store: ArchiveStore,
        blobs: BlobStore,
        reader: ArchiveReader,
        library: Library,
        events: Events,
        max_upload_bytes: int,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._reader = reader
        self._library = library
        self._events = events
        self._max_upload_bytes = max_upload_bytes
        self._told = 0.0

    async def run(self, held: ArchiveImport, is_stopping: Callable[[], bool]) -> bool:
        """Import what is not imported yet; whether that was all.

        Raises:
            KnowledgeError: ARCHIVE_TOO_LARGE, ARCHIVE_MALFORMED, ARCHIVE_ENCRYPTED, before anything was imported.
            ImportLostError: somebody else has it.
        """
        assert held.blob_key is not None
        async with self._blobs.local_copy(held.blob_key) as path:
            archive = await self._reader.open(path)
            _refuse_packages(archive.members)
            wanted, skipped = self._judge(archive.members)
            known = {entry.position for entry in (await self._store.entries([held.id]))[held.id]}
            await _held(self._store.set_file_count(held, len(wanted) + len(skipped)))
            await _held(self._store.skip(held, [entry for entry in skipped if entry.position not in known]))
            for item in wanted:
                if item.member.position in known:
                    continue
                if is_stopping():
                    return False
                await self._tell(held)
                await self._add(held, archive, item)
        return True

    async def _tell(self, held: ArchiveImport) -> None:
        now = time.monotonic()
        if now - self._told >= _TELL_EVERY_S:
            self._told = now
            if (present := await self._store.get(held.id)) is not None:
                self._events.publish("archive", present)

    async def _add(self, held: ArchiveImport, archive: OpenArchive, item: _Wanted) -> None:
        target = self._library.upload_dir() / f"{secrets.token_hex(16)}.entry"
        try:
            digest = await archive.extract(item.member, target)
            upload = StoredUpload(target, item.path, item.member.size_bytes, digest)
            filing = Filing(held.collection_id, held.metadata, item.path, held.source_url)
            new = await self._library.keep(upload, filing)
        finally:
            target.unlink(missing_ok=True)
        try:
            added = await self._store.add_document(held, item.member.position, item.path, new)
        except KnowledgeError as error:
            await discard_after(self._blobs, new.blob_key, error)
            raise
        if added is None or added[0].outcome == "duplicate":
            await discard_blob(self._blobs, new.blob_key)
        if added is None:
            raise ImportLostError
        entry, document = added
        if entry.outcome == "extracted":
            self._library.announce(document)

    def _judge(self, members: Sequence[ArchiveMember]) -> tuple[list[_Wanted], list[ArchiveEntry]]:
        """What is to become a document, and the outcomes of all other files."""
        wanted, skipped = [], []
        for member in members:
            if member.kind == "directory" or is_noise(member.name):
                continue
            try:
                path = entry_path(member.name)
            except UnsafePathError as error:
                skipped.append(_skipped(member, "failed", "ARCHIVE_ENTRY_UNSAFE", str(error)))
                continue
            refused = self._refused(member, path)
            if refused is None:
                wanted.append(_Wanted(member, path))
            else:
                skipped.append(refused)
        return wanted, skipped

    def _refused(self, member: ArchiveMember, path: str) -> ArchiveEntry | None:
        if member.kind == "other":
            return _skipped(member, "failed", "ARCHIVE_ENTRY_UNSAFE", "This is a link, not a file.")
        if is_owner_file(path.rpartition("/")[2]):
            sentence = "An office program's note that a document is open."
            return _skipped(member, "unsupported", "DOCUMENT_UNSUPPORTED_FORMAT", sentence)
        if path.lower().endswith(_NESTED):
            return _skipped(member, "unsupported", "DOCUMENT_UNSUPPORTED_FORMAT", "Archives in archives are not read.")
        try:
            self._library.check_extension(path)
        except KnowledgeError as error:
            return _skipped(member, "unsupported", error.code)
        if member.size_bytes > self._max_upload_bytes:
            return _skipped(member, "oversized", "PAYLOAD_TOO_LARGE", "This file is too large.")
        if member.fault == "compression":
            sentence = "This file is compressed in a way that is not read. Zip it again with the usual method."
            return _skipped(member, "failed", "DOCUMENT_MALFORMED", sentence)
        if member.fault is not None:
            return _skipped(member, "failed", "DOCUMENT_MALFORMED", "This file is damaged in the archive.")
        if member.size_bytes == 0:
            return _skipped(member, "failed", "DOCUMENT_EMPTY", "This file is empty.")
        return None


async def _held(written: Awaitable[bool]) -> None:
    if not await written:
        raise ImportLostError


def _refuse_packages(members: Sequence[ArchiveMember]) -> None:
    names = {member.name for member in members}
    if any(marks <= names for marks in _PACKAGE_MARKS):
        raise KnowledgeError(
            "ARCHIVE_MALFORMED", "This is a document and not an archive. Give it the extension of its format."
        )


def _skipped(member: ArchiveMember, outcome: EntryOutcome, code: str, sentence: str | None = None) -> ArchiveEntry:
    try:
        path = entry_path(member.name)
    except UnsafePathError:
        path = member.name
    error = f"{code}: {sentence or ERROR_CODES[code].message}"
    return ArchiveEntry(member.position, shown_path(path), outcome, error=error)
