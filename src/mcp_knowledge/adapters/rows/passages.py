"""What is asked of a document's passages beside their text."""

from collections.abc import Callable

from mcp_knowledge.adapters.rows.chunks import under_path
from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.adapters.rows.models import of_our_model
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.ports import Vector


class SqlPassageStore:
    """The chunks of searchable documents; `ports.PassageStore` says what the methods promise.

    Args:
        fingerprint: tells the model of the queries; it may take a moment, and is asked off the event loop.
    """

    def __init__(self, database: Database, fingerprint: Callable[[], str]) -> None:
        self._read = database.read
        self._fingerprint = fingerprint

    async def vectors(self, document_id: str, first_sequence: int, last_sequence: int) -> dict[str, Vector]:
        """By chunk id."""
        return await self._read(lambda c: _vectors(c, document_id, first_sequence, last_sequence, self._fingerprint()))

    async def section_start(self, document_id: str, heading_path: tuple[str, ...]) -> int | None:
        """The first chunk under a heading path."""
        return await self._read(lambda c: _section_start(c, document_id, heading_path))


def _vectors(connection: Connection, document_id: str, first: int, last: int, fingerprint: str) -> dict[str, Vector]:
    condition, params = of_our_model(connection, fingerprint) or ("true", ())
    rows = connection.execute(
        f"""SELECT c.id, v.vector FROM documents d JOIN chunks c ON c.document_no = d.document_no
            JOIN chunk_vectors v ON v.chunk_no = c.chunk_no
            WHERE d.id = ? AND d.searchable = 1 AND c.sequence BETWEEN ? AND ? AND {condition} ORDER BY c.sequence""",
        (document_id, first, last, *params),
    )
    return {chunk_id: connection.dialect.vector(vector) for chunk_id, vector in rows}


def _section_start(connection: Connection, document_id: str, heading_path: tuple[str, ...]) -> int | None:
    condition, params = under_path(heading_path)
    row = first_row(
        connection,
        f"""SELECT min(c.sequence) FROM documents d JOIN chunks c ON c.document_no = d.document_no
            WHERE d.id = ? AND d.searchable = 1 AND {condition}""",
        (document_id, *params),
    )
    return None if row is None or row[0] is None else int(row[0])
