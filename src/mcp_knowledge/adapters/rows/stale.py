"""Documents whose index entries were made with versions of parser, chunker or model that are not the present ones."""

from collections.abc import Sequence
from dataclasses import astuple

from mcp_knowledge.adapters.rows import documents
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.domain.documents import Document, IndexVersions

_COLUMNS = """parser_name, parser_version, chunker_name, chunker_version, embedding_model, embedding_dimensions,
              embedding_version"""
_MADE = "JOIN revisions r ON r.revision_no = d.current_revision_no"


def version_numbers(connection: Connection, current: Sequence[IndexVersions]) -> dict[int, IndexVersions]:
    """The versions, by number, that documents were made with and that are none of `current` (one for each parser)."""
    if not current:
        return {}
    rows = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(current))
    sql = f"SELECT version_no, {_COLUMNS} FROM index_versions WHERE ({_COLUMNS}) NOT IN (VALUES {rows})"
    old = connection.execute(sql, [value for versions in current for value in astuple(versions)])
    return {row[0]: IndexVersions(*row[1:]) for row in old}


def counts(connection: Connection, current: Sequence[IndexVersions]) -> dict[IndexVersions, int]:
    """How many searchable documents were made with which of the old versions."""
    old = version_numbers(connection, current)
    if not old:
        return {}  # as nearly always: no need to look at the documents
    dialect, found = connection.dialect, dict[IndexVersions, int]()
    sql = f"""SELECT r.version_no, count(*) FROM documents d {_MADE}
              WHERE d.searchable = 1 AND {dialect.among("r.version_no")} GROUP BY r.version_no"""
    for number, count in connection.execute(sql, (dialect.listed(old),)):
        found[old[number]] = found.get(old[number], 0) + count  # the same versions may stand there for two fingerprints
    return found


def list_stale(
    connection: Connection, current: Sequence[IndexVersions], limit: int, after_id: str
) -> list[tuple[Document, IndexVersions]]:
    """The next of these documents by id, and what made each."""
    old, dialect = version_numbers(connection, current), connection.dialect
    if not old:
        return []
    sql = f"""SELECT d.id, r.version_no FROM documents d {_MADE}
              WHERE d.searchable = 1 AND d.id > ? AND {dialect.among("r.version_no")} ORDER BY d.id LIMIT ?"""
    numbers: dict[str, int] = dict(connection.execute(sql, (after_id, dialect.listed(old), limit)))
    found = documents.get_documents(connection, list(numbers))
    return [(found[document_id], old[number]) for document_id, number in numbers.items() if document_id in found]
