"""Full-text search as both databases do it: which terms lead, how many rows to fetch, and which of them may answer.

An engine (FTS5, or tsvectors under GIN) matches and scores rows. A search is one or more passes of it, the best rows of
all together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, TypeVar

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.scope import scope_condition, scope_sql
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Candidate, Scope

_BROAD_ROWS = 6  # times as many rows as wanted, where only a part of the documents is in scope
_SPARE_ROWS = 32  # for ties at the cut, and for documents that are being deleted
_NARROW_DOCUMENTS = 2_000  # up to so many in scope it is faster to list their chunks than to check what comes out
# Most rows that the rare terms of a query may match before the others only add to their scores. At 100,000 chunks this
# changed no result in the top 50 of 150 questions, and cut the slowest from 66 to 42 ms.
_DRIVING_ROWS = 20_000
_MAX_TERMS = 64  # of a pasted page, its rarest
_NOTHING_LEFT = float("-inf")

P = TypeVar("P", contravariant=True)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the passes.

    Args:
        documents: how many are in scope, if no more than make it narrow. Then their chunks are listed before, else
            documents are checked after.
        rows: to fetch from each pass, so that enough of them are in scope.
    """

    limit: int
    scope: Scope
    exclude: frozenset[int]
    documents: int | None
    rows: int


class Engine(Protocol[P]):
    """A database's full-text query."""

    def top(self, connection: Connection, item: P, request: Request) -> list[tuple[int, float]]:
        """Chunk number and score of a pass's best rows, best first; of any document, unless the scope is narrow."""
        ...

    def top_in_scope(self, connection: Connection, item: P, request: Request) -> list[tuple[int, str, float]]:
        """The best rows (`limit` and as many as are excluded) with their public ids, every row's document checked and
        ties broken by chunk id: slow where much matches, never short.
        """
        ...


def request_for(connection: Connection, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()) -> Request:
    """Look how narrow the scope is."""
    rows = limit + len(exclude) + _SPARE_ROWS
    if scope.unlimited:
        return Request(limit, scope, exclude, None, rows)
    select, params = scope_sql(connection.dialect, scope)
    sql = f"SELECT count(*) FROM ({select} LIMIT {_NARROW_DOCUMENTS + 1}) AS found"
    documents = int(next(connection.execute(sql, params))[0])
    if documents <= _NARROW_DOCUMENTS:
        return Request(limit, scope, exclude, documents, rows)
    return Request(limit, scope, exclude, None, _BROAD_ROWS * rows)


def small(rows: int, terms: int) -> bool:
    """Whether every term may lead."""
    return rows <= _DRIVING_ROWS and terms <= _MAX_TERMS


def leading_terms(counted: Iterable[tuple[int, Phrase]]) -> tuple[list[Phrase], int]:
    """The terms that occur, rarest first, and how many of them lead: one at least.

    In a large collection many chunks share nothing but common words with a long question, so the rare ones lead: chunks
    that hold a rare term and another one are searched first. Only when these are too few, those with common terms alone
    count.

    Args:
        counted: terms, each with the number of rows that it matches.
    """
    found = sorted(
        ((rows, term) for rows, term in counted if rows), key=lambda item: (item[0], item[1].tokens, item[1].prefix)
    )[:_MAX_TERMS]
    totals = accumulate(rows for rows, _ in found)
    return [term for _, term in found], max(1, sum(total <= _DRIVING_ROWS for total in totals))


def best(connection: Connection, engine: Engine[P], passes: Sequence[P], request: Request) -> list[Candidate]:
    """The best chunks of all passes together, each with its highest score."""
    scores: dict[int, float] = {}
    floor = _NOTHING_LEFT  # everything that scores above it has been found
    for item in passes:
        found = engine.top(connection, item, request)
        _keep_highest(scores, found)
        if len(found) == request.rows:
            floor = max(floor, found[-1][1])
    above = [number for number, score in scores.items() if score > floor and number not in request.exclude]
    ids = _ids_in_scope(connection, above, request.scope)
    if len(ids) < request.limit and floor > _NOTHING_LEFT:
        ids = {}
        for item in passes:
            rows = engine.top_in_scope(connection, item, request)
            _keep_highest(scores, ((number, score) for number, _, score in rows))
            ids |= {number: chunk_id for number, chunk_id, _ in rows if number not in request.exclude}
    candidates = [Candidate(number, chunk_id, scores[number]) for number, chunk_id in ids.items()]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk_id, candidate.chunk_no))
    return candidates[: request.limit]


def _keep_highest(scores: dict[int, float], found: Iterable[tuple[int, float]]) -> None:
    for number, score in found:
        scores[number] = max(score, scores.get(number, score))


def _ids_in_scope(connection: Connection, chunk_nos: Sequence[int], scope: Scope) -> dict[int, str]:
    """The public ids of those chunks whose documents are in scope."""
    if not chunk_nos:
        return {}
    dialect = connection.dialect
    condition, values = scope_condition(dialect, scope, probing=True)
    sql = f"""
        SELECT c.chunk_no, c.id
        FROM chunks c {dialect.ordered_join} documents d ON d.document_no = c.document_no
        WHERE {dialect.among("c.chunk_no")} AND {condition}"""
    return {row[0]: row[1] for row in connection.execute(sql, (dialect.listed(chunk_nos), *values))}
