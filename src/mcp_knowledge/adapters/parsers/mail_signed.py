"""Messages wrapped in their signature (S/MIME `signed-data`): the readable content of a CMS structure."""

from collections.abc import Iterator

# Object identifiers with tag and length (RFC 5652, sections 5.1 and 4): id-signedData and id-data.
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_DATA = bytes.fromhex("06092a864886f70d010701")
_EXPLICIT_CONTENT = 0xA0
_OCTETS, _OCTETS_IN_PIECES = 0x04, 0x24
_HEAD_BYTES = 64  # the identifier of the whole stands at its beginning
_MOST_PIECES = 1_000_000


def signed_content(data: bytes) -> bytes | None:
    """What a signature wraps, a part of a message; None when the data is something else or broken."""
    if _SIGNED_DATA not in data[:_HEAD_BYTES]:
        return None
    at = data.find(_DATA)
    if at < 0:
        return None
    try:
        tag, at, _ = _header(data, at + len(_DATA))
        if tag != _EXPLICIT_CONTENT:
            return None
        return b"".join(_octets(data, at)) or None
    except (IndexError, ValueError):
        return None


def _octets(data: bytes, at: int) -> Iterator[bytes]:
    """The pieces of an octet string that begins at `at`; large ones are written in many."""
    tag, at, length = _header(data, at)
    if tag == _OCTETS and length is not None:
        yield data[at : at + length]
        return
    if tag != _OCTETS_IN_PIECES:
        raise ValueError("no octet string")
    end = len(data) if length is None else at + length
    for _ in range(_MOST_PIECES):
        if at >= end:
            return
        tag, begin, size = _header(data, at)
        if tag != _OCTETS or size is None:
            return
        yield data[begin : begin + size]
        at = begin + size


def _header(data: bytes, at: int) -> tuple[int, int, int | None]:
    """Tag, start of the content, and its length in bytes (None: up to an end mark) of an element (X.690, 8.1)."""
    tag, first = data[at], data[at + 1]
    at += 2
    if first == 0x80:
        return tag, at, None
    if first < 0x80:
        return tag, at, first
    size = first & 0x7F
    return tag, at + size, int.from_bytes(data[at : at + size], "big")
