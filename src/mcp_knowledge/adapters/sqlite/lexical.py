"""Lexical search: FTS5 finds the chunks and scores them by BM25."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.lexical import Request, best, leading_terms, request_for, small
from mcp_knowledge.adapters.rows.scope import scope_condition, scope_sql
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.adapters.sqlite.matching import FTS5, expression
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Candidate, Scope

# Weights of title, headings and content. FTS5's bm25 is negative, the best lowest.
_SCORE = "-bm25(chunk_fts, 8.0, 4.0, 1.0)"
# The sign before rowid keeps SQLite from running the full-text query once for every row of the list.
_WITHIN = "+f.rowid IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)"
_CHUNKS_IN = "SELECT c.chunk_no FROM chunks c WHERE c.document_no IN ({scope})"
_MAX_COUNTED_TERMS = 20_000


@dataclass(frozen=True, slots=True)
class _Pass:
    """One full-text query: `match` is scored; `within`, when given, must match too but adds nothing to the score."""

    match: str
    within: str | None = None


class SqliteLexicalIndex:
    """BM25 over title, headings and content of searchable chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row_counts: dict[Phrase, int] = {}  # rows that a term matches; roughly right is enough
        self._counted_at = 0

    async def search_all(self, phrases: Sequence[Phrase], limit: int, scope: Scope) -> list[Candidate]:
        """Chunks in which every phrase matches, best first (ties by chunk id)."""
        if not phrases or limit < 1:
            return []
        passes = [_Pass(FTS5.all_of([expression(phrase) for phrase in phrases]))]
        return await self._database.read(
            lambda connection: best(connection, _Fts5(), passes, request_for(connection, limit, scope))
        )

    async def search_any(
        self, phrases: Sequence[Phrase], min_match: int, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()
    ) -> list[Candidate]:
        """Chunks in which at least `min_match` (1 or 2) phrases match, without those in `exclude`, best first."""
        if len(phrases) < min_match or not phrases or limit < 1:
            return []
        return await self._database.read(
            lambda connection: self._any(connection, phrases, min_match, request_for(connection, limit, scope, exclude))
        )

    async def count(self, phrases: Sequence[Phrase], at_most: int) -> list[int]:
        """In how many chunks each phrase stands."""
        sql = "SELECT count(*) FROM (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?)"
        return await self._database.read(
            lambda connection: [
                int(next(connection.execute(sql, (expression(phrase), at_most)))[0]) for phrase in phrases
            ]
        )

    def _any(
        self, connection: Connection, phrases: Sequence[Phrase], min_match: int, request: Request
    ) -> list[Candidate]:
        """Chunks that hold a rare term and another are found in two passes: two rare ones, or a rare and a common one,
        where the higher score is the whole one.
        """
        if min_match < 2:
            return best(connection, _Fts5(), [_Pass(FTS5.any_of([expression(phrase) for phrase in phrases]))], request)
        phrases, leading = self._by_rarity(connection, phrases)
        terms = [expression(phrase) for phrase in phrases]
        if leading < len(terms) and request.documents is None:
            rare, common = terms[:leading], terms[leading:]
            passes = [_Pass(f"{FTS5.any_of(rare)} AND {FTS5.any_of(common)}")]
            if leading > 1:
                passes.append(_Pass(FTS5.any_of(rare), within=FTS5.two_of(rare)))
            found = best(connection, _Fts5(), passes, request)
            if len(found) == request.limit:
                return found
        if len(terms) < 2:
            return []
        return best(connection, _Fts5(), [_Pass(FTS5.any_of(terms), within=FTS5.two_of(terms))], request)

    def _by_rarity(self, connection: Connection, phrases: Sequence[Phrase]) -> tuple[Sequence[Phrase], int]:
        """The terms to search for, and how many of them lead."""
        newest = _newest_chunk(connection)
        if small(newest, len(phrases)):
            return phrases, len(phrases)
        self._forget_old_counts(newest)
        return leading_terms((self._row_count(connection, phrase), phrase) for phrase in phrases)

    def _row_count(self, connection: Connection, phrase: Phrase) -> int:
        count = self._row_counts.get(phrase)
        if count is None:
            sql = "SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH ?"
            count = self._row_counts[phrase] = int(next(connection.execute(sql, (expression(phrase),)))[0])
        return count

    def _forget_old_counts(self, newest_chunk: int) -> None:
        if abs(newest_chunk - self._counted_at) > self._counted_at // 10 or len(self._row_counts) > _MAX_COUNTED_TERMS:
            self._row_counts = {}
            self._counted_at = newest_chunk


class _Fts5:
    """Passes over the full-text table."""

    def top(self, connection: Connection, item: _Pass, request: Request) -> list[tuple[int, float]]:
        """Chunk number and score of a pass's best rows; of any document, unless the scope is narrow."""
        conditions = ["chunk_fts MATCH ?"]
        params: list[object] = [item.match]
        if item.within is not None:
            conditions.append(_WITHIN)
            params.append(item.within)
        if request.documents is not None:
            select, values = scope_sql(connection.dialect, request.scope)
            conditions.append(f"+f.rowid IN ({_CHUNKS_IN.format(scope=select)})")
            params += values
        sql = f"""
            SELECT f.rowid, {_SCORE} AS score FROM chunk_fts f
            WHERE {" AND ".join(conditions)} ORDER BY score DESC LIMIT ?"""
        return [(row[0], row[1]) for row in connection.execute(sql, (*params, request.rows))]

    def top_in_scope(self, connection: Connection, item: _Pass, request: Request) -> list[tuple[int, str, float]]:
        """The same with public ids, every row's document checked."""
        condition, values = scope_condition(connection.dialect, request.scope)
        within = () if item.within is None else (item.within,)
        sql = f"""
            SELECT f.rowid, c.id, {_SCORE} AS score
            FROM chunk_fts f
            CROSS JOIN chunks c ON c.chunk_no = f.rowid
            CROSS JOIN documents d ON d.document_no = c.document_no
            WHERE chunk_fts MATCH ? {f"AND {_WITHIN}" if within else ""} AND {condition}
            ORDER BY score DESC, c.id, f.rowid LIMIT ?"""
        rows = connection.execute(sql, (item.match, *within, *values, request.limit + len(request.exclude)))
        return [(row[0], row[1], row[2]) for row in rows]


def _newest_chunk(connection: Connection) -> int:
    """The highest chunk number: the number of chunks, or more where some were deleted."""
    return int(next(connection.execute("SELECT max(chunk_no) FROM chunks"))[0] or 0)
