"""Rows of the full-text table: one per chunk, written from `index_text` (the tokenizer's folded terms)."""

from collections.abc import Sequence

from mcp_knowledge.adapters.rows.dialect import Connection, IndexedText
from mcp_knowledge.domain.tokens import index_text

_INSERT = "INSERT INTO chunk_fts (rowid, title, headings, content) VALUES (?, ?, ?, ?)"
_COLUMNS = 3

_CHUNKS_OF = "SELECT chunk_no FROM chunks WHERE document_no = ?"


def add_chunks(connection: Connection, chunk_nos: Sequence[int], title: str, texts: Sequence[IndexedText]) -> None:
    """Make a document's chunks findable."""
    terms = index_text(title)
    connection.executemany(_INSERT, ((no, terms, *text) for no, text in zip(chunk_nos, texts, strict=True)))


def remove_chunks(connection: Connection, document_no: int) -> None:
    """Take a document's chunks out, while their rows still stand."""
    if _counts_deleted_rows(connection):
        connection.execute(f"DELETE FROM chunk_fts WHERE rowid IN ({_CHUNKS_OF})", (document_no,))
        return
    sizes_sql = f"SELECT sz FROM chunk_fts_docsize WHERE id IN ({_CHUNKS_OF})"
    sizes = [_numbers(row[0]) for row in connection.execute(sizes_sql, (document_no,))]
    connection.execute(f"DELETE FROM chunk_fts WHERE rowid IN ({_CHUNKS_OF})", (document_no,))
    if sizes:
        _count_down(connection, [len(sizes), *(sum(column) for column in zip(*sizes, strict=True))])


def stored_sizes(connection: Connection, document_no: int) -> dict[int, list[int]]:
    """How many tokens the full text has of a document's chunks, by chunk number and column."""
    sql = f"SELECT id, sz FROM chunk_fts_docsize WHERE id IN ({_CHUNKS_OF})"
    return {row[0]: _numbers(row[1])[:_COLUMNS] for row in connection.execute(sql, (document_no,))}


def stored_totals(connection: Connection) -> list[int]:
    """Rows, and tokens by column, as the full text notes them for its scores; empty where it has never had a row."""
    row = next(connection.execute("SELECT block FROM chunk_fts_data WHERE id = 1"), None)
    return _numbers(row[0])[: 1 + _COLUMNS] if row else []


def _counts_deleted_rows(connection: Connection) -> bool:
    """Whether FTS5 takes the deleted rows of a contentless table out of its totals, on which BM25 rests.

    SQLite 3.45, which the libsql package carries, does not; 3.54 does. Others are treated like the older one, where we
    look first and correct only what was not done.
    """
    version = next(connection.execute("SELECT sqlite_version()"))[0]
    return tuple(int(part) for part in version.split(".")) >= (3, 54)


def _count_down(connection: Connection, gone: Sequence[int]) -> None:
    """Subtract rows, and tokens by column, from the table's totals (record 1 of the FTS5 data table)."""
    connection.execute("SAVEPOINT totals")  # makes FTS5 write the totals that it holds in memory
    connection.execute("RELEASE totals")
    stored = _numbers(next(connection.execute("SELECT block FROM chunk_fts_data WHERE id = 1"))[0])
    rows = next(connection.execute("SELECT count(*) FROM chunk_fts_docsize"))[0]
    if stored and stored[0] != rows:
        left = [max(0, total - part) for total, part in zip(stored, gone, strict=True)]
        connection.execute("UPDATE chunk_fts_data SET block = ? WHERE id = 1", (b"".join(map(_varint, left)),))


def _numbers(data: bytes) -> list[int]:
    """The numbers in a run of SQLite varints (big-endian groups of 7 bits; none of ours needs the ninth byte)."""
    numbers, value = [], 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return numbers


def _varint(value: int) -> bytes:
    data = [value & 0x7F]
    while value := value >> 7:
        data.append(value & 0x7F | 0x80)
    return bytes(reversed(data))
