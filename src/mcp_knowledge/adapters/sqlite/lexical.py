"""Lexical search: FTS5 finds the chunks and scores them by BM25."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.scope import scope_condition, scope_sql
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.adapters.sqlite.matching import all_of, any_of, expression, two_of
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Candidate, Scope

# Weights of title, headings and content. FTS5's bm25 is negative, the best lowest.
_SCORE = "-bm25(chunk_fts, 8.0, 4.0, 1.0)"
# The sign before rowid keeps SQLite from running the full-text query once for every row of the list.
_WITHIN = "+f.rowid IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)"
_CHUNKS_IN = "SELECT c.chunk_no FROM chunks c WHERE c.document_no IN ({scope})"

_BROAD_ROWS = 6  # times as many rows as wanted, where only a part of the documents is in scope
_SPARE_ROWS = 32  # for ties at the cut, and for documents that are being deleted
_NARROW_DOCUMENTS = 2_000  # up to so many in scope it is faster to list their chunks than to check what comes out
# Most rows that the rare terms of a query may match before the others only add to their scores. At 100,000 chunks this
# changed no result in the top 50 of 150 questions, and cut the slowest from 66 to 42 ms.
_DRIVING_ROWS = 20_000
_MAX_TERMS = 64  # of a pasted page, its rarest
_MAX_COUNTED_TERMS = 20_000
_NOTHING_LEFT = float("-inf")


@dataclass(frozen=True, slots=True)
class _Pass:
    """One full-text query: `match` is scored; `within`, when given, must match too but adds nothing to the score."""

    match: str
    within: str | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked of the passes. The chunks of a narrow scope are listed before, else documents are checked after."""

    limit: int
    scope: Scope
    exclude: frozenset[int]
    narrow: bool
    rows: int  # to fetch from each pass, so that enough of them are in scope


class SqliteLexicalIndex:
    """BM25 over title, headings and content of searchable chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._row_counts: dict[str, int] = {}  # rows that a term matches; roughly right is enough
        self._counted_at = 0

    async def search_all(self, phrases: Sequence[Phrase], limit: int, scope: Scope) -> list[Candidate]:
        """Chunks in which every phrase matches, best first (ties by chunk id)."""
        if not phrases or limit < 1:
            return []
        passes = [_Pass(all_of([expression(phrase) for phrase in phrases]))]
        return await self._database.read(
            lambda connection: _best(connection, passes, _request(connection, limit, scope))
        )

    async def search_any(
        self, phrases: Sequence[Phrase], min_match: int, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()
    ) -> list[Candidate]:
        """Chunks in which at least `min_match` (1 or 2) phrases match, without those in `exclude`, best first."""
        if len(phrases) < min_match or not phrases or limit < 1:
            return []
        terms = [expression(phrase) for phrase in phrases]
        return await self._database.read(
            lambda connection: self._any(connection, terms, min_match, _request(connection, limit, scope, exclude))
        )

    def _any(self, connection: Connection, terms: list[str], min_match: int, request: _Request) -> list[Candidate]:
        """In a large collection many chunks share nothing but common words with a long question: the rare ones lead.

        Chunks that hold a rare term and another are found in two passes: two rare ones, or a rare and a common one,
        where the higher score is the whole one. Only when these are too few, chunks with common terms alone count.
        """
        if min_match < 2:
            return _best(connection, [_Pass(any_of(terms))], request)
        terms, driving = self._by_rarity(connection, terms)
        if driving < len(terms) and not request.narrow:
            rare, common = terms[:driving], terms[driving:]
            passes = [_Pass(f"{any_of(rare)} AND {any_of(common)}")]
            if driving > 1:
                passes.append(_Pass(any_of(rare), within=two_of(rare)))
            found = _best(connection, passes, request)
            if len(found) == request.limit:
                return found
        return _best(connection, [_Pass(any_of(terms), within=two_of(terms))], request) if len(terms) > 1 else []

    def _by_rarity(self, connection: Connection, terms: list[str]) -> tuple[list[str], int]:
        """The terms that occur, rarest first, and how many of them lead (one at least, all in a small collection)."""
        newest = _newest_chunk(connection)
        if newest <= _DRIVING_ROWS and len(terms) <= _MAX_TERMS:
            return terms, len(terms)
        self._forget_old_counts(newest)
        counted = sorted((self._row_count(connection, term), term) for term in terms)
        counted = [(rows, term) for rows, term in counted if rows][:_MAX_TERMS]
        totals = accumulate(rows for rows, _ in counted)
        return [term for _, term in counted], max(1, sum(total <= _DRIVING_ROWS for total in totals))

    def _row_count(self, connection: Connection, term: str) -> int:
        count = self._row_counts.get(term)
        if count is None:
            count = int(next(connection.execute("SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH ?", (term,)))[0])
            self._row_counts[term] = count
        return count

    def _forget_old_counts(self, newest_chunk: int) -> None:
        if abs(newest_chunk - self._counted_at) > self._counted_at // 10 or len(self._row_counts) > _MAX_COUNTED_TERMS:
            self._row_counts = {}
            self._counted_at = newest_chunk


def _request(connection: Connection, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()) -> _Request:
    rows = limit + len(exclude) + _SPARE_ROWS
    if scope.unlimited:
        return _Request(limit, scope, exclude, False, rows)
    select, params = scope_sql(connection.dialect, scope)
    sql = f"SELECT count(*) FROM ({select} LIMIT {_NARROW_DOCUMENTS + 1})"
    narrow = int(next(connection.execute(sql, params))[0]) <= _NARROW_DOCUMENTS
    return _Request(limit, scope, exclude, narrow, rows if narrow else _BROAD_ROWS * rows)


def _best(connection: Connection, passes: Sequence[_Pass], request: _Request) -> list[Candidate]:
    """The best chunks of all passes together, each with its highest score."""
    scores: dict[int, float] = {}
    floor = _NOTHING_LEFT  # everything that scores above it has been found
    for item in passes:
        found = _top(connection, item, request)
        _keep_highest(scores, found)
        if len(found) == request.rows:
            floor = max(floor, found[-1][1])
    best = [number for number, score in scores.items() if score > floor and number not in request.exclude]
    ids = _ids_in_scope(connection, best, request.scope)
    if len(ids) < request.limit and floor > _NOTHING_LEFT:
        ids = {}
        for item in passes:
            rows = _top_in_scope(connection, item, request)
            _keep_highest(scores, ((number, score) for number, _, score in rows))
            ids |= {number: chunk_id for number, chunk_id, _ in rows if number not in request.exclude}
    candidates = [Candidate(number, chunk_id, scores[number]) for number, chunk_id in ids.items()]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk_id, candidate.chunk_no))
    return candidates[: request.limit]


def _keep_highest(scores: dict[int, float], found: Iterable[tuple[int, float]]) -> None:
    for number, score in found:
        scores[number] = max(score, scores.get(number, score))


def _top(connection: Connection, item: _Pass, request: _Request) -> list[tuple[int, float]]:
    """Chunk number and score of a pass's best rows; of any document, unless the scope is narrow."""
    conditions = ["chunk_fts MATCH ?"]
    params: list[object] = [item.match]
    if item.within is not None:
        conditions.append(_WITHIN)
        params.append(item.within)
    if request.narrow:
        select, values = scope_sql(connection.dialect, request.scope)
        conditions.append(f"+f.rowid IN ({_CHUNKS_IN.format(scope=select)})")
        params += values
    sql = f"""
        SELECT f.rowid, {_SCORE} AS score FROM chunk_fts f
        WHERE {" AND ".join(conditions)} ORDER BY score DESC LIMIT ?"""
    return [(row[0], row[1]) for row in connection.execute(sql, (*params, request.rows))]


def _top_in_scope(connection: Connection, item: _Pass, request: _Request) -> list[tuple[int, str, float]]:
    """The same with every row's document checked and ties broken by chunk id: slow where much matches, never short."""
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


def _ids_in_scope(connection: Connection, chunk_nos: Sequence[int], scope: Scope) -> dict[int, str]:
    """The public ids of those chunks whose documents are in scope."""
    condition, values = scope_condition(connection.dialect, scope, probing=True)
    sql = f"""
        SELECT c.chunk_no, c.id
        FROM json_each(?) e
        CROSS JOIN chunks c ON c.chunk_no = e.value
        CROSS JOIN documents d ON d.document_no = c.document_no
        WHERE {condition}"""
    return {row[0]: row[1] for row in connection.execute(sql, (json.dumps(chunk_nos), *values))}


def _newest_chunk(connection: Connection) -> int:
    """The highest chunk number: the number of chunks, or more where some were deleted."""
    return int(next(connection.execute("SELECT max(chunk_no) FROM chunks"))[0] or 0)
