"""The full text of PostgreSQL compared with the passages."""

from collections import Counter
from collections.abc import Iterable, Sequence

from mcp_knowledge.adapters.checks.documents import CheckedDocument
from mcp_knowledge.adapters.checks.texts import TextFaults
from mcp_knowledge.adapters.postgres import lexicon
from mcp_knowledge.adapters.postgres.connection import PostgresConnection
from mcp_knowledge.adapters.postgres.terms import chunk_terms
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.fulltext import indexed_text
from mcp_knowledge.adapters.transfer.postgres_side import PostgresSide
from mcp_knowledge.adapters.transfer.tables import TABLES
from mcp_knowledge.domain.tokens import index_text

_DIFFERENT = """
    SELECT DISTINCT e.document_no
    FROM unnest(?::bigint[], ?::bigint[], ?::integer[], ?::text[], ?::text[])
        AS e (chunk_no, document_no, size, frequencies, terms)
    LEFT JOIN chunk_terms t ON t.chunk_no = e.chunk_no
    WHERE t.chunk_no IS NULL OR t.document_no <> e.document_no OR t.size <> e.size
       OR t.frequencies <> e.frequencies::sparsevec OR t.terms <> e.terms::tsvector"""
_COUNTS = """
    SELECT term, sum(chunks)::bigint FROM (
        SELECT term, chunks FROM term_counts
        UNION ALL SELECT e.key, e.value::bigint FROM term_changes CROSS JOIN LATERAL jsonb_each_text(counts) e
    ) all_counts GROUP BY term HAVING sum(chunks) <> 0"""
_TOTALS = """
    SELECT (t.chunks + coalesce(sum(c.chunks), 0))::bigint, (t.tokens + coalesce(sum(c.tokens), 0))::bigint
    FROM text_totals t LEFT JOIN term_changes c ON true GROUP BY t.chunks, t.tokens"""
_STRAYS = """
    SELECT c.document_no, c.chunk_no FROM chunks c JOIN chunk_vectors v ON v.chunk_no = c.chunk_no
    WHERE c.document_no BETWEEN ? AND ? AND v.document_no <> c.document_no"""
_HIGHEST = """
    SELECT coalesce((SELECT max({key}) FROM {table}), 0),
           coalesce(pg_sequence_last_value(pg_get_serial_sequence(?, ?)), 0)"""
_NUMBERED = {table.name: table for table in TABLES if table.numbered}
_UNKNOWN = "FROM chunk_terms t WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.chunk_no = t.chunk_no)"


class PostgresTextCheck:
    """Each chunk's row is compared with the one that would be written now, and their terms are counted."""

    def __init__(self) -> None:
        self._terms: Counter[str] = Counter()
        self._chunks = self._tokens = 0
        self._faults = TextFaults()

    def database_faults(self, connection: Connection) -> Iterable[str]:
        """The server looks after its files itself (checksums, pg_amcheck)."""
        return ()

    def page(self, connection: Connection, documents: Sequence[CheckedDocument]) -> None:
        """Compare rows."""
        rows: list[tuple[int, int, int, str, str]] = []
        for document in documents:
            title = index_text(document.title).split()
            for passage in document.passages:
                row = chunk_terms(title, indexed_text(passage.heading_path, passage.content))
                self._terms.update(row.lexemes)
                self._tokens += row.size
                rows.append((passage.chunk_no, document.document_no, row.size, row.frequencies, row.vector))
        self._chunks += len(rows)
        bounds = documents[0].document_no, documents[-1].document_no
        self._faults.strays.update(row[0] for row in connection.execute(_STRAYS, bounds))
        columns = [list(column) for column in zip(*rows, strict=True)]
        if columns:
            self._faults.documents.update(row[0] for row in connection.execute(_DIFFERENT, columns))

    def finish(self, connection: Connection, documents: Iterable[CheckedDocument] | None) -> TextFaults:
        """Compare the counts; those of a part of the passages say nothing."""
        faults = self._faults
        faults.unknown = next(connection.execute(f"SELECT count(*) {_UNKNOWN}"))[0]
        if documents is None or faults.documents or faults.unknown:
            return faults  # the counts follow the entries
        stored: dict[str, int] = dict(connection.execute(_COUNTS))
        wrong = [term for term in stored.keys() | self._terms.keys() if stored.get(term, 0) != self._terms[term]]
        if wrong:
            faults.counts.append(f"{len(wrong):,} terms are counted wrongly")
        if next(connection.execute(_TOTALS), None) != (self._chunks, self._tokens):
            faults.counts.append("the size of the full text is noted wrongly")
        return faults

    def late_counters(self, connection: Connection) -> Iterable[str]:
        """Logical replication, for one, copies rows and leaves sequences where they are."""
        for table in _NUMBERED.values():
            row = next(connection.execute(_HIGHEST.format(table=table.name, key=table.key), (table.name, table.key)))
            if row[0] > row[1]:
                yield table.name

    def count_on(self, connection: Connection, table: str) -> None:
        """What was given since is in the rows by now, or above."""
        side, numbered = PostgresSide(0), _NUMBERED[table]
        side.go_on_after(connection, numbered, side.last_number(connection, numbered))

    def remove_unknown(self, connection: Connection) -> None:
        """Rows without a chunk."""
        connection.execute(f"DELETE {_UNKNOWN}")

    def recount(self, connection: Connection) -> None:
        """Count anew, while no writer is at it."""
        assert isinstance(connection, PostgresConnection)
        lexicon.recount(connection)
