"""Old workbooks that open without a password though they are encrypted: Excel itself uses one that all know.

It does so when only the structure of a workbook is protected. Sources: MS-XLS 2.2.10 and 2.4.117 (which bytes are
encrypted), MS-OFFCRYPTO 2.3.5 and 2.3.6 (keys of RC4). Workbooks with any other password stay closed.
"""

import hashlib
import struct
from collections.abc import Callable
from itertools import count

FILE_PASS = 0x2F
_PASSWORD = "VelvetSweatshop".encode("utf-16-le")  # MS-OFFCRYPTO 2.3.7.1: no secret
_RC4 = 1
_BLOCK_BYTES = 1024
_BEGIN, _BOUND_SHEET = 0x0809, 0x85
# Records that are never encrypted (MS-XLS 2.2.10), and how much of a sheet's entry is not: where it begins.
_PLAIN = frozenset({_BEGIN, FILE_PASS, 0xE1, 0x194, 0x195, 0x196, 0x138})
_PLAIN_OF_BOUND_SHEET = 4
_VERIFIER_BYTES = 16

Key = Callable[[int], bytes]


def default_key(file_pass: bytes) -> Key | None:
    """The keys by block of a workbook that has the password everybody knows; None for any other.

    Args:
        file_pass: the content of the workbook's FilePass record.
    """
    try:
        kind, major, minor = struct.unpack_from("<3H", file_pass)
        if kind != _RC4:
            return None
        key, verifier, digest = _simple(file_pass) if (major, minor) == (1, 1) else _extended(file_pass, major, minor)
    except (struct.error, ValueError):
        return None
    plain = _rc4(key(0), verifier + digest)
    hashed = hashlib.md5 if (major, minor) == (1, 1) else hashlib.sha1
    stated = plain[_VERIFIER_BYTES : _VERIFIER_BYTES + hashed().digest_size]
    return key if hashed(plain[:_VERIFIER_BYTES]).digest() == stated else None


def _simple(file_pass: bytes) -> tuple[Key, bytes, bytes]:
    """Keys of 40 bits, and the encrypted verifier and its digest."""
    salt, verifier, digest = struct.unpack_from("<16s16s16s", file_pass, 6)
    base = hashlib.md5((hashlib.md5(_PASSWORD).digest()[:5] + salt) * 16).digest()[:5]
    return (lambda block: hashlib.md5(base + struct.pack("<I", block)).digest()), verifier, digest


def _extended(file_pass: bytes, major: int, minor: int) -> tuple[Key, bytes, bytes]:
    """Keys of the size that the header states."""
    if major not in (2, 3, 4) or minor != 2:
        raise ValueError
    (header_bytes,) = struct.unpack_from("<I", file_pass, 10)
    (key_bits,) = struct.unpack_from("<I", file_pass, 14 + 16)
    salt, verifier, _, digest = struct.unpack_from("<4x16s16sI20s", file_pass, 14 + header_bytes)
    base = hashlib.sha1(salt + _PASSWORD).digest()
    size = (key_bits or 40) // 8

    def key(block: int) -> bytes:
        start = hashlib.sha1(base + struct.pack("<I", block)).digest()[:size]
        return start.ljust(16, b"\0") if size == 5 else start

    return key, verifier, digest


def decrypted(stream: bytes, key: Key) -> bytes:
    """A workbook's stream in clear, with each record at its old place."""
    clear = bytearray(_rc4_blocks(stream, key))
    at = 0
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        plain = size if kind in _PLAIN else _PLAIN_OF_BOUND_SHEET if kind == _BOUND_SHEET else 0
        clear[at : at + 4 + plain] = stream[at : at + 4 + plain]
        at += 4 + size
    return bytes(clear[: len(stream)])


def _rc4_blocks(stream: bytes, key: Key) -> bytes:
    blocks = (stream[start : start + _BLOCK_BYTES] for start in range(0, len(stream), _BLOCK_BYTES))
    return b"".join(_rc4(key(number), block) for number, block in zip(count(), blocks, strict=False))


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) & 0xFF
        state[i], state[j] = state[j], state[i]
    stream = bytearray(len(data))
    i = j = 0
    for at in range(len(data)):
        i = (i + 1) & 0xFF
        j = (j + state[i]) & 0xFF
        state[i], state[j] = state[j], state[i]
        stream[at] = state[(state[i] + state[j]) & 0xFF]
    return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(data), "little")
