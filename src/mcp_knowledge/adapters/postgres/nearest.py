"""The two statements that find the nearest vectors: a scan of all that may answer, and a walk through the graph.

Both take more rows than are wanted and leave the exact order to Python.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.adapters.postgres.connection import PostgresConnection
from mcp_knowledge.adapters.rows.scope import Sql
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.domain.search import Candidate, Place
from mcp_knowledge.ports import Vector

_SPARE = 2  # so many times the limit are scored: rounding to half precision swaps neighbours
# The widest search that pgvector allows: questions are far from any passage, and a narrow search of the graph gets lost
# (recall@50 of short questions at 100,000 chunks 0.992, with 400 it is 0.930; docs/performance.md).
_EF_SEARCH = 1_000
_VISITS_A_ROW = 50  # a walk that finds fewer than one chunk in scope among so many ends

_FOUND = "SELECT n.chunk_no, c.id, -n.distance FROM nearest n JOIN chunks c ON c.chunk_no = n.chunk_no"
# MATERIALIZED: the planner does not know how many chunks there will be, and must not walk the graph here.
_SCANNED = """
    WITH scanned AS MATERIALIZED
        (SELECT v.chunk_no, v.vector <#> ? AS distance FROM chunk_vectors v WHERE {chosen})"""
_SCAN = f"""{_SCANNED},
    nearest AS (SELECT chunk_no, distance FROM scanned ORDER BY distance, chunk_no LIMIT ?)
    """
_PLACE = f"""{_SCANNED},
    own AS (SELECT s.chunk_no, s.distance, c.id FROM scanned s JOIN chunks c ON c.chunk_no = s.chunk_no
            WHERE s.chunk_no = ?)
    SELECT (SELECT count(*) FROM scanned s WHERE s.distance < own.distance)
           + (SELECT count(*) FROM scanned s JOIN chunks c ON c.chunk_no = s.chunk_no
              WHERE s.distance = own.distance AND (c.id, c.chunk_no) < (own.id, own.chunk_no)) + 1,
           -own.distance, (SELECT count(*) FROM scanned)
    FROM own"""
_ALL_THAT_MAY = "v.document_no IN (SELECT d.document_no FROM documents d WHERE {condition})"
# A scalar subquery is asked about one chunk after another, in the order of the graph; EXISTS might become a join.
_WALK = """
    WITH walked AS MATERIALIZED
        (SELECT v.chunk_no, v.vector FROM chunk_vectors v
         WHERE (SELECT true FROM documents d WHERE d.document_no = v.document_no AND {condition})
         ORDER BY v.vector::halfvec({dimensions}) <#> ?::halfvec({dimensions}) LIMIT ?),
    nearest AS (SELECT chunk_no, vector <#> ? AS distance FROM walked)
    """
# What the planner might do instead of a walk.
_DETOURS = ("enable_sort", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin")


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for.

    Args:
        vector: float32 [dimensions], L2-normalised.
        limit: chunks wanted.
        among_all: a condition on `documents d` for those that may answer, where all of them are looked up.
        of_one: the same condition, where one document after another is asked about.
        everything: whether every searchable document may answer.
    """

    vector: Vector
    limit: int
    among_all: Sql
    of_one: Sql
    everything: bool

    @property
    def rows(self) -> int:
        """Chunks to score."""
        return _SPARE * self.limit


def scan_documents(connection: PostgresConnection, question: Question, document_nos: list[int]) -> list[Candidate]:
    """Compare all chunks of these documents."""
    dialect = connection.dialect
    return _scan(connection, question, dialect.among("v.document_no"), (dialect.listed(document_nos),))


def scan_all(connection: PostgresConnection, question: Question) -> list[Candidate]:
    """Compare all chunks that may answer."""
    condition, params = question.among_all
    _set(connection, dict.fromkeys(_DETOURS, "on"))
    return _scan(connection, question, _ALL_THAT_MAY.format(condition=condition), params)


def place_among(connection: PostgresConnection, question: Question, chunk_no: int) -> Place | None:
    """Where a chunk stands among all that may answer; None when it is none of them."""
    condition, params = question.among_all
    _set(connection, dict.fromkeys(_DETOURS, "on"))
    sql = _PLACE.format(chosen=_ALL_THAT_MAY.format(condition=condition))
    row = first_row(connection, sql, (question.vector, *params, chunk_no))
    return None if row is None else Place(*row)


def walk(connection: PostgresConnection, question: Question, walks_on: bool) -> list[Candidate]:
    """Go through the graph; fewer than wanted come when those that may answer are far between.

    Args:
        walks_on: whether this pgvector looks behind the nearest 1,000 chunks when too few of them may answer.
    """
    condition, params = question.of_one
    sql = _WALK.format(condition=condition, dimensions=len(question.vector)) + _FOUND
    _set(connection, _walking(question, walks_on) | dict.fromkeys(_DETOURS, "off"))
    return _candidates(connection, sql, (*params, question.vector, question.rows, question.vector), question.limit)


def _walking(question: Question, walks_on: bool) -> dict[str, str]:
    """pgvector's settings for a walk."""
    settings = {"hnsw.ef_search": str(_EF_SEARCH)}
    if walks_on:
        settings["hnsw.iterative_scan"] = "relaxed_order"
        settings["hnsw.max_scan_tuples"] = str(_VISITS_A_ROW * question.rows)
    return settings


def _scan(connection: PostgresConnection, question: Question, chosen: str, params: tuple[Any, ...]) -> list[Candidate]:
    sql = _SCAN.format(chosen=chosen) + _FOUND
    return _candidates(connection, sql, (question.vector, *params, question.rows), question.limit)


def _candidates(connection: PostgresConnection, sql: str, params: tuple[Any, ...], limit: int) -> list[Candidate]:
    found = [Candidate(*row) for row in connection.execute(sql, params)]
    found.sort(key=lambda item: (-item.score, item.chunk_id, item.chunk_no))
    return found[:limit]


def _set(connection: PostgresConnection, settings: Mapping[str, str]) -> None:
    """Settings for the rest of the transaction."""
    calls = ", ".join(["set_config(?, ?, true)"] * len(settings))
    connection.execute(f"SELECT {calls}", [part for setting in settings.items() for part in setting])
