"""The full text of SQLite compared with the passages. It keeps no text, so that its terms are counted on both sides."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from mcp_knowledge.adapters.checks.documents import CheckedDocument
from mcp_knowledge.adapters.checks.texts import TextFaults
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.fulltext import indexed_text
from mcp_knowledge.adapters.sqlite.drivers import DatabaseFault
from mcp_knowledge.adapters.sqlite.lexicon import stored_sizes, stored_totals
from mcp_knowledge.adapters.sqlite.schema import OBJECTS, gone, strangers
from mcp_knowledge.domain.tokens import index_text

_COLUMNS = ("title", "headings", "content")
_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.chunk_fts_terms USING fts5vocab(main, chunk_fts, col)"
_MAX_LOOKED_UP = 2000  # terms whose chunks are looked up; more of them tell of a fault in all of the index
_UNKNOWN = "FROM chunk_fts_docsize WHERE id NOT IN (SELECT chunk_no FROM chunks)"
_FULL_TEXT = "chunk_fts"

Term = tuple[str, str]  # column, term


class SqliteTextCheck:
    """Sizes are compared chunk by chunk, and terms by how many chunks have them and how often."""

    def __init__(self) -> None:
        self._chunks: dict[str, Counter[str]] = {name: Counter() for name in _COLUMNS}
        self._occurrences: dict[str, Counter[str]] = {name: Counter() for name in _COLUMNS}
        self._totals = [0, 0, 0, 0]
        self._faults = TextFaults()

    def database_faults(self, connection: Connection) -> Iterable[str]:
        """What SQLite finds in its pages, indexes and rows. What it finds in the full text can be made anew."""
        objects = list(connection.execute(OBJECTS))
        yield from strangers(objects)
        yield from gone(objects)
        for (line,) in connection.execute("PRAGMA integrity_check(20)"):
            if _FULL_TEXT in line:
                self._faults.counts.append(line)
            elif line != "ok":
                yield line

    def page(self, connection: Connection, documents: Sequence[CheckedDocument]) -> None:
        """Compare sizes, and count terms."""
        for document in documents:
            try:
                sizes = stored_sizes(connection, document.document_no)
            except DatabaseFault as error:
                self._faults.counts.append(f"the full text cannot be read ({error})")
                return
            for chunk_no, columns in _terms_of(document):
                expected = [len(terms) for terms in columns]
                self._totals = [total + more for total, more in zip(self._totals, [1, *expected], strict=True)]
                if sizes.get(chunk_no) != expected:
                    self._faults.documents.add(document.document_no)
                for name, terms in zip(_COLUMNS, columns, strict=True):
                    self._occurrences[name].update(terms)
                    self._chunks[name].update(set(terms))

    def finish(self, connection: Connection, documents: Iterable[CheckedDocument] | None) -> TextFaults:
        """Compare the counts; those of a part of the passages say nothing."""
        faults = self._faults
        try:
            faults.unknown = next(connection.execute(f"SELECT count(*) {_UNKNOWN}"))[0]
            if documents is None or faults.counts or faults.documents or faults.unknown:
                return faults
            stored = stored_totals(connection)
            if [*stored, *self._totals[len(stored) :]] != self._totals or (not stored and any(self._totals)):
                faults.counts.append("the size of the full text is noted wrongly")
            with _vocabulary(connection):
                wrong = set(self._wrong_terms(connection))
            self._attribute(connection, wrong, documents)
        except DatabaseFault as error:
            faults.counts.append(f"the full text cannot be read ({error})")
        return faults

    def late_counters(self, connection: Connection) -> Iterable[str]:
        """AUTOINCREMENT looks at the rows too."""
        return ()

    def count_on(self, connection: Connection, table: str) -> None:
        """Nothing to do."""

    def remove_unknown(self, connection: Connection) -> None:
        """Rows without a chunk."""
        connection.execute(f"DELETE FROM chunk_fts WHERE rowid IN (SELECT id {_UNKNOWN})")

    def recount(self, connection: Connection) -> None:
        """FTS5 counts by itself."""

    def _wrong_terms(self, connection: Connection) -> Iterator[Term]:
        left = sum(map(len, self._chunks.values()))
        for term, column, chunks, occurrences in connection.execute(
            "SELECT term, col, doc, cnt FROM temp.chunk_fts_terms"
        ):
            known = self._chunks[column].get(term)
            left -= known is not None
            if (known, self._occurrences[column].get(term)) != (chunks, occurrences):
                yield column, term
        if left:
            present = set(connection.execute("SELECT col, term FROM temp.chunk_fts_terms"))
            yield from {(name, term) for name, terms in self._chunks.items() for term in terms} - present

    def _attribute(self, connection: Connection, wrong: set[Term], documents: Iterable[CheckedDocument]) -> None:
        """Find the documents that have another entry for a term than their passages."""
        if not wrong:
            return
        stored: dict[Term, set[int]] = {}
        for column, term in sorted(wrong)[:_MAX_LOOKED_UP]:
            match = f'{{{column}}} : "{term}"'
            rows = connection.execute("SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?", (match,))
            stored[column, term] = {row[0] for row in rows}
        for document in documents:
            for chunk_no, columns in _terms_of(document):
                has = {(name, term) for name, terms in zip(_COLUMNS, columns, strict=True) for term in terms} & wrong
                if any((chunk_no in rows) != (term in has) for term, rows in stored.items()):
                    self._faults.documents.add(document.document_no)
        if not self._faults.documents:
            self._faults.counts.append(f"{len(wrong):,} terms are counted wrongly")


def _terms_of(document: CheckedDocument) -> Iterator[tuple[int, list[list[str]]]]:
    """The terms of each passage, by column."""
    title = index_text(document.title).split()
    for passage in document.passages:
        headings, content = indexed_text(passage.heading_path, passage.content)
        yield passage.chunk_no, [title, headings.split(), content.split()]


@contextmanager
def _vocabulary(connection: Connection) -> Iterator[None]:
    """The terms of the index as a table of this connection alone, which otherwise only reads."""
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute(_VOCABULARY)
        yield
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.chunk_fts_terms")
        connection.execute("PRAGMA query_only = ON")
