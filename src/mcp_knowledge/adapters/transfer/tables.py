"""The tables in the order in which they can be written, and reading them page by page."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import first_row

Key = int | str


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is copied.

    Args:
        key: the first column of its key, by which it is read; rows that share one stay together.
        numbered: the database gives the key's numbers itself.
        page_rows: about so many rows are held in memory at a time.
    """

    name: str
    key: str
    numbered: bool = False
    page_rows: int = 2000


TABLES = (
    Table("collections", "collection_no", numbered=True),
    Table("index_versions", "version_no", numbered=True),
    Table("documents", "document_no", numbered=True),
    Table("revisions", "revision_no", numbered=True),
    Table("revision_heads", "revision_no", page_rows=200),
    Table("revision_blocks", "revision_no", page_rows=200),
    Table("chunks", "chunk_no", numbered=True),
    Table("chunk_vectors", "chunk_no"),
    Table("metadata_values", "document_no"),
    Table("jobs", "job_no", numbered=True),
    Table("archives", "archive_no", numbered=True),
    Table("archive_entries", "archive_no"),
    Table("folder_files", "path"),
    Table("early_vectors", "document_no"),
    Table("api_keys", "key_no", numbered=True),
    Table("evaluation_sets", "set_no", numbered=True),
    Table("evaluation_cases", "case_no", numbered=True),
    Table("evaluation_runs", "run_no", numbered=True),
    Table("evaluation_results", "run_no", page_rows=200),
)
# Chunks by document, for what is made of them anew.
CHUNKS_OF_DOCUMENTS = Table("chunks", "document_no")
# Rows that hold originals.
WITH_ORIGINALS = (Table("revisions", "revision_no", page_rows=64), Table("archives", "archive_no", page_rows=64))


def page_end(connection: Connection, table: Table, after: Key | None) -> Key | None:
    """The last key of the page that follows `after` (None: of the first page); None when there is none."""
    bound, params = ("", ()) if after is None else (f"WHERE {table.key} > ?", (after,))
    sql = f"SELECT {table.key} FROM {table.name} {bound} ORDER BY {table.key} LIMIT ?"
    row = first_row(connection, f"SELECT max({table.key}) FROM ({sql}) page", (*params, table.page_rows))
    key: Key | None = row[0] if row else None
    return key


def page_rows(connection: Connection, table: Table, select: str, after: Key | None, end: Key) -> Iterator[Row]:
    """What `select` gives for the rows after `after` up to `end`."""
    bound, params = ("", ()) if after is None else (f"{table.key} > ? AND", (after,))
    return connection.execute(f"{select} WHERE {bound} {table.key} <= ?", (*params, end))


def extent(connection: Connection, table: Table) -> tuple[int, Key | None]:
    """How many rows there are, and the last key."""
    row = first_row(connection, f"SELECT count(*), max({table.key}) FROM {table.name}")
    assert row is not None
    return row[0], row[1]
