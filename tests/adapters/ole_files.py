"""OLE compound files made in code (MS-CFB, version 3): small streams and storages, enough for the readers' tests."""

import struct
from collections.abc import Mapping

_SECTOR = 512
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_MIN_STREAM = 4096  # smaller streams would belong into the mini stream: they are filled up


def make_ole(streams: Mapping[str, bytes]) -> bytes:
    """A file with these streams at its root, filled up with zero bytes; `storage/name` stands in a storage."""
    sectors: list[bytes] = []
    fat: list[int] = []

    def chain(data: bytes) -> int:
        first = len(sectors)
        pieces = [data[at : at + _SECTOR].ljust(_SECTOR, b"\0") for at in range(0, len(data), _SECTOR)]
        for index, piece in enumerate(pieces):
            sectors.append(piece)
            fat.append(len(sectors) if index < len(pieces) - 1 else _END)
        return first

    storages = sorted({path.partition("/")[0] for path in streams if "/" in path})
    entries: list[tuple[str, int, int, int, int, int]] = []  # name, type, right sibling, child, start, size
    roots = [path for path in streams if "/" not in path] + storages
    number = {path: index for index, path in enumerate(roots, 1)}
    inner = {storage: [path for path in streams if path.startswith(storage + "/")] for storage in storages}
    for path in (path for storage in storages for path in inner[storage]):
        number[path] = len(number) + 1
    entries.append(("Root Entry", 5, _FREE, 1 if roots else _FREE, _END, 0))
    for siblings in (roots, *(inner[storage] for storage in storages)):
        for path, following in zip(siblings, [*siblings[1:], None], strict=True):
            right = number[following] if following else _FREE
            name = path.rpartition("/")[2]
            if path in storages:
                entries.append((name, 1, right, number[inner[path][0]], 0, 0))
            else:
                data = streams[path].ljust(_MIN_STREAM, b"\0")
                entries.append((name, 2, right, _FREE, chain(data), len(data)))
    directory = chain(b"".join(_entry(*entry) for entry in entries))
    fat_at, fat_sectors = len(sectors), 1
    while (len(fat) + fat_sectors) * 4 > fat_sectors * _SECTOR:
        fat_sectors += 1
    fat += [_FAT] * fat_sectors
    fat += [_FREE] * (fat_sectors * _SECTOR // 4 - len(fat))
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, fat_sectors, directory, 0, _MIN_STREAM,
        _END, 0, _END, 0, fat_at,
    )  # fmt: skip
    header += struct.pack(f"<{fat_sectors - 1}I", *range(fat_at + 1, fat_at + fat_sectors))
    header += b"\xff" * (_SECTOR - len(header))
    return header + b"".join(sectors) + struct.pack(f"<{len(fat)}I", *fat)


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le") + b"\0\0"
    return struct.pack("<64sHBBIII16xI16xIII", encoded, len(encoded), kind, 1, _FREE, right, child, 0, start, size, 0)
