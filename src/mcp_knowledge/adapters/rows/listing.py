"""Pages of documents."""

from typing import Any

from mcp_knowledge.adapters.rows import documents
from mcp_knowledge.adapters.rows.dialect import Connection, Dialect
from mcp_knowledge.adapters.rows.scope import filters_sql
from mcp_knowledge.adapters.rows.sql import GONE, fold_key
from mcp_knowledge.domain.documents import Document
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
    if query.search:
        conditions.append("(instr(d.title_key, ?) > 0 OR instr(d.filename_key, ?) > 0)")
        params += [fold_key(query.search)] * 2
    if query.filters:
        sql, values = filters_sql(dialect, query.filters)
        conditions.append(f"({sql})")
        params += values
    return conditions, params
