"""Rows of the full-text table: one per chunk, written from `index_text` (the tokenizer's folded terms)."""

import json
from collections.abc import Sequence

from mcp_knowledge.adapters.sqlite.content import unpack_text
from mcp_knowledge.adapters.sqlite.drivers import Connection
from mcp_knowledge.domain.tokens import index_text

_INSERT = "INSERT INTO chunk_fts (rowid, title, headings, content) VALUES (?, ?, ?, ?)"

IndexedText = tuple[str, str]  # headings and content of a chunk, as index_text


def indexed_text(heading_path: Sequence[str], content: str) -> IndexedText:
    """What the full-text table holds of a chunk, apart from the document's title."""
    return index_text("\n".join(heading_path)), index_text(content)


def add_chunks(connection: Connection, first_chunk_no: int, title: str, texts: Sequence[IndexedText]) -> None:
    """Make consecutive chunks findable."""
    terms = index_text(title)
    connection.executemany(_INSERT, ((first_chunk_no + i, terms, *text) for i, text in enumerate(texts)))


def remove_chunks(connection: Connection, document_no: int) -> None:
    """Take a document's chunks out, while their rows still stand."""
    connection.execute(
        "DELETE FROM chunk_fts WHERE rowid IN (SELECT chunk_no FROM chunks WHERE document_no = ?)", (document_no,)
    )


def retitle(connection: Connection, document_no: int, title: str) -> None:
    """Write a document's rows anew under another title. The table keeps no text: it comes from the chunks again."""
    sql = "SELECT chunk_no, heading_path, content FROM chunks WHERE document_no = ?"
    rows = list(connection.execute(sql, (document_no,)))
    remove_chunks(connection, document_no)
    terms = index_text(title)
    connection.executemany(
        _INSERT, ((no, terms, *indexed_text(json.loads(path), unpack_text(text))) for no, path, text in rows)
    )
