"""What `ingest` was told to take in: files, folders of files, and addresses in the web."""

import asyncio
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.errors import KnowledgeError, storing
from mcp_knowledge.interfaces.cli.report import Skipped
from mcp_knowledge.services import Services
from mcp_knowledge.services.archives import ArchiveReceipt
from mcp_knowledge.services.folder_walk import walk
from mcp_knowledge.services.library import Filing, StoredUpload, UploadReceipt

_URL = re.compile(r"[a-z][a-z0-9+.-]+://|https?:", re.IGNORECASE)  # other schemes are refused by name
_PIECE_BYTES = 1 << 20
_MAX_DEPTH = 100  # folders, far beyond what people make


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file. `name`: its path below the folder that was named, else its own name."""

    file: Path
    name: str

    async def add(
        self, services: Services, collection_id: str | None, metadata: Metadata | None
    ) -> UploadReceipt | ArchiveReceipt:
        """Copy it and queue it. Raises KnowledgeError, OSError."""
        intake = services.intake
        intake.check_extension(self.file.name)
        upload = await asyncio.to_thread(
            _copy_for_upload, self.file, intake.upload_dir(), services.settings.max_upload_bytes
        )
        # An archive's place means something in the scanned folder only: elsewhere two may well have the same name.
        place = None if intake.is_archive(self.file.name) else self.name
        return await intake.add(upload, Filing(collection_id, metadata, place))


@dataclass(frozen=True, slots=True)
class UrlSource:
    """An address in the web."""

    name: str

    async def add(
        self, services: Services, collection_id: str | None, metadata: Metadata | None
    ) -> UploadReceipt | ArchiveReceipt:
        """Fetch it and queue it. Raises KnowledgeError."""
        return await services.urls.add(self.name, collection_id, metadata)


def is_url(text: str) -> bool:
    """Whether an argument is an address and no path."""
    return _URL.match(text) is not None


def find_sources(arguments: Iterable[str], skipped: list[Skipped]) -> Iterator[FileSource | UrlSource]:
    """Everything the arguments name; what is passed over in folders goes to `skipped`."""
    for argument in arguments:
        path = Path(argument)
        if is_url(argument):
            yield UrlSource(argument)
        elif path.is_dir():
            yield from _files_below(path, skipped)
        else:
            yield FileSource(path, path.name)


def _files_below(folder: Path, skipped: list[Skipped]) -> Iterator[FileSource]:
    found = walk(folder, _MAX_DEPTH, sys.maxsize, after=None)
    skipped += (Skipped(path or str(folder), reason) for path, reason in found.skipped.items())
    for file in found.files:
        yield FileSource(folder / file.name, file.path)


def _copy_for_upload(file: Path, folder: Path, max_bytes: int) -> StoredUpload:
    """Copy a file into the upload folder while hashing it. Raises KnowledgeError or OSError."""
    if not file.is_file():
        raise KnowledgeError("INVALID_UPLOAD", "This is not a regular file.")
    if file.stat().st_size > max_bytes:
        raise KnowledgeError("PAYLOAD_TOO_LARGE")
    with storing():
        handle, name = tempfile.mkstemp(dir=folder)
    try:
        with file.open("rb") as source, os.fdopen(handle, "wb") as target:
            while piece := source.read(_PIECE_BYTES):
                with storing():
                    target.write(piece)
            with storing():
                target.flush()
        with Path(name).open("rb") as copied:
            digest = hashlib.file_digest(copied, "sha256").hexdigest()
            size_bytes = os.fstat(copied.fileno()).st_size
        if size_bytes == 0:
            raise KnowledgeError("INVALID_UPLOAD", "This file is empty.")
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return StoredUpload(Path(name), file.name, size_bytes, digest)
