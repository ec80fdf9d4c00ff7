"""Reading documents whole, to compare them with what would be written now."""

import json
from collections.abc import Collection

import numpy as np

from mcp_knowledge.adapters.rows import content
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.domain.chunking import CHUNKER_NAME
from mcp_knowledge.ports.stored import StoredDocument

_MADE_ALIKE = """
    FROM documents d JOIN revisions r ON r.revision_no = d.current_revision_no
    JOIN index_versions v ON v.version_no = r.version_no
    WHERE d.searchable = 1 AND v.fingerprint = ? AND v.chunker_name = ? AND v.chunker_version = ?"""
_PASSAGES = """
    SELECT c.id, c.token_count, c.heading_path, c.location, c.content, x.vector
    FROM chunks c JOIN chunk_vectors x ON x.chunk_no = c.chunk_no WHERE c.document_no = ? ORDER BY c.sequence"""


def documents_made_alike(connection: Connection, made_by: tuple[str, str], but: Collection[int | None]) -> list[int]:
    """Numbers of the searchable documents that would be cut and embedded now as they once were.

    Args:
        made_by: the fingerprint of the model, and the chunker's version.
        but: documents to leave out.
    """
    rows = connection.execute(f"SELECT d.document_no {_MADE_ALIKE}", _values(made_by))
    return [row[0] for row in rows if row[0] not in but]


def stored_document(connection: Connection, document_no: int, made_by: tuple[str, str]) -> StoredDocument | None:
    """A document in one snapshot; None when it went, or was made anew by another model, meanwhile."""
    row = first_row(
        connection,
        f"SELECT d.id, r.id, r.original_filename, r.sha256 {_MADE_ALIKE} AND d.document_no = ?",
        (*_values(made_by), document_no),
    )
    normalized = content.normalized(connection, row[1]) if row else None
    rows = list(connection.execute(_PASSAGES, (document_no,)))
    if row is None or normalized is None or not rows:
        return None
    passages = [
        (chunk_id, count, json.loads(path), json.loads(location), content.unpack_text(packed))
        for chunk_id, count, path, location, packed, _ in rows
    ]
    vectors = np.stack([connection.dialect.vector(row[5]) for row in rows])
    return StoredDocument(document_no, row[0], normalized, row[2], row[3].hex(), passages, vectors)


def _values(made_by: tuple[str, str]) -> tuple[str, str, str]:
    fingerprint, chunker_version = made_by
    return fingerprint, CHUNKER_NAME, chunker_version
