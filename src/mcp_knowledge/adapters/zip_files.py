"""Zip archives. What they declare is not believed: everything is inflated once and measured before anything is used.

Only stored and deflated entries are read. They are nearly all that is found, and the standard library inflates the
other methods without a bound.
"""

import asyncio
import hashlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_knowledge.adapters.zip_names import member_name
from mcp_knowledge.errors import KnowledgeError, storing
from mcp_knowledge.ports import ArchiveMember, MemberFault, MemberKind
from mcp_knowledge.settings import Settings

_PIECE_BYTES = 256 * 1024
# What an entry may take in the directory on average. Far above what is usual, and it bounds what has to be read
# before the entries can be counted.
_DIRECTORY_BYTES_PER_ENTRY = 1024
_DIRECTORY_FLOOR_BYTES = 128 * 1024
_RATIO_FLOOR_BYTES = 1024 * 1024  # small repetitive files compress better than any bomb
_ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000  # APPNOTE.TXT 4.4.4: encrypted, strong encryption, masked header values
_AES_METHOD = 99
_UNIX_SYSTEMS = (3, 19)  # APPNOTE.TXT 4.4.2.2: the attributes have a file mode; 19 is macOS
_DOS_DIRECTORY = 0x10
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")  # APPNOTE.TXT 4.3.7
_LOCAL_SIGNATURE = b"PK\x03\x04"


class ZipReader:
    """Reads zip archives within the limits of the settings."""

    def __init__(self, settings: Settings) -> None:
        self._limits = _Limits(
            settings.max_archive_entries,
            settings.max_archive_uncompressed_bytes,
            settings.max_archive_compression_ratio,
        )

    async def open(self, path: Path) -> "OpenZip":
        """Read and measure. Raises ARCHIVE_TOO_LARGE, ARCHIVE_MALFORMED, ARCHIVE_ENCRYPTED."""
        return await asyncio.to_thread(_open, path, self._limits)


@dataclass(frozen=True, slots=True)
class _Limits:
    entries: int
    bytes: int
    ratio: int


@dataclass(frozen=True, slots=True)
class OpenZip:
    """A zip archive that was found within the limits. `infos` and `members` go together."""

    path: Path
    infos: Sequence[zipfile.ZipInfo]
    members: Sequence[ArchiveMember]

    async def extract(self, member: ArchiveMember, target: Path) -> str:
        """Write a member's bytes into a new file; their SHA-256. Raises SERVICE_UNAVAILABLE when the disk is full."""
        return await asyncio.to_thread(self._extract, self.infos[member.position], target)

    def _extract(self, info: zipfile.ZipInfo, target: Path) -> str:
        digest = hashlib.sha256()
        with storing(), self.path.open("rb") as file, target.open("xb") as output:
            for piece in _inflated(file, info):
                digest.update(piece)
                output.write(piece)
        return digest.hexdigest()


class _TooLargeDirectoryError(Exception):
    """The directory alone has more bytes than its entries may take."""


class _DirectoryFile(io.FileIO):
    """A file of which no more is read at once than the directory of an allowed archive has: `zipfile` takes the whole
    directory in before it knows how many entries there are.
    """

    def __init__(self, path: Path, most_bytes: int) -> None:
        super().__init__(path)
        self._most_bytes = most_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._most_bytes:
            raise _TooLargeDirectoryError
        return super().read(-1 if size is None else size) or b""


def _open(path: Path, limits: _Limits) -> OpenZip:
    most_bytes = max(_DIRECTORY_FLOOR_BYTES, limits.entries * _DIRECTORY_BYTES_PER_ENTRY)
    try:
        with _DirectoryFile(path, most_bytes) as directory, zipfile.ZipFile(directory) as archive:
            infos, directory_start = archive.infolist(), archive.start_dir
    except _TooLargeDirectoryError:
        raise _too_many(limits) from None
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, struct.error, OverflowError):
        raise KnowledgeError("ARCHIVE_MALFORMED") from None
    if len(infos) > limits.entries:
        raise _too_many(limits)
    if any(info.flag_bits & _ENCRYPTED_FLAGS or info.compress_type == _AES_METHOD for info in infos):
        raise KnowledgeError("ARCHIVE_ENCRYPTED")
    with path.open("rb") as file:
        _refuse_overlaps(file, infos, directory_start)
        return OpenZip(path, infos, _measured(file, infos, limits))


def _too_many(limits: _Limits) -> KnowledgeError:
    return KnowledgeError("ARCHIVE_TOO_LARGE", f"This archive has more than {limits.entries:,} entries.")


def _refuse_overlaps(file: io.BufferedReader, infos: Sequence[zipfile.ZipInfo], directory_start: int) -> None:
    """Entries that share bytes are how a small archive holds petabytes. Raises ARCHIVE_MALFORMED."""
    free_from = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < free_from:
            raise KnowledgeError("ARCHIVE_MALFORMED", "Files of this archive overlap.")
        start = _data_start(file, info)
        free_from = info.header_offset if start is None else start + info.compress_size
    if free_from > directory_start:
        raise KnowledgeError("ARCHIVE_MALFORMED", "Files of this archive overlap.")


def _data_start(file: io.BufferedReader, info: zipfile.ZipInfo) -> int | None:
    """Where an entry's bytes begin, after its own header; None when there is no such header."""
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(_LOCAL_SIGNATURE):
        return None
    name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)[-2:]
    return info.header_offset + _LOCAL_HEADER.size + int(name_bytes) + int(extra_bytes)


def _measured(file: io.BufferedReader, infos: Sequence[zipfile.ZipInfo], limits: _Limits) -> tuple[ArchiveMember, ...]:
    packed_bytes = sum(info.compress_size for info in infos)
    left = min(limits.bytes, max(_RATIO_FLOOR_BYTES, packed_bytes * limits.ratio))
    members = []
    for position, info in enumerate(infos):
        size_bytes, fault = _measure(file, info, left, limits.ratio)
        left -= size_bytes
        members.append(ArchiveMember(position, member_name(info), _kind(info), size_bytes, fault))
    return tuple(members)


def _measure(
    file: io.BufferedReader, info: zipfile.ZipInfo, left: int, max_ratio: int
) -> tuple[int, MemberFault | None]:
    """The true size of an entry, and what is wrong with it. Raises ARCHIVE_TOO_LARGE."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return 0, "compression"
    size_bytes, checksum = 0, 0
    densest = max(_RATIO_FLOOR_BYTES, info.compress_size * max_ratio)
    try:
        for piece in _inflated(file, info):
            size_bytes += len(piece)
            checksum = zlib.crc32(piece, checksum)
            if size_bytes > left:
                raise KnowledgeError("ARCHIVE_TOO_LARGE", "Too much is in this archive.")
            if size_bytes > densest:
                raise KnowledgeError("ARCHIVE_TOO_LARGE", "A file of this archive is compressed suspiciously well.")
    except (zlib.error, EOFError):
        return size_bytes, "damaged"
    sound = size_bytes == info.file_size and checksum == info.CRC
    return size_bytes, None if sound else "damaged"


def _inflated(file: io.BufferedReader, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """An entry's bytes, in pieces of bounded size. Raises zlib.error or EOFError when they are damaged."""
    start = _data_start(file, info)
    if start is None:
        raise EOFError
    file.seek(start)
    left = info.compress_size
    inflater = zlib.decompressobj(-zlib.MAX_WBITS) if info.compress_type == zipfile.ZIP_DEFLATED else None
    while left:
        piece = file.read(min(left, _PIECE_BYTES))
        if not piece:
            raise EOFError
        left -= len(piece)
        if inflater is None:
            yield piece
            continue
        while piece and not inflater.eof:
            yield inflater.decompress(piece, _PIECE_BYTES)
            piece = inflater.unconsumed_tail
    while inflater is not None and not inflater.eof:  # what the inflater still holds back
        rest = inflater.decompress(b"", _PIECE_BYTES)
        if not rest:
            raise EOFError
        yield rest


def _kind(info: zipfile.ZipInfo) -> MemberKind:
    mode = info.external_attr >> 16 if info.create_system in _UNIX_SYSTEMS else 0
    if info.filename.endswith(("/", "\\")) or stat.S_ISDIR(mode):
        return "directory"
    if info.external_attr & _DOS_DIRECTORY and not info.file_size and not stat.S_IFMT(mode):
        return "directory"
    return "file" if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "other"
