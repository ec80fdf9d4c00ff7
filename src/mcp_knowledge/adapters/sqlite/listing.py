"""Pages of documents, and the figures of the status page."""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from mcp_knowledge.adapters.sqlite import documents
from mcp_knowledge.adapters.sqlite.drivers import Connection
from mcp_knowledge.adapters.sqlite.scope import filters_sql
from mcp_knowledge.adapters.sqlite.sql import GONE, first_row, fold_key, json_list
from mcp_knowledge.domain.documents import DOCUMENT_STATUSES, JOB_STATUSES, Document, IndexVersions, now_ms
from mcp_knowledge.ports import Counts, DocumentQuery, DocumentSort

_SORT_COLUMNS: dict[DocumentSort, str] = {
    "createdAt": "d.created_at_ms",
    "updatedAt": "d.updated_at_ms",
    "title": "d.title_key",
    "sizeBytes": "d.size_bytes",
}


def list_documents(connection: Connection, query: DocumentQuery) -> list[Document]:
    """One page in the query's order, ties by id in the same direction."""
    conditions, params = _conditions(query)
    column = _SORT_COLUMNS[query.sort]
    order, beyond = ("DESC", "<") if query.descending else ("ASC", ">")
    if query.after is not None:
        value = fold_key(str(query.after.value)) if query.sort == "title" else query.after.value
        conditions.append(f"{column} {beyond}= ? AND ({column}, d.id) {beyond} (?, ?)")
        params += [value, value, query.after.id]
    sql = f"{documents.SELECT} WHERE {' AND '.join(conditions)} ORDER BY {column} {order}, d.id {order} LIMIT ?"
    return [documents.document_from(row) for row in connection.execute(sql, [*params, query.limit])]


def _conditions(query: DocumentQuery) -> tuple[list[str], list[Any]]:
    conditions, params = list[str](), list[Any]()
    if query.statuses:
        conditions.append("d.status IN (SELECT value FROM json_each(?))")
        params.append(json_list(query.statuses))
    else:
        conditions.append(f"d.status NOT IN {GONE}")
    if query.collection_id is not None:
        conditions.append("d.collection_no = (SELECT collection_no FROM collections WHERE id = ?)")
        params.append(query.collection_id)
    if query.search:
        conditions.append("(instr(d.title_key, ?) OR instr(d.filename_key, ?))")
        params += [fold_key(query.search)] * 2
    if query.filters:
        sql, values = filters_sql(query.filters)
        conditions.append(f"({sql})")
        params += values
    return conditions, params


def counts(connection: Connection, current: Sequence[IndexVersions]) -> Counts:
    """Documents and jobs by state, failures by code, chunks, stale documents and workers at work."""
    by_status: dict[str, int] = dict(connection.execute("SELECT status, count(*) FROM documents GROUP BY status"))
    jobs: dict[str, int] = dict(connection.execute("SELECT status, count(*) FROM jobs GROUP BY status"))
    failed = connection.execute(
        """SELECT substr(latest_error, 1, instr(latest_error, ':') - 1) AS code, count(*)
           FROM documents WHERE status = 'failed' GROUP BY code ORDER BY code"""
    )
    workers = "SELECT count(DISTINCT worker) FROM jobs WHERE status = 'running' AND visible_at_ms > ?"
    return Counts(
        documents={status: by_status.get(status, 0) for status in DOCUMENT_STATUSES},
        failed_by_code=dict(failed),
        jobs={status: jobs.get(status, 0) for status in JOB_STATUSES},
        chunks=_number(connection, "SELECT sum(chunk_count) FROM documents WHERE searchable = 1"),
        stale_documents=_stale_documents(connection, current),
        active_workers=_number(connection, workers, now_ms()),
    )


def _stale_documents(connection: Connection, current: Sequence[IndexVersions]) -> int:
    """Documents whose current revision was made with versions that are none of `current` (one for each parser)."""
    if not current:
        return 0
    rows = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(current))
    return _number(
        connection,
        f"""SELECT count(*) FROM documents d JOIN revisions r ON r.revision_no = d.current_revision_no
            JOIN index_versions v ON v.version_no = r.version_no
            WHERE d.searchable = 1 AND (v.parser_name, v.parser_version, v.chunker_name, v.chunker_version,
                v.embedding_model, v.embedding_dimensions, v.embedding_version) NOT IN (VALUES {rows})""",
        *(value for versions in current for value in astuple(versions)),
    )


def _number(connection: Connection, sql: str, *params: Any) -> int:
    row = first_row(connection, sql, params)
    return (row[0] if row else 0) or 0
