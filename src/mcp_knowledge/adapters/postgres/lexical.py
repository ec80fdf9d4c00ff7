"""Lexical search: GIN finds the chunks in which a tsquery holds, and BM25 is computed as SQLite's FTS5 does.

A single term's frequency in a chunk is the inner product of the chunk's sparsevec with a unit vector; a phrase's or
prefix's comes out of `ts_rank_cd`, which adds the weights of the places where it stands. (The cover of a phrase is the
phrase itself, so its density is the weight of its label. Tests hold that to FTS5's counts.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.adapters.postgres.connection import PostgresConnection, PostgresDatabase
from mcp_knowledge.adapters.postgres.terms import (
    LABEL_WEIGHTS,
    TITLE_WEIGHT,
    TSQUERY,
    picking_vector,
    single_prefix,
    single_term,
    tsquery,
)
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.lexical import Request, best, leading_terms, request_for, small
from mcp_knowledge.adapters.rows.scope import scope_condition, scope_sql
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Candidate, Scope

# FTS5's constants (fts5_aux.c, fts5Bm25Function).
_K1 = 1.2
_B = 0.75
_LEAST_IDF = 1e-6

# The planner would rather read the whole table, positions too, than the index for a frequent term; several processes
# for one search cost more than they save; and the list of a frequent term's rows should fit into memory.
_PLANNER = """
    SELECT set_config('enable_seqscan', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
           set_config('work_mem', '32MB', true)"""
# Concatenation with nothing unpacks the counts of a change once instead of once for each term.
_COUNTS = """
    WITH changes AS MATERIALIZED (SELECT chunks, tokens, counts || '{}' AS counts FROM term_changes)
    SELECT t.chunks + (SELECT coalesce(sum(chunks), 0) FROM changes)::bigint,
           t.tokens + (SELECT coalesce(sum(tokens), 0) FROM changes)::bigint,
           ARRAY(SELECT (coalesce((SELECT c.chunks FROM term_counts c WHERE c.term = w.term), 0)
                         + coalesce((SELECT sum((counts ->> w.term)::bigint) FROM changes), 0))::bigint
                 FROM unnest(?::text[]) WITH ORDINALITY AS w (term, place) ORDER BY w.place)
    FROM text_totals t"""
# Every term with a beginning (terms compare by bytes, and nothing in a term comes after U+10FFFF).
_EXPAND = """
    SELECT term FROM term_counts WHERE term >= ? AND term < ?
    UNION SELECT key FROM term_changes CROSS JOIN LATERAL jsonb_object_keys(counts) AS key WHERE starts_with(key, ?)
    LIMIT ?"""
_LAST_CHARACTER = "\U0010ffff"
_MAX_EXPANSIONS = 4_000  # of a prefix; adding up more numbers takes longer than looking at the places
_COUNT_ROWS = "SELECT count(*) FROM chunk_terms t WHERE t.terms @@ ?::tsquery"
_NARROWEST_DOCUMENTS = 50  # up to so many in scope their chunks are read one by one


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Of the whole full text: its chunks, their average size in tokens, and how many of them hold each phrase.

    `vectors` has, for terms and prefixes, the sparsevec that picks their frequencies.
    """

    chunks: int
    average_size: float
    matching: dict[Phrase, int]
    vectors: dict[Phrase, str]

    def idf(self, phrase: Phrase) -> float:
        rows = self.matching[phrase]
        value = math.log((self.chunks - rows + 0.5) / (rows + 0.5))
        return value if value > 0 else _LEAST_IDF


@dataclass(frozen=True, slots=True)
class _Pass:
    """One query: chunks in which `match` holds are scored by all `phrases`."""

    match: str
    phrases: Sequence[Phrase]
    statistics: _Statistics

    @property
    def length(self) -> tuple[float, float]:
        """k1·(1 - b + b·size/average) of a chunk: what it is without its size, and what each token adds."""
        return _K1 * (1 - _B), _K1 * _B / self.statistics.average_size


class PostgresLexicalIndex:
    """BM25 over title, headings and content of searchable chunks."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def search_all(self, phrases: Sequence[Phrase], limit: int, scope: Scope) -> list[Candidate]:
        """Chunks in which every phrase matches, best first (ties by chunk id)."""
        if not phrases or limit < 1:
            return []
        return await self._database.read(lambda connection: _all(connection, phrases, limit, scope))

    async def search_any(
        self, phrases: Sequence[Phrase], min_match: int, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()
    ) -> list[Candidate]:
        """Chunks in which at least `min_match` (1 or 2) phrases match, without those in `exclude`, best first."""
        if len(phrases) < min_match or not phrases or limit < 1:
            return []
        return await self._database.read(lambda connection: _any(connection, phrases, min_match, limit, scope, exclude))

    async def count(self, phrases: Sequence[Phrase], at_most: int) -> list[int]:
        """In how many chunks each phrase stands."""
        matching = await self._database.read(lambda connection: _statistics(connection, phrases).matching)
        return [min(matching[phrase], at_most) for phrase in phrases]


def _all(connection: PostgresConnection, phrases: Sequence[Phrase], limit: int, scope: Scope) -> list[Candidate]:
    statistics = _statistics(connection, phrases, all_needed=True)
    if not all(statistics.matching.values()):
        return []
    match = TSQUERY.all_of([tsquery(phrase) for phrase in phrases])
    request = request_for(connection, limit, scope)
    return best(connection, _Gin(), [_Pass(match, phrases, statistics)], request)


def _any(
    connection: PostgresConnection,
    phrases: Sequence[Phrase],
    min_match: int,
    limit: int,
    scope: Scope,
    exclude: frozenset[int],
) -> list[Candidate]:
    """As the embedded database does it; one pass finds two rare terms, or a rare and a common one."""
    statistics = _statistics(connection, phrases)
    if min_match > 1 and not small(statistics.chunks, len(phrases)):
        phrases, leading = leading_terms((statistics.matching[phrase], phrase) for phrase in phrases)
    else:
        phrases = [phrase for phrase in phrases if statistics.matching[phrase]]
        leading = len(phrases)
    if len(phrases) < min_match:
        return []
    request = request_for(connection, limit, scope, exclude)
    terms = [tsquery(phrase) for phrase in phrases]
    if leading < len(terms) and request.documents is None:
        rare, common = terms[:leading], terms[leading:]
        match = f"({TSQUERY.any_of(rare)} & {TSQUERY.any_of(common)})"
        if leading > 1:
            match = TSQUERY.any_of([match, TSQUERY.two_of(rare)])
        found = best(connection, _Gin(), [_Pass(match, phrases, statistics)], request)
        if len(found) == limit:
            return found
    match = TSQUERY.any_of(terms) if min_match < 2 else TSQUERY.two_of(terms)
    return best(connection, _Gin(), [_Pass(match, phrases, statistics)], request)


class _Gin:
    """Passes over the chunks' terms."""

    def top(self, connection: Connection, item: _Pass, request: Request) -> list[tuple[int, float]]:
        """Chunk number and score of a pass's best rows; of any document, unless the scope is narrow."""
        score, score_params = _score_sql(item)
        condition, scope_params = "", tuple[Any, ...]()
        if request.documents is not None:
            select, scope_params = scope_sql(connection.dialect, request.scope)
            # The sum keeps the planner from beginning with the documents where they are many.
            column = "t.document_no" if request.documents <= _NARROWEST_DOCUMENTS else "(t.document_no + 0)"
            condition = f"AND {column} IN ({select})"
        frequencies, frequency_params = _frequencies_sql(item.phrases, "r")
        sql = f"""
            SELECT r.chunk_no, r.size, {frequencies} FROM (
                SELECT m.chunk_no, m.size, m.frequencies, m.terms, {score} AS score FROM (
                    SELECT t.chunk_no, t.size, t.frequencies, t.terms, ?::float8 + ?::float8 * t.size AS length
                    FROM chunk_terms t WHERE t.terms @@ ?::tsquery {condition} OFFSET 0) AS m
                ORDER BY score DESC LIMIT ?) AS r"""
        params = (*frequency_params, *score_params, *item.length, item.match, *scope_params, request.rows)
        scores = _Scores(item)
        found = [(row[0], scores.of(row[1], row[2:])) for row in connection.execute(sql, params)]
        return sorted(found, key=lambda row: -row[1])

    def top_in_scope(self, connection: Connection, item: _Pass, request: Request) -> list[tuple[int, str, float]]:
        """The same with public ids, every row's document checked."""
        score, score_params = _score_sql(item)
        condition, scope_params = scope_condition(connection.dialect, request.scope)
        frequencies, frequency_params = _frequencies_sql(item.phrases, "r")
        sql = f"""
            SELECT r.chunk_no, r.id, r.size, {frequencies} FROM (
                SELECT m.chunk_no, m.id, m.size, m.frequencies, m.terms, {score} AS score FROM (
                    SELECT t.chunk_no, c.id, t.size, t.frequencies, t.terms, ?::float8 + ?::float8 * t.size AS length
                    FROM chunk_terms t JOIN documents d ON d.document_no = t.document_no
                    JOIN chunks c ON c.chunk_no = t.chunk_no
                    WHERE t.terms @@ ?::tsquery AND {condition} OFFSET 0) AS m
                ORDER BY score DESC, m.id, m.chunk_no LIMIT ?) AS r"""
        rows = request.limit + len(request.exclude)
        params = (*frequency_params, *score_params, *item.length, item.match, *scope_params, rows)
        scores = _Scores(item)
        return [(row[0], row[1], scores.of(row[2], row[3:])) for row in connection.execute(sql, params)]


class _Scores:
    """BM25 with FTS5's formula and order of operations, so that its results are the same to the last bit."""

    def __init__(self, item: _Pass) -> None:
        self._idf = [item.statistics.idf(phrase) for phrase in item.phrases]
        self._average_size = item.statistics.average_size

    def of(self, size: int, frequencies: Sequence[float]) -> float:
        """The score of a chunk of `size` tokens with these frequencies, one a phrase."""
        length = _K1 * (1 - _B + _B * size / self._average_size)
        score = 0.0
        for idf, frequency in zip(self._idf, frequencies, strict=True):
            score += idf * ((frequency * (_K1 + 1.0)) / (frequency + length))
        return score


def _score_sql(item: _Pass) -> tuple[str, list[Any]]:
    """The score of a chunk `m`, but for rounding and a constant.

    Σ idf·f·(k1+1)/(f+length) = constant - length · Σ idf·(k1+1)/(f+length), where each frequency stands once.
    """
    parts, params = [], list[Any]()
    for phrase in item.phrases:
        vector = item.statistics.vectors.get(phrase)
        frequency, value = _placed_sql(phrase, "m") if vector is None else _picked_sql(vector, "m")
        parts.append(f"?::float8 / ({frequency} + m.length)")
        params += (item.statistics.idf(phrase), value)
    return f"-m.length * ({' + '.join(parts)})", params


def _frequencies_sql(phrases: Sequence[Phrase], row: str) -> tuple[str, list[Any]]:
    """How often each phrase stands in a chunk, by field weight. Terms that share a slot are told apart in prefixes."""
    found = []
    for phrase in phrases:
        term = single_term(phrase)
        found.append(_placed_sql(phrase, row) if term is None else _picked_sql(picking_vector([term]), row))
    return ", ".join(sql for sql, _ in found), [value for _, value in found]


def _picked_sql(vector: str, row: str) -> tuple[str, str]:
    return f"inner_product(?::sparsevec, {row}.frequencies)", vector


def _placed_sql(phrase: Phrase, row: str) -> tuple[str, str]:
    return f"{TITLE_WEIGHT}::float8 * ts_rank_cd('{LABEL_WEIGHTS}', {row}.terms, ?::tsquery)", tsquery(phrase)


def _statistics(connection: PostgresConnection, phrases: Sequence[Phrase], *, all_needed: bool = False) -> _Statistics:
    """What BM25 must know. With `all_needed`, a term that is nowhere spares the counting of phrases."""
    connection.execute(_PLANNER)
    single = {phrase: term for phrase in phrases if (term := single_term(phrase)) is not None}
    chunks, tokens, counts = next(connection.execute(_COUNTS, (list(single.values()),)))
    matching = dict(zip(single, counts, strict=True))
    vectors = {phrase: picking_vector([term]) for phrase, term in single.items()}
    missing = all_needed and not all(counts)
    for phrase in phrases:
        if phrase not in matching:
            missing = missing or not chunks
            matching[phrase] = 0 if missing else int(next(connection.execute(_COUNT_ROWS, (tsquery(phrase),)))[0])
            missing = missing or (all_needed and not matching[phrase])
            if matching[phrase] and (beginning := single_prefix(phrase)) is not None:
                vectors |= _expanded(connection, phrase, beginning)
    return _Statistics(chunks, tokens / chunks if chunks else 0.0, matching, vectors)


def _expanded(connection: PostgresConnection, phrase: Phrase, beginning: str) -> dict[Phrase, str]:
    """The vector of a prefix, unless too many terms begin so."""
    params = (beginning, beginning + _LAST_CHARACTER, beginning, _MAX_EXPANSIONS + 1)
    terms = [row[0] for row in connection.execute(_EXPAND, params)]
    return {phrase: picking_vector(terms)} if len(terms) <= _MAX_EXPANSIONS else {}
