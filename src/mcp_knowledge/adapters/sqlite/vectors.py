"""Vector search over the embedded file: exact, from memory, always as new as the snapshot it answers from.

The stored float32 vectors are the only truth. Memory holds int8 codes of the searchable ones; `vector_changes` says
which documents to read again, whichever process changed them. While some vectors are another model's, only those of
ours are in memory: vectors of two models must never be compared.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.models import of_our_model
from mcp_knowledge.adapters.rows.scope import Sql, scope_sql
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.adapters.sqlite.matrix import Matrix, Numbers
from mcp_knowledge.domain.search import Candidate, Place, Scope
from mcp_knowledge.ports import Vector

_LOAD_ROWS = 4096  # 6 MB of float32 at a time
_CHANGED_DOCUMENTS = 500  # read again in one statement
_POOL_FACTOR = 4  # the scan's best rows, this many times the limit, are scored again from float32

Row = tuple[int, int, bytes]  # chunk number, document number, float32 vector

_NEWEST_CHANGE = "SELECT max(seq) FROM vector_changes"
_CHANGED = "SELECT document_no FROM vector_changes WHERE seq > ?"
_ALL_ROWS = """
    SELECT v.chunk_no, c.document_no, v.vector
    FROM chunk_vectors v CROSS JOIN chunks c ON c.chunk_no = v.chunk_no
    JOIN documents d ON d.document_no = c.document_no AND d.searchable = 1
    WHERE v.chunk_no > ? AND {of_our_model} ORDER BY v.chunk_no LIMIT ?
"""
_DOCUMENT_ROWS = """
    SELECT v.chunk_no, c.document_no, v.vector
    FROM json_each(?) j CROSS JOIN documents d ON d.document_no = j.value AND d.searchable = 1 AND {of_our_model}
    CROSS JOIN chunks c ON c.document_no = d.document_no
    CROSS JOIN chunk_vectors v ON v.chunk_no = c.chunk_no
    ORDER BY v.chunk_no
"""
_BEST_ROWS = """
    SELECT v.chunk_no, c.id, v.vector
    FROM json_each(?) j CROSS JOIN chunk_vectors v ON v.chunk_no = j.value
    CROSS JOIN chunks c ON c.chunk_no = v.chunk_no
"""


class SqliteVectorIndex:
    """Nearest neighbours by cosine. Memory: dimensions + 20 bytes a chunk (40 MB for 100,000 of 384).

    Args:
        database: the open file.
        dimensions: length of the vectors; stored ones of another length are passed over.
        fingerprint: tells the model of the queries; it may take a moment, and is asked off the event loop.
    """

    def __init__(self, database: Database, dimensions: int, fingerprint: Callable[[], str]) -> None:
        self._database = database
        self._dimensions = dimensions
        self._fingerprint = fingerprint
        self._lock = threading.Lock()
        self._matrix = Matrix.empty(dimensions)
        self._seen: int | None = None  # the newest change in memory; None: nothing was loaded yet

    async def load(self) -> int:
        """Bring memory up to date; the number of vectors."""
        return (await self._database.read(self._current)).alive

    async def search(self, vector: Vector, limit: int, scope: Scope) -> list[Candidate]:
        """The `limit` best chunks in scope, best first, ties by chunk id; scores are cosines of the stored vectors."""
        return await self._database.read(lambda connection: self._search(connection, vector, limit, scope))

    async def place(self, vector: Vector, chunk_no: int, scope: Scope) -> Place | None:
        """Where a chunk stands among all in scope, however far behind."""
        return await self._database.read(lambda connection: self._place(connection, vector, chunk_no, scope))

    def _place(self, connection: Connection, vector: Vector, chunk_no: int, scope: Scope) -> Place | None:
        field = self._current(connection).field_around(vector, chunk_no, _documents_in(connection, scope))
        if field is None:
            return None
        close = self._scored(connection, vector, field.close)
        place = next(index for index, item in enumerate(close) if item.chunk_no == chunk_no)
        return Place(field.ahead + place + 1, close[place].score, field.size)

    def _search(self, connection: Connection, vector: Vector, limit: int, scope: Scope) -> list[Candidate]:
        matrix = self._current(connection)
        if not matrix.alive:
            return []
        best = matrix.nearest(vector, limit, _POOL_FACTOR * limit, _documents_in(connection, scope))
        return self._scored(connection, vector, best)[:limit]

    def _scored(self, connection: Connection, vector: Vector, chunk_nos: Numbers) -> list[Candidate]:
        rows = list(connection.execute(_BEST_ROWS, (json.dumps(chunk_nos.tolist()),)))
        # One dot product a row: unlike a matrix product, equal vectors get equal scores wherever they stand.
        scores = np.vecdot(self._vectors([row[2] for row in rows]), vector)
        found = [
            Candidate(chunk_no, chunk_id, score)
            for (chunk_no, chunk_id, _), score in zip(rows, scores.tolist(), strict=True)
        ]
        found.sort(key=lambda item: (-item.score, item.chunk_id, item.chunk_no))
        return found

    def _current(self, connection: Connection) -> Matrix:
        """Memory as of this connection's snapshot.

        The first read fixes the snapshot, and it happens under the lock: so snapshots follow each other in the order of
        the lock, and memory is never newer than the snapshot of the search that uses it.
        """
        with self._lock:
            newest = next(connection.execute(_NEWEST_CHANGE))[0] or 0
            if self._seen is None or newest < self._seen:  # the first time; or the log was emptied
                self._matrix = self._loaded(connection)
            elif newest > self._seen:
                self._matrix = self._caught_up(connection, self._matrix, self._seen)
            self._seen = newest
            return self._matrix

    def _loaded(self, connection: Connection) -> Matrix:
        total = next(connection.execute("SELECT count(*) FROM chunk_vectors"))[0]
        matrix = Matrix.empty(self._dimensions, total)
        condition, values = self._of_our_model(connection)
        sql, last = _ALL_ROWS.format(of_our_model=condition), -1
        while rows := list(connection.execute(sql, (last, *values, _LOAD_ROWS))):
            last = rows[-1][0]
            matrix = self._with_rows(matrix, rows)
        return matrix

    def _caught_up(self, connection: Connection, matrix: Matrix, seen: int) -> Matrix:
        changed = [row[0] for row in connection.execute(_CHANGED, (seen,))]
        matrix = matrix.without_documents(np.array(changed, np.int64))
        condition, values = self._of_our_model(connection)
        sql = _DOCUMENT_ROWS.format(of_our_model=condition)
        for batch in _batches(changed, _CHANGED_DOCUMENTS):
            matrix = self._with_rows(matrix, list(connection.execute(sql, (json.dumps(batch), *values))))
        return matrix

    def _of_our_model(self, connection: Connection) -> Sql:
        """A condition on `documents d` and its parameters; nearly always all vectors are of one model."""
        return of_our_model(connection, self._fingerprint()) or ("true", ())

    def _with_rows(self, matrix: Matrix, rows: Sequence[Row]) -> Matrix:
        rows = [row for row in rows if len(row[2]) == 4 * self._dimensions]
        if not rows:
            return matrix
        return matrix.with_rows(
            self._vectors([row[2] for row in rows]),
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows], np.int64),
        )

    def _vectors(self, blobs: Sequence[bytes]) -> Vector:
        return np.frombuffer(b"".join(blobs), "<f4").reshape(-1, self._dimensions)


def _documents_in(connection: Connection, scope: Scope) -> Numbers | None:
    """The numbers of the documents in scope; None: every searchable one."""
    if scope.unlimited:
        return None
    sql, params = scope_sql(connection.dialect, scope)
    return np.array([row[0] for row in connection.execute(sql, params)], np.int64)


def _batches(items: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (items[start : start + size] for start in range(0, len(items), size))
