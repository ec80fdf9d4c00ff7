"""Reading chunks. Only those of searchable documents are ever given out."""

import hashlib
import json

from mcp_knowledge.adapters.rows.content import unpack_text
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.scope import Sql
from mcp_knowledge.adapters.rows.sql import first_row, to_json
from mcp_knowledge.domain.blocks import SourceLocation
from mcp_knowledge.domain.documents import StoredChunk

_SELECT = """
    SELECT c.chunk_no, d.id, r.id, c.id, c.sequence, c.content, c.heading_path, c.location, c.token_count, c.metadata
    FROM chunks c JOIN documents d ON d.document_no = c.document_no AND d.searchable = 1
    JOIN revisions r ON r.revision_no = c.revision_no
"""


def _chunk_from(row: Row) -> StoredChunk:
    """A row of `_SELECT` as a chunk: the fields stand in the same order."""
    chunk_no, document_id, revision_id, chunk_id, sequence, content, path, location, token_count, metadata = row
    text = unpack_text(content)
    return StoredChunk(
        chunk_no,
        document_id,
        revision_id,
        chunk_id,
        sequence,
        text,
        tuple(json.loads(path)),
        SourceLocation.from_json(json.loads(location)),
        token_count,
        hashlib.sha256(text.encode()).hexdigest(),
        json.loads(metadata) if metadata else {},
    )


def list_chunks(connection: Connection, document_id: str, limit: int, after_sequence: int) -> list[StoredChunk]:
    """A page by sequence."""
    sql = f"{_SELECT} WHERE d.id = ? AND c.sequence > ? ORDER BY c.sequence LIMIT ?"
    return [_chunk_from(row) for row in connection.execute(sql, (document_id, after_sequence, limit))]


def get_chunks(connection: Connection, chunk_nos: list[int]) -> dict[int, StoredChunk]:
    """Those that are still searchable."""
    dialect = connection.dialect
    sql = f"{_SELECT} WHERE {dialect.among('c.chunk_no')}"
    return {row[0]: _chunk_from(row) for row in connection.execute(sql, (dialect.listed(chunk_nos),))}


def find_chunk(connection: Connection, chunk_id: str) -> StoredChunk | None:
    """By public id; of documents with equal bytes, the oldest one's."""
    row = first_row(connection, f"{_SELECT} WHERE c.id = ? ORDER BY c.document_no LIMIT 1", (chunk_id,))
    return _chunk_from(row) if row else None


def chunk_range(connection: Connection, document_id: str, first: int, last: int) -> list[StoredChunk]:
    """By sequence, both ends included."""
    sql = f"{_SELECT} WHERE d.id = ? AND c.sequence BETWEEN ? AND ? ORDER BY c.sequence"
    return [_chunk_from(row) for row in connection.execute(sql, (document_id, first, last))]


def section_chunks(connection: Connection, document_id: str, heading_path: tuple[str, ...]) -> list[StoredChunk]:
    """Chunks under a heading path."""
    condition, params = under_path(heading_path)
    sql = f"{_SELECT} WHERE d.id = ? AND {condition} ORDER BY c.sequence"
    return [_chunk_from(row) for row in connection.execute(sql, (document_id, *params))]


def under_path(heading_path: tuple[str, ...]) -> Sql:
    """A condition on `chunks c` for those whose heading path begins with this one: its JSON is the same up to the
    closing bracket or a comma.
    """
    path = to_json(list(heading_path))
    inside = path[:-1] + "," if heading_path else "["
    return "(c.heading_path = ? OR substr(c.heading_path, 1, ?) = ?)", (path, len(inside), inside)
