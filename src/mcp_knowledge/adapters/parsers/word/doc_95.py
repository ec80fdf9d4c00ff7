"""Word 6 and 95 files, which anydoc does not read: their paragraphs, without styles.

Offsets are those of the FIB of that time (nFib 101 to 105); the text has one byte a character.
"""

import struct
from collections.abc import Iterator

from mcp_knowledge.adapters.parsers.ole_properties import code_page_name
from mcp_knowledge.adapters.parsers.word.doc_binary import visible
from mcp_knowledge.domain.blocks import Paragraph
from mcp_knowledge.errors import KnowledgeError

MAGIC = 0xA5DC
_LANGUAGE, _FLAGS, _TEXT_BOUNDS, _MAIN_LENGTH, _PIECES = 0x06, 0x0A, 0x18, 0x34, 0x160
_IN_PIECES = 0x0004
_WINDOWS_LATIN = 1252
# Code pages by primary language (MS-LCID); all others are Windows-1252.
_CODE_PAGES = {
    0x01: 1256, 0x20: 1256, 0x29: 1256, 0x02: 1251, 0x19: 1251, 0x22: 1251, 0x23: 1251, 0x05: 1250, 0x0E: 1250,
    0x15: 1250, 0x18: 1250, 0x1A: 1250, 0x1B: 1250, 0x24: 1250, 0x08: 1253, 0x0D: 1255, 0x1E: 874, 0x1F: 1254,
    0x25: 1257, 0x26: 1257, 0x27: 1257, 0x2A: 1258, 0x11: 932, 0x12: 949, 0x04: 936,
}  # fmt: skip
_TRADITIONAL_CHINESE = frozenset({0x0404, 0x0C04, 0x1404})


def is_word_95(document: bytes) -> bool:
    """Whether the stream WordDocument is of that time."""
    return int.from_bytes(document[:2], "little") == MAGIC


def paragraphs(document: bytes) -> Iterator[Paragraph]:
    """The main text. Raises DOCUMENT_MALFORMED when it cannot be found."""
    try:
        language, flags = struct.unpack_from("<H2xH", document, _LANGUAGE)
        first, last = struct.unpack_from("<2I", document, _TEXT_BOUNDS)
        (length,) = struct.unpack_from("<I", document, _MAIN_LENGTH)
    except struct.error:
        raise KnowledgeError("DOCUMENT_MALFORMED") from None
    raw = b"".join(_pieces(document)) if flags & _IN_PIECES else document[first:last]
    page = 950 if language in _TRADITIONAL_CHINESE else _CODE_PAGES.get(language & 0x3FF, _WINDOWS_LATIN)
    yield from plain_paragraphs(raw[:length].decode(code_page_name(page), "replace"))


def plain_paragraphs(text: str) -> Iterator[Paragraph]:
    """Paragraphs of a text with Word's marks; the cells of a row stand in one line."""
    for part in text.replace("\x07\x07", "\r").replace("\x0c", "\r").split("\r"):
        cells = (" ".join(visible(cell).split()) for cell in part.split("\x07"))
        if line := " | ".join(filter(None, cells)):
            yield Paragraph(line)


def _pieces(document: bytes) -> Iterator[bytes]:
    try:
        start, length = struct.unpack_from("<2I", document, _PIECES)
        data = document[start : start + length]
        at = 0
        while data[at] == 1:
            at += 3 + int.from_bytes(data[at + 1 : at + 3], "little")
        data = data[at + 5 :]
        count = (len(data) - 4) // 12
        places = struct.unpack_from(f"<{count + 1}I", data)
        offsets = [struct.unpack_from("<I", data, (count + 1) * 4 + index * 8 + 2)[0] for index in range(count)]
    except (struct.error, IndexError):
        raise KnowledgeError("DOCUMENT_MALFORMED") from None
    for first, last, offset in zip(places, places[1:], offsets, strict=False):
        yield document[offset : offset + max(0, last - first)]
