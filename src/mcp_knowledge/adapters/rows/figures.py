"""The figures of the status page, which every page of the dashboard and every scrape of the metrics asks for."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.sql import first_row, meta_value
from mcp_knowledge.domain.documents import (
    DOCUMENT_STATUSES,
    JOB_STATUSES,
    DocumentStatus,
    IndexVersions,
    JobStatus,
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
    stale_documents: int


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
        stale_documents=_stale_documents(connection, versions),
    )


def counts(connection: Connection, figures: DocumentFigures) -> Counts:
    """The figures of documents with those of jobs, which move without the generation."""
    # `<> 'completed'` lets SQLite use the index of such jobs.
    workers = """SELECT count(DISTINCT worker) FROM jobs
                 WHERE status = 'running' AND status <> 'completed' AND visible_at_ms > ?"""
    return Counts(
        documents=figures.documents,
        failed_by_code=figures.failed_by_code,
        jobs=_jobs(connection),
        chunks=figures.chunks,
        stale_documents=figures.stale_documents,
        active_workers=_number(connection, workers, now_ms()),
    )


def _jobs(connection: Connection) -> dict[JobStatus, int]:
    sql = "SELECT status, count(*) FROM jobs WHERE status <> 'completed' GROUP BY status"
    found: dict[str, int] = dict(connection.execute(sql))
    found["completed"] = _number(connection, "SELECT count(*) FROM jobs") - sum(found.values())
    return {status: found.get(status, 0) for status in JOB_STATUSES}


def _chunks(connection: Connection) -> int:
    """Searchable chunks: all but those of documents under removal (a sum over all documents costs far more)."""
    going = "SELECT sum(chunk_count) FROM documents WHERE status = 'deleting'"
    return _number(connection, "SELECT count(*) FROM chunks") - _number(connection, going)


def _stale_documents(connection: Connection, current: Sequence[IndexVersions]) -> int:
    """Documents whose current revision was made with versions that are none of `current` (one for each parser)."""
    if not current:
        return 0
    rows = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(current))
    old = connection.execute(
        f"""SELECT version_no FROM index_versions
            WHERE (parser_name, parser_version, chunker_name, chunker_version,
                   embedding_model, embedding_dimensions, embedding_version) NOT IN (VALUES {rows})""",
        [value for versions in current for value in astuple(versions)],
    )
    numbers = [row[0] for row in old]
    if not numbers:
        return 0  # as nearly always: no need to look at the documents
    return _number(
        connection,
        f"""SELECT count(*) FROM documents d JOIN revisions r ON r.revision_no = d.current_revision_no
            WHERE d.searchable = 1 AND {connection.dialect.among("r.version_no")}""",
        connection.dialect.listed(numbers),
    )


def _number(connection: Connection, sql: str, *params: Any) -> int:
    row = first_row(connection, sql, params)
    return (row[0] if row else 0) or 0
