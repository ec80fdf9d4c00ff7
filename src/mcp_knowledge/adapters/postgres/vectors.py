"""Vector search with pgvector: through an HNSW graph, or exact where that costs no more.

The graph holds half-precision copies (half the memory, the same recall); what it finds is scored again from the stored
float32. A scan takes about 1 ms for 1,000 chunks, the graph about 5 µs for each chunk that it visits. So few chunks are
always scanned: in a small corpus, and where the scope leaves few, or a small part of a large corpus. Otherwise the
graph is walked, past chunks out of scope, until enough are found. A walk that finds too few ends soon, and all chunks
in scope are scanned after all.
"""

from collections.abc import Callable
from typing import Any

from mcp_knowledge.adapters.postgres.connection import PostgresConnection, PostgresDatabase
from mcp_knowledge.adapters.postgres.nearest import Question, place_among, scan_all, scan_documents, walk
from mcp_knowledge.adapters.rows.models import of_our_model
from mcp_knowledge.adapters.rows.scope import Sql, scope_condition
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.domain.search import Candidate, Place, Scope
from mcp_knowledge.ports import Vector

SCANNED_CHUNKS = 15_000  # so many are scanned in about the time of a walk past chunks out of scope
# In a large corpus a walk past seven of eight takes nearly as long as a scan of up to four times as many, and misses
# some (at 500,000 chunks, 50,000 in scope: 43 and 64 ms, recall@50 0.92 and 1).
_SCANNED_SHARE = 1 / 8
_SCANNED_TIMES = 4
_LISTED_DOCUMENTS = 6_000  # more documents in scope are not counted: that would take longer than the search
_ROW_OVERHEAD_BYTES = 256  # what a row of chunk_vectors takes at most beside its vector
_WALKS_ON = (0, 8)  # since this version pgvector has iterative scans


class PostgresVectorIndex:
    """Nearest neighbours by cosine, as new as the snapshot that a search reads.

    Args:
        database: the open database.
        dimensions: length of the vectors.
        fingerprint: tells the model of the queries; it may take a moment, and is asked off the event loop.
        scanned_chunks: as long as so few may answer, all of them are compared.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        dimensions: int,
        fingerprint: Callable[[], str],
        scanned_chunks: int = SCANNED_CHUNKS,
    ) -> None:
        self._database = database
        self._dimensions = dimensions
        self._fingerprint = fingerprint
        self._scanned_chunks = scanned_chunks
        self._walks_on: bool | None = None

    async def load(self) -> int:
        """Have the server read the graph into its memory, where it can; the number of vectors."""
        return await self._database.read(_warm_up)

    async def search(self, vector: Vector, limit: int, scope: Scope) -> list[Candidate]:
        """The `limit` best chunks in scope, best first, ties by chunk id; scores are cosines of the stored vectors."""
        return await self._database.read(lambda connection: self._search(connection, vector, limit, scope))

    async def place(self, vector: Vector, chunk_no: int, scope: Scope) -> Place | None:
        """Where a chunk stands among all in scope: all of them are compared."""
        return await self._database.read(
            lambda connection: place_among(connection, self._question(connection, vector, 1, scope), chunk_no)
        )

    def _search(self, connection: PostgresConnection, vector: Vector, limit: int, scope: Scope) -> list[Candidate]:
        question = self._question(connection, vector, limit, scope)
        chunks = self._least_chunks(connection)
        if chunks <= self._scanned_chunks:
            return scan_all(connection, question)
        if not question.everything:
            few = _few_documents(connection, question.among_all, self._scannable(chunks))
            if few is not None:
                return scan_documents(connection, question, few)
        if self._walks_on is None:
            self._walks_on = pgvector_version(connection) >= _WALKS_ON
        found = walk(connection, question, self._walks_on)
        return found if len(found) >= limit else scan_all(connection, question)

    def _question(self, connection: PostgresConnection, vector: Vector, limit: int, scope: Scope) -> Question:
        among_all = scope_condition(connection.dialect, scope)
        of_one = scope_condition(connection.dialect, scope, probing=True)
        model = of_our_model(connection, self._fingerprint())
        if model is not None:
            among_all, of_one = _both(among_all, model), _both(of_one, model)
        return Question(vector, limit, among_all, of_one, scope.unlimited and model is None)

    def _least_chunks(self, connection: PostgresConnection) -> int:
        """How many chunks there are at least, by the size of the vectors' table, which is known at once."""
        size_bytes = int(_value(connection, "SELECT pg_table_size('chunk_vectors')"))
        return size_bytes // (4 * self._dimensions + _ROW_OVERHEAD_BYTES)

    def _scannable(self, chunks: int) -> int:
        """Up to how many chunks in scope are scanned, of so many."""
        share = min(_SCANNED_TIMES * self._scanned_chunks, int(_SCANNED_SHARE * chunks))
        return max(self._scanned_chunks, share)


def _few_documents(connection: PostgresConnection, condition: Sql, most_chunks: int) -> list[int] | None:
    """The documents that meet a condition, when they and their chunks are few enough to scan; else None."""
    sql = f"SELECT d.document_no, d.chunk_count FROM documents d WHERE {condition[0]} LIMIT ?"
    rows = list(connection.execute(sql, (*condition[1], _LISTED_DOCUMENTS + 1)))
    few = len(rows) <= _LISTED_DOCUMENTS and sum(row[1] for row in rows) <= most_chunks
    return [row[0] for row in rows] if few else None


def pgvector_version(connection: PostgresConnection) -> tuple[int, ...]:
    """The version of the extension in this database, as numbers."""
    version = _value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return tuple(int(part) for part in str(version).split("."))


def _warm_up(connection: PostgresConnection) -> int:
    if first_row(connection, "SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm'"):
        connection.execute("SELECT pg_prewarm('chunk_vectors_graph')")
    return int(_value(connection, "SELECT coalesce(sum(chunk_count), 0) FROM documents WHERE searchable = 1"))


def _both(first: Sql, second: Sql) -> Sql:
    return f"{first[0]} AND {second[0]}", (*first[1], *second[1])


def _value(connection: PostgresConnection, sql: str) -> Any:
    row = first_row(connection, sql)
    assert row is not None  # each of these statements gives one row
    return row[0]
