"""The originals that a database names, with what they should be."""

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.sql import GONE
from mcp_knowledge.domain.documents import NamedOriginal

_ALL = f"""
    SELECT r.blob_key, r.size_bytes, r.sha256, d.id, d.status IN {GONE}
    FROM revisions r LEFT JOIN documents d ON d.document_no = r.document_no
    UNION ALL SELECT blob_key, size_bytes, sha256, id, state NOT IN ('queued', 'extracting')
    FROM archives WHERE blob_key IS NOT NULL"""


def named_originals(connection: Connection) -> list[NamedOriginal]:
    """All of them: those of every revision, and archives that are not imported yet."""
    return [
        NamedOriginal(key, size_bytes, sha256.hex(), holder_id, bool(is_going))
        for key, size_bytes, sha256, holder_id, is_going in connection.execute(_ALL)
    ]
