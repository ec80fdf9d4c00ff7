"""Reading the stored vectors of a document's passages."""

from collections.abc import Callable

from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.adapters.rows.models import of_our_model
from mcp_knowledge.ports import Vector


class SqlPassageVectors:
    """Vectors as they are stored; `ports.PassageVectors` says what the method promises.

    Args:
        fingerprint: tells the model of the queries; it may take a moment, and is asked off the event loop.
    """

    def __init__(self, database: Database, fingerprint: Callable[[], str]) -> None:
        self._read = database.read
        self._fingerprint = fingerprint

    async def vectors(self, document_id: str, first_sequence: int, last_sequence: int) -> dict[str, Vector]:
        """By chunk id."""
        return await self._read(lambda c: _vectors(c, document_id, first_sequence, last_sequence, self._fingerprint()))


def _vectors(connection: Connection, document_id: str, first: int, last: int, fingerprint: str) -> dict[str, Vector]:
    condition, params = of_our_model(connection, fingerprint) or ("true", ())
    rows = connection.execute(
        f"""SELECT c.id, v.vector FROM documents d JOIN chunks c ON c.document_no = d.document_no
            JOIN chunk_vectors v ON v.chunk_no = c.chunk_no
            WHERE d.id = ? AND d.searchable = 1 AND c.sequence BETWEEN ? AND ? AND {condition} ORDER BY c.sequence""",
        (document_id, first, last, *params),
    )
    return {chunk_id: connection.dialect.vector(vector) for chunk_id, vector in rows}
