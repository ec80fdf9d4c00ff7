"""Pages of documents."""

from dataclasses import dataclass
from typing import Any

from mcp_knowledge.adapters.rows import documents
from mcp_knowledge.adapters.rows.dialect import Connection, Dialect
from mcp_knowledge.adapters.rows.scope import filters_sql
from mcp_knowledge.adapters.rows.sql import GONE, fold_key, meta_value
from mcp_knowledge.domain.documents import Document, DocumentStatus
from mcp_knowledge.ports import DocumentQuery, DocumentSort

_SORT_COLUMNS: dict[DocumentSort, str] = {
    "createdAt": "d.created_at_ms",
    "updatedAt": "d.updated_at_ms",
    "title": "d.title_key",
    "sizeBytes": "d.size_bytes",
}


def list_documents(connection: Connection, query: DocumentQuery) -> list[Document]:
    """One page in the query's order, ties by id in the same direction."""
    conditions, params = _conditions(connection.dialect, query)
    column = _SORT_COLUMNS[query.sort]
    order, beyond = ("DESC", "<") if query.descending else ("ASC", ">")
    if query.after is not None:
        value = fold_key(str(query.after.value)) if query.sort == "title" else query.after.value
        conditions.append(f"{column} {beyond}= ? AND ({column}, d.id) {beyond} (?, ?)")
        params += [value, value, query.after.id]
    sql = f"{documents.SELECT} WHERE {' AND '.join(conditions)} ORDER BY {column} {order}, d.id {order} LIMIT ?"
    return [documents.document_from(row) for row in connection.execute(sql, [*params, query.limit])]


def document_ids(connection: Connection, query: DocumentQuery, after_id: str) -> list[str]:
    """Ids in their own order."""
    conditions, params = _conditions(connection.dialect, query)
    sql = f"SELECT d.id FROM documents d WHERE d.id > ? AND {' AND '.join(conditions)} ORDER BY d.id LIMIT ?"
    return [row[0] for row in connection.execute(sql, [after_id, *params, query.limit])]


def count_documents(connection: Connection, query: DocumentQuery) -> dict[DocumentStatus, int]:
    """By status, those with none left out."""
    conditions, params = _conditions(connection.dialect, query)
    sql = f"SELECT d.status, count(*) FROM documents d WHERE {' AND '.join(conditions)} GROUP BY d.status"
    return dict(connection.execute(sql, params))


@dataclass(frozen=True, slots=True)
class Formats:
    """How many live documents there are of each extension; it holds until the generation rises."""

    generation: int
    counts: dict[str, int]


def document_formats(connection: Connection, known: Formats | None) -> Formats:
    """Counted by reading all documents, or `known`, where nothing has changed since."""
    generation = int(meta_value(connection, "generation"))
    if known is not None and known.generation == generation:
        return known
    sql = f"SELECT extension, count(*) FROM documents WHERE status NOT IN {GONE} GROUP BY extension"
    return Formats(generation, dict(connection.execute(sql)))


def _conditions(dialect: Dialect, query: DocumentQuery) -> tuple[list[str], list[Any]]:
    conditions, params = list[str](), list[Any]()
    if query.statuses:
        conditions.append(dialect.among("d.status"))
        params.append(dialect.listed(query.statuses))
    else:
        conditions.append(f"d.status NOT IN {GONE}")
    if query.collection_id is not None:
        conditions.append("d.collection_no = (SELECT collection_no FROM collections WHERE id = ?)")
        params.append(query.collection_id)
    if query.unfiled:
        conditions.append("d.collection_no IS NULL")
    if query.extensions:
        conditions.append(dialect.among("d.extension"))
        params.append(dialect.listed(query.extensions))
    if query.created_until_ms is not None:
        conditions.append("d.created_at_ms <= ?")
        params.append(query.created_until_ms)
    if query.search:
        conditions.append("(instr(d.title_key, ?) > 0 OR instr(d.filename_key, ?) > 0)")
        params += [fold_key(query.search)] * 2
    if query.filters:
        sql, values = filters_sql(dialect, query.filters)
        conditions.append(f"({sql})")
        params += values
    return conditions, params
