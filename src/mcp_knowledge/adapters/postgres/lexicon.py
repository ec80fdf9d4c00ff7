"""Rows of the full text, and the counts of its terms that BM25 rests on.

A transaction that adds or removes chunks notes what it changed in a row of its own, and waits for nobody. Whoever finds
many such rows folds them into the counts, unless another one is doing so. In every snapshot the counts and the changes
add up to what the full text holds.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

from mcp_knowledge.adapters.postgres.terms import chunk_terms
from mcp_knowledge.adapters.rows.dialect import IndexedText
from mcp_knowledge.domain.tokens import index_text

if TYPE_CHECKING:
    from mcp_knowledge.adapters.postgres.connection import PostgresConnection

TextsOfDocument = tuple[int, Sequence[int], str, Sequence[IndexedText]]  # number, chunks' numbers, title, texts

# A search adds up the changes that are not folded in yet: so many of them take about a millisecond.
_MAX_CHANGES = 64
_MAX_CHANGED_TERMS = 50_000
_FOLDING = 0x4D43504C  # "MCPL"; of the advisory lock that one transaction at a time folds under

_COPY = "COPY chunk_terms (chunk_no, document_no, size, frequencies, terms) FROM STDIN"
_NOTE = "INSERT INTO term_changes (chunks, tokens, terms, counts) VALUES (?, ?, ?, ?)"
_REMOVE = """
    WITH gone AS (DELETE FROM chunk_terms WHERE document_no = ? RETURNING size, terms),
         words AS (SELECT w.term, count(*) AS chunks
                   FROM gone CROSS JOIN LATERAL unnest(tsvector_to_array(gone.terms)) AS w (term) GROUP BY w.term)
    INSERT INTO term_changes (chunks, tokens, terms, counts)
    SELECT -count(*), -sum(size), (SELECT count(*) FROM words),
           (SELECT coalesce(jsonb_object_agg(term, -chunks), '{}') FROM words)
    FROM gone HAVING count(*) > 0"""
_PENDING = "SELECT count(*), coalesce(sum(terms), 0) FROM term_changes"
_TAKE_LOCK = "SELECT pg_try_advisory_xact_lock(?)"
# Only one transaction changes the counts, so that their rows are never waited for. Terms that nobody uses any more come
# back, for the statement after this one.
_FOLD = """
    WITH gone AS (DELETE FROM term_changes RETURNING chunks, tokens, counts),
         totals AS (UPDATE text_totals SET chunks = chunks + (SELECT sum(chunks) FROM gone),
                        tokens = tokens + (SELECT sum(tokens) FROM gone)
                    WHERE EXISTS (SELECT 1 FROM gone)),
         sums AS (SELECT e.key AS term, sum(e.value::bigint) AS chunks
                  FROM gone CROSS JOIN LATERAL jsonb_each_text(gone.counts) AS e GROUP BY e.key),
         changed AS (INSERT INTO term_counts (term, chunks)
                     SELECT term, chunks FROM sums WHERE chunks <> 0 ORDER BY term
                     ON CONFLICT (term) DO UPDATE SET chunks = term_counts.chunks + excluded.chunks
                     RETURNING term, chunks)
    SELECT term FROM changed WHERE chunks = 0"""


def add_chunks(
    connection: "PostgresConnection",
    document_no: int,
    chunk_nos: Sequence[int],
    title: str,
    texts: Sequence[IndexedText],
) -> None:
    """Make a document's chunks findable."""
    add_documents(connection, [(document_no, chunk_nos, title, texts)])


def add_documents(connection: "PostgresConnection", documents: Iterable[TextsOfDocument]) -> None:
    """Make the chunks of several documents findable, and note the change once."""
    counts: Counter[str] = Counter()
    chunks = tokens = 0
    with connection.raw.cursor() as cursor, cursor.copy(_COPY) as copy:
        for document_no, chunk_nos, title, texts in documents:
            title_terms = index_text(title).split()
            for chunk_no, text in zip(chunk_nos, texts, strict=True):
                row = chunk_terms(title_terms, text)
                copy.write_row((chunk_no, document_no, row.size, row.frequencies, row.vector))
                counts.update(row.lexemes)
                chunks, tokens = chunks + 1, tokens + row.size
    if chunks:
        connection.execute(_NOTE, (chunks, tokens, len(counts), Jsonb(counts)))
        _fold_when_many(connection)


def remove_chunks(connection: "PostgresConnection", document_no: int) -> None:
    """Take a document's chunks out."""
    connection.execute(_REMOVE, (document_no,))
    _fold_when_many(connection)


def clear(connection: "PostgresConnection") -> None:
    """Take all chunks out, those too that others are about to add: they are waited for."""
    connection.execute("LOCK TABLE chunk_terms, term_changes IN EXCLUSIVE MODE")
    for table in ("chunk_terms", "term_changes", "term_counts"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("UPDATE text_totals SET chunks = 0, tokens = 0")


def _fold_when_many(connection: "PostgresConnection") -> None:
    changes, terms = next(connection.execute(_PENDING))
    if changes < _MAX_CHANGES and terms < _MAX_CHANGED_TERMS:
        return
    if next(connection.execute(_TAKE_LOCK, (_FOLDING,)))[0]:
        unused = [row[0] for row in connection.execute(_FOLD)]
        connection.execute("DELETE FROM term_counts WHERE term = ANY(?)", (unused,))


def recount(connection: "PostgresConnection") -> None:
    """Make the counts again from the rows. Writers of texts are kept waiting meanwhile."""
    connection.execute("LOCK TABLE chunk_terms, term_changes IN EXCLUSIVE MODE")
    connection.execute("DELETE FROM term_changes")
    connection.execute("DELETE FROM term_counts")
    connection.execute(
        """INSERT INTO term_counts (term, chunks)
           SELECT w.term, count(*) FROM chunk_terms t CROSS JOIN LATERAL unnest(tsvector_to_array(t.terms)) AS w (term)
           GROUP BY w.term"""
    )
    connection.execute("DELETE FROM text_totals")
    connection.execute("INSERT INTO text_totals SELECT count(*), coalesce(sum(size), 0) FROM chunk_terms")
