"""OLE compound files made in code (MS-CFB, version 3)."""

import struct
from collections.abc import Mapping

_SECTOR_BYTES = 512
_MIN_STREAM_BYTES = 4096  # shorter streams would need the small sectors of another stream
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_ROOT, _STREAM = 5, 2


def make_ole(streams: Mapping[str, bytes]) -> bytes:
    """A file with these streams in its root; those below 4096 bytes get zeros at their end."""
    padded = {name: data.ljust(_MIN_STREAM_BYTES, b"\0") for name, data in streams.items()}
    directory_sectors = -(-(len(padded) + 1) // 4)
    table = [*range(1, directory_sectors), _END]
    entries = [_entry("Root Entry", _ROOT, _END, 0, child=1 if padded else _FREE)]
    body = b""
    for index, (name, data) in enumerate(padded.items(), 1):
        count = -(-len(data) // _SECTOR_BYTES)
        first = len(table)
        table += [*range(first + 1, first + count), _END]
        # The streams form a chain of right siblings: not balanced, but every reader walks it.
        sibling = index + 1 if index < len(padded) else _FREE
        entries.append(_entry(name, _STREAM, first, len(data), right=sibling))
        body += data.ljust(count * _SECTOR_BYTES, b"\0")
    fat_sectors = 1
    while (len(table) + fat_sectors) * 4 > fat_sectors * _SECTOR_BYTES:
        fat_sectors += 1
    fat_at = len(table)
    table += [_FAT] * fat_sectors
    fat = struct.pack(f"<{len(table)}I", *table).ljust(fat_sectors * _SECTOR_BYTES, b"\xff")
    listing = b"".join(entries).ljust(directory_sectors * _SECTOR_BYTES, b"\0")
    return _header(fat_at, fat_sectors) + listing + body + fat


def _entry(name: str, kind: int, first: int, size: int, right: int = _FREE, child: int = _FREE) -> bytes:
    text = name.encode("utf-16-le") + b"\0\0"
    head = struct.pack("<64sHBBIII", text, len(text), kind, 1, _FREE, right, child)
    return head + bytes(36) + struct.pack("<IQ", first, size)


def _header(fat_at: int, fat_sectors: int) -> bytes:
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<IIIIIIIII", 0, fat_sectors, 0, 0, _MIN_STREAM_BYTES, _END, 0, _END, 0)
    return head + struct.pack("<109I", *(*range(fat_at, fat_at + fat_sectors), *[_FREE] * (109 - fat_sectors)))
