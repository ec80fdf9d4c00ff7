"""The figures of the status page, which every page of the dashboard and every scrape of the metrics asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.adapters.rows import stale
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.job_figures import job_counts
from mcp_knowledge.adapters.rows.sql import first_row, meta_value
from mcp_knowledge.domain.documents import (
    DOCUMENT_STATUSES,
    DocumentStatus,
    IndexVersions,
    now_ms,
)
from mcp_knowledge.ports import Counts


@dataclass(frozen=True, slots=True)
class DocumentFigures:
    """What was counted by reading all documents. It holds until the generation rises."""

    generation: int
    current: tuple[IndexVersions, ...]
    documents: dict[DocumentStatus, int]
    failed_by_code: dict[str, int]
    chunks: int
    stale: dict[IndexVersions, int]


def document_figures(
    connection: Connection, current: Sequence[IndexVersions], known: DocumentFigures | None
) -> DocumentFigures:
    """Documents by state, failures by code, chunks and stale documents; `known`, where nothing has changed since."""
    generation, versions = int(meta_value(connection, "generation")), tuple(current)
    if known is not None and (known.generation, known.current) == (generation, versions):
        return known
    by_status: dict[str, int] = dict(connection.execute("SELECT status, count(*) FROM documents GROUP BY status"))
    failed = connection.execute(
        """SELECT substr(latest_error, 1, instr(latest_error, ':') - 1) AS code, count(*)
           FROM documents WHERE status = 'failed' GROUP BY code ORDER BY code"""
    )
    return DocumentFigures(
        generation=generation,
        current=versions,
        documents={status: by_status.get(status, 0) for status in DOCUMENT_STATUSES},
        failed_by_code=dict(failed),
        chunks=_chunks(connection),
        stale=stale.counts(connection, versions),
    )


def counts(connection: Connection, figures: DocumentFigures) -> Counts:
    """The figures of documents with those of jobs, which move without the generation."""
    # `<> 'completed'` lets SQLite use the index of such jobs.
    workers = """SELECT count(DISTINCT worker) FROM jobs
                 WHERE status = 'running' AND status <> 'completed' AND visible_at_ms > ?"""
    return Counts(
        documents=figures.documents,
        failed_by_code=figures.failed_by_code,
        jobs=job_counts(connection),
        chunks=figures.chunks,
        stale=figures.stale,
        active_workers=_number(connection, workers, now_ms()),
    )


def originals_bytes(connection: Connection) -> int:
    """The size of all originals, those of former revisions included."""
    return int(_number(connection, "SELECT sum(size_bytes) FROM revisions"))


def _chunks(connection: Connection) -> int:
    """Searchable chunks: all but those of documents under removal (a sum over all documents costs far more)."""
    going = "SELECT sum(chunk_count) FROM documents WHERE status = 'deleting'"
    return _number(connection, "SELECT count(*) FROM chunks") - _number(connection, going)


def _number(connection: Connection, sql: str, *params: Any) -> int:
    row = first_row(connection, sql, params)
    return (row[0] if row else 0) or 0
