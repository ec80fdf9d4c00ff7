"""Zip archives for tests: honest ones, and such as no program would write."""

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
UNIX = 3


def zip_of(*files: tuple[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An ordinary archive of (path, content)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for path, content in files:
            archive.writestr(path, content)
    return buffer.getvalue()


@dataclass
class Entry:
    """An entry of a hand-made archive. What is None is told truly.

    Args:
        name: as bytes, in whatever encoding.
        mode: the Unix file mode, None for an archive of another system.
        offset: where the directory says that its header is.
    """

    name: bytes
    content: bytes = b"some text"
    flags: int = 0
    method: int = zipfile.ZIP_DEFLATED
    mode: int | None = None
    extra: bytes = b""
    size: int | None = None
    crc: int | None = None
    offset: int | None = None
    packed: bytes | None = None


def raw_zip(*entries: Entry, count: int | None = None, prefix: bytes = b"") -> bytes:
    """An archive made byte by byte. `count`: how many entries its end claims."""
    body, directory = bytearray(prefix), bytearray()
    for entry in entries:
        packed = entry.packed
        if packed is None:
            packed = deflated(entry.content) if entry.method == zipfile.ZIP_DEFLATED else entry.content
        size = len(entry.content) if entry.size is None else entry.size
        crc = zlib.crc32(entry.content) if entry.crc is None else entry.crc
        offset = len(body) if entry.offset is None else entry.offset
        common = (20, entry.flags, entry.method, 0, 0, crc, len(packed), size, len(entry.name), len(entry.extra))
        body += _LOCAL.pack(b"PK\x03\x04", *common) + entry.name + entry.extra + packed
        system = 0 if entry.mode is None else UNIX << 8
        attributes = 0 if entry.mode is None else entry.mode << 16
        directory += _CENTRAL.pack(b"PK\x01\x02", 20 | system, *common, 0, 0, 0, attributes, offset)
        directory += entry.name + entry.extra
    claimed = len(entries) if count is None else count
    end = _END.pack(b"PK\x05\x06", 0, 0, claimed, claimed, len(directory), len(body), 0)
    return bytes(body + directory + end)


def directory_only(count: int, claimed: int) -> bytes:
    """An archive whose directory has `count` empty entries that share one header, and whose end claims `claimed`."""
    header = _LOCAL.pack(b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"a"
    entry = _CENTRAL.pack(b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * count
    end = _END.pack(b"PK\x05\x06", 0, 0, claimed, claimed, len(directory), len(header), 0)
    return header + directory + end


def deflated(content: bytes) -> bytes:
    """As zip archives hold it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def unicode_path(raw: bytes, name: str, crc: int | None = None) -> bytes:
    """The Info-ZIP Unicode Path extra field (0x7075) for a raw name."""
    data = struct.pack("<BL", 1, zlib.crc32(raw) if crc is None else crc) + name.encode()
    return struct.pack("<HH", 0x7075, len(data)) + data


def bomb_of_overlaps(files: int, kernel_bytes: int) -> bytes:
    """Many entries whose headers are quoted within each other's data, down to one kernel that all of them inflate.

    After D. Fifield, "A better zip bomb" (USENIX WOOT 2019): each file is a stored block that quotes the next header.
    """
    kernel = deflated(b"0" * kernel_bytes)
    names = [f"{index:04}.txt".encode() for index in range(files)]
    parts: list[tuple[bytes, bytes, bytes]] = []  # name, packed data, content; from the innermost outwards
    content, packed = b"0" * kernel_bytes, kernel
    for name in reversed(names):
        parts.append((name, packed, content))
        header = _header(name, packed, content)
        packed = b"\x00" + struct.pack("<HH", len(header), 0xFFFF ^ len(header)) + header + packed
        content = header + content
    parts.reverse()
    name, packed, content = parts[0]
    body = _header(name, packed, content) + packed
    directory = bytearray()
    for name, packed, content in parts:
        offset = len(body) - len(packed) - len(_header(name, packed, content))
        directory += _CENTRAL.pack(
            b"PK\x01\x02", 20, 20, 0, 8, 0, 0, zlib.crc32(content), len(packed), len(content), len(name), 0, 0, 0, 0, 0,
            offset,
        )  # fmt: skip
        directory += name
    end = _END.pack(b"PK\x05\x06", 0, 0, files, files, len(directory), len(body), 0)
    return body + bytes(directory) + end


def _header(name: bytes, packed: bytes, content: bytes) -> bytes:
    fields = (20, 0, 8, 0, 0, zlib.crc32(content), len(packed), len(content), len(name), 0)
    return _LOCAL.pack(b"PK\x03\x04", *fields) + name


def nested(depth: int, content: bytes) -> bytes:
    """Archives in archives."""
    data = content
    for level in range(depth):
        data = zip_of((f"level{level}.zip", data))
    return data
