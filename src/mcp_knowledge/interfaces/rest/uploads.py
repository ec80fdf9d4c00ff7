"""Streaming multipart uploads: the file goes straight into a temporary file, counted and hashed on the way."""

import asyncio
import errno
import hashlib
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from mcp_knowledge.domain.disposition import read_disposition
from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.domain.metadata import MAX_METADATA_BYTES, check_metadata
from mcp_knowledge.errors import KnowledgeError, storing
from mcp_knowledge.interfaces.rest.arguments import body_pieces, parse_json
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.library import Library, StoredUpload

Door = Intake | Library

_FORM_OVERHEAD_BYTES = 1024 * 1024  # boundaries, part headers and small fields beside the file
_BUFFER_BYTES = 1024 * 1024  # what is gathered before a write leaves the event loop
# Uploads leave so much of the disk free, or this part of a small one: the database, which may be on it, must go on.
_RESERVED_BYTES = 64 * 1024 * 1024
_RESERVED_SHARE = 0.02
_INLINE_BYTES = 64 * 1024  # hashing and writing this little costs less than handing it to a thread


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A received form. The file is the receiver's to remove."""

    file: StoredUpload
    collection_id: str | None
    metadata: Metadata | None


async def receive_upload(request: Request, door: Door, max_bytes: int) -> UploadForm:
    """Read a multipart form with one file.

    Args:
        door: where the file will go; it says which names are accepted.
        max_bytes: the largest file.

    Raises:
        ClientDisconnect: the client went away; nothing is left behind, as after every error.
        KnowledgeError: INVALID_UPLOAD, INVALID_METADATA, PAYLOAD_TOO_LARGE, DOCUMENT_UNSUPPORTED_FORMAT, and
            SERVICE_UNAVAILABLE when the disk is full.
    """
    boundary = _boundary(request)
    most = max_bytes + _FORM_OVERHEAD_BYTES
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > most):
        raise _too_large(max_bytes)
    _check_room(door.upload_dir(), int(announced) if announced.isdecimal() else 0)
    with _Receiver(door, max_bytes) as receiver:
        parser = receiver.parser(boundary)
        received = 0
        async for piece in body_pieces(request):
            received += len(piece)
            if received > most:
                raise _too_large(max_bytes)
            try:
                parser.write(piece)
            except FormParserError:
                raise KnowledgeError("INVALID_UPLOAD", "The multipart body is malformed.") from None
            if receiver.buffered >= _BUFFER_BYTES:
                await receiver.flush()
        return await receiver.finish()


def _boundary(request: Request) -> bytes:
    media_type, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if media_type != b"multipart/form-data" or not 0 < len(boundary) <= 200:
        raise KnowledgeError("INVALID_UPLOAD", "Send the document as multipart/form-data with a field named 'file'.")
    return boundary


def _too_large(max_bytes: int) -> KnowledgeError:
    return KnowledgeError("PAYLOAD_TOO_LARGE", f"This upload is too large: a file may have {max_bytes:,} bytes.")


def _check_room(folder: Path, size_bytes: int) -> None:
    """Raises SERVICE_UNAVAILABLE when the disk has no room for so much and what others need."""
    with storing():
        disk = shutil.disk_usage(folder)
        if disk.free - size_bytes < min(_RESERVED_BYTES, int(disk.total * _RESERVED_SHARE)):
            raise OSError(errno.ENOSPC, f"Uploads may not take the last {_RESERVED_BYTES:,} bytes of the disk")


class _Receiver:
    """What the parser's events add up to. Leaving it without `finish` removes the temporary file."""

    def __init__(self, door: Door, max_bytes: int) -> None:
        self._door = door
        self._max_bytes = max_bytes
        self._fields: dict[str, bytearray] = {}
        self._header_name = b""
        self._header_value = b""
        self._disposition = b""
        self._sink: bytearray | None = None
        self._in_file = False
        self._ended = False
        self._filename: str | None = None
        self._path: Path | None = None
        self._target: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._size_bytes = 0
        self._buffer = bytearray()
        self._kept = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._target is not None:
            self._target.close()
        if self._path is not None and not self._kept:
            self._path.unlink(missing_ok=True)

    def parser(self, boundary: bytes) -> MultipartParser:
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value_piece,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._part_data,
                "on_end": self._end,
            },
        )

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    async def flush(self) -> None:
        """Write out what is gathered: at once when it is little, else in a thread."""
        if len(self._buffer) > _INLINE_BYTES:
            await asyncio.to_thread(self._write)
        elif self._buffer:
            self._write()

    async def finish(self) -> UploadForm:
        """The whole form. Raises KnowledgeError."""
        if not self._ended:
            raise KnowledgeError("INVALID_UPLOAD", "The upload ended before it was complete.")
        if self._filename is None:
            raise KnowledgeError("INVALID_UPLOAD")
        if not self._size_bytes:
            raise KnowledgeError("INVALID_UPLOAD", "This file is empty.")
        await self.flush()
        assert self._target is not None and self._path is not None
        self._target.close()
        collection_id = self._text("collectionId")
        metadata = self._fields.get("metadata")
        form = UploadForm(
            file=StoredUpload(self._path, self._filename, self._size_bytes, self._hash.hexdigest()),
            collection_id=collection_id or None,
            metadata=check_metadata(parse_json(bytes(metadata), "INVALID_METADATA")) if metadata else None,
        )
        self._kept = True
        return form

    def _text(self, name: str) -> str | None:
        value = self._fields.get(name)
        if value is None:
            return None
        try:
            return value.decode().strip()
        except UnicodeDecodeError:
            raise KnowledgeError("INVALID_UPLOAD", f"{name}: is not UTF-8.") from None

    # The parser's events, in the order in which they come

    def _part_begin(self) -> None:
        self._disposition = b""
        self._sink = None
        self._in_file = False

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _header_value_piece(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _header_end(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = self._header_value
        self._header_name = self._header_value = b""

    def _headers_finished(self) -> None:
        name, filename = read_disposition(self._disposition)
        if name == "file":
            self._begin_file(filename)
        elif name in ("collectionId", "metadata"):
            if name in self._fields:
                raise KnowledgeError("INVALID_UPLOAD", f"{name}: was given more than once.")
            self._sink = self._fields[name] = bytearray()

    def _begin_file(self, filename: str | None) -> None:
        if not filename:
            raise KnowledgeError("INVALID_UPLOAD", "The field 'file' must be a file with a name.")
        if self._filename is not None:
            raise KnowledgeError("INVALID_UPLOAD", "Send one file in each request.")
        self._door.check_extension(filename)
        self._filename = filename
        self._in_file = True
        with storing():
            self._path = self._door.upload_dir() / f"{secrets.token_hex(16)}.upload"
            self._target = self._path.open("xb", buffering=0)

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._size_bytes += end - start
            if self._size_bytes > self._max_bytes:
                raise _too_large(self._max_bytes)
            self._buffer += data[start:end]
        elif self._sink is not None:
            self._sink += data[start:end]
            if len(self._sink) > MAX_METADATA_BYTES:
                is_metadata = self._sink is self._fields.get("metadata")
                code = "INVALID_METADATA" if is_metadata else "INVALID_UPLOAD"
                raise KnowledgeError(code, "A form field is too large.")

    def _end(self) -> None:
        self._ended = True

    def _write(self) -> None:
        assert self._target is not None and self._path is not None
        self._hash.update(self._buffer)
        _check_room(self._path.parent, len(self._buffer))
        with storing(), memoryview(self._buffer) as view:
            done = 0
            while done < len(view):
                done += self._target.write(view[done:])
        self._buffer = bytearray()
