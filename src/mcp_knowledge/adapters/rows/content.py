"""Texts as they are stored, compressed: chunks one by one, normalized documents in segments of neighbouring blocks.

A page of blocks reads only the segments that it shows. The one segment of a short document is compressed against the
text of its chunks, which is the same text again: it takes a sixth of the room.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.sql import first_row, to_json
from mcp_knowledge.domain.blocks import Block, Heading, NormalizedDocument, block_from_json, block_to_json
from mcp_knowledge.ports import BlockPage, OutlineEntry

_PRESET_DICTIONARY = 0x20  # FDICT, bit 5 of a zlib stream's second byte (RFC 1950 section 2.2)
_SEGMENT_CHARS = 16_384  # of JSON: a page of 32,000 characters touches three segments

Segment = tuple[int, bytes]  # number of its first block, compressed blocks
PackedDocument = tuple[int, str | None, str | None, bytes | None, list[Segment]]


def pack_text(text: str) -> bytes:
    """A text as it is stored. Half of a surrogate pair becomes `?`."""
    return zlib.compress(text.encode("utf-8", "replace"))


def unpack_text(packed: bytes) -> str:
    """The reverse of `pack_text`."""
    return zlib.decompress(packed).decode()


def pack(document: NormalizedDocument, chunk_texts: Sequence[str]) -> PackedDocument:
    """Block count, title, metadata, outline and segments as they are stored. Needs no database."""
    outline = [(i, block.level, block.text) for i, block in enumerate(document.blocks) if isinstance(block, Heading)]
    return (
        len(document.blocks),
        document.title,
        to_json(document.metadata) if document.metadata else None,
        pack_text(to_json(outline)) if outline else None,
        list(_segments(document.blocks, chunk_texts)),
    )


def _segments(blocks: Sequence[Block], chunk_texts: Sequence[str]) -> Iterator[Segment]:
    first, parts, chars = 0, [], 0
    for i, block in enumerate(blocks):
        parts.append(to_json(block_to_json(block)))
        chars += len(parts[-1])
        if chars >= _SEGMENT_CHARS or i == len(blocks) - 1:
            short = first == 0 and i == len(blocks) - 1
            packer = zlib.compressobj(zdict=_dictionary(chunk_texts)) if short and chunk_texts else zlib.compressobj()
            yield first, packer.compress(f"[{','.join(parts)}]".encode("utf-8", "replace")) + packer.flush()
            first, parts, chars = i + 1, [], 0


def _dictionary(chunk_texts: Iterable[str]) -> bytes:
    """Deflate looks back 32 KiB at most."""
    return "\n".join(chunk_texts).encode("utf-8", "replace")[-32_768:]


def _unpack_segment(connection: Connection, revision_no: int, packed: bytes) -> list[Any]:
    unpacker = zlib.decompressobj()
    if packed[1] & _PRESET_DICTIONARY:
        sql = """SELECT c.content FROM revisions r JOIN chunks c ON c.document_no = r.document_no
                 WHERE r.revision_no = ? AND c.revision_no = r.revision_no ORDER BY c.sequence"""
        texts = (unpack_text(row[0]) for row in connection.execute(sql, (revision_no,)))
        unpacker = zlib.decompressobj(zdict=_dictionary(texts))
    blocks: list[Any] = json.loads(unpacker.decompress(packed) + unpacker.flush())
    return blocks


def write_content(connection: Connection, revision_no: int, packed: PackedDocument) -> None:
    """Store a revision's normalized document."""
    *head, segments = packed
    connection.execute("INSERT INTO revision_heads VALUES (?, ?, ?, ?, ?)", (revision_no, *head))
    connection.executemany(
        "INSERT INTO revision_blocks VALUES (?, ?, ?)", ((revision_no, *segment) for segment in segments)
    )


def remove_content(connection: Connection, document_no: int) -> None:
    """Drop the normalized documents of all revisions of a document."""
    for table in ("revision_blocks", "revision_heads"):
        connection.execute(
            f"DELETE FROM {table} WHERE revision_no IN (SELECT revision_no FROM revisions WHERE document_no = ?)",
            (document_no,),
        )


def block_page(connection: Connection, revision_id: str, first: int, limit: int) -> BlockPage | None:
    """Blocks first … first + limit − 1, as far as there are any."""
    row = _head(connection, revision_id, "h.revision_no, h.block_count, h.title, h.metadata")
    if row is None:
        return None
    revision_no, total, title, metadata = row
    blocks = tuple(_blocks(connection, revision_no, first, limit))
    return BlockPage(first, total, blocks, title, json.loads(metadata) if metadata else {})


def normalized(connection: Connection, revision_id: str) -> NormalizedDocument | None:
    """The whole normalized document."""
    row = _head(connection, revision_id, "h.revision_no, h.block_count, h.title, h.metadata")
    if row is None:
        return None
    revision_no, total, title, metadata = row
    blocks = tuple(_blocks(connection, revision_no, 0, total))
    return NormalizedDocument(title, json.loads(metadata) if metadata else {}, blocks)


def block_count(connection: Connection, revision_id: str) -> int:
    """How many blocks a normalized document should have; 0 where there is none."""
    row = _head(connection, revision_id, "h.block_count")
    return int(row[0]) if row else 0


def outline(connection: Connection, revision_id: str) -> list[OutlineEntry] | None:
    """The headings, in order."""
    row = _head(connection, revision_id, "h.outline")
    if row is None:
        return None
    return [OutlineEntry(*entry) for entry in json.loads(unpack_text(row[0]))] if row[0] else []


def _head(connection: Connection, revision_id: str, columns: str) -> tuple[Any, ...] | None:
    sql = f"SELECT {columns} FROM revision_heads h JOIN revisions r ON r.revision_no = h.revision_no WHERE r.id = ?"
    return first_row(connection, sql, (revision_id,))


def _blocks(connection: Connection, revision_no: int, first: int, limit: int) -> Iterator[Block]:
    rows = connection.execute(
        """SELECT first_block, blocks FROM revision_blocks
           WHERE revision_no = ? AND first_block < ? AND first_block >=
               (SELECT max(first_block) FROM revision_blocks WHERE revision_no = ? AND first_block <= ?)
           ORDER BY first_block""",
        (revision_no, first + limit, revision_no, first),
    )
    for start, packed in rows:
        blocks = _unpack_segment(connection, revision_no, packed)
        yield from map(block_from_json, blocks[max(0, first - start) : first + limit - start])
