"""Reading a database page by page; the next page is read while the last one is at work."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from mcp_knowledge.adapters.rows.content import unpack_text
from mcp_knowledge.adapters.rows.dialect import Connection, Database, Row
from mcp_knowledge.adapters.rows.fulltext import indexed_text
from mcp_knowledge.adapters.rows.sql import storable
from mcp_knowledge.adapters.transfer.sides import DocumentTexts, neutral
from mcp_knowledge.adapters.transfer.tables import Key, Table, page_end, page_rows

Item = TypeVar("Item")
Reader = Callable[[Connection, Table, Key | None, Key], list[Item]]  # what stands after the first key up to the second


@asynccontextmanager
async def pages(
    database: Database, table: Table, after: Key | None, read: Reader[Item]
) -> AsyncIterator[AsyncIterator[tuple[list[Item], Key]]]:
    """The pages that follow a key, each with its last key."""
    following: asyncio.Task[tuple[list[Item], Key] | None]

    def load(connection: Connection, after: Key | None) -> tuple[list[Item], Key] | None:
        end = page_end(connection, table, after)
        return None if end is None else (read(connection, table, after, end), end)

    def ahead(after: Key | None) -> "asyncio.Task[tuple[list[Item], Key] | None]":
        return asyncio.create_task(database.read(partial(load, after=after)))

    async def all_pages() -> AsyncIterator[tuple[list[Item], Key]]:
        nonlocal following
        while (page := await following) is not None:
            following = ahead(page[1])
            yield page

    following = ahead(after)
    try:
        yield all_pages()
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await following


def rows_of(columns: Sequence[str]) -> Reader[Row]:
    """Reads a table's rows in their neutral form."""

    def read(connection: Connection, table: Table, after: Key | None, end: Key) -> list[Row]:
        if table.name == "chunk_vectors":  # in SQLite the document stands with the chunk alone
            select = """SELECT chunk_no, document_no, vector FROM (SELECT v.chunk_no, c.document_no, v.vector
                FROM chunk_vectors v JOIN chunks c ON c.chunk_no = v.chunk_no) vectors"""
        else:
            select = f"SELECT {', '.join(columns)} FROM {table.name}"
        rows = neutral(connection, table, columns, list(page_rows(connection, table, select, after, end)))
        return [storable(row) for row in rows]

    return read


def texts_of_documents(connection: Connection, table: Table, after: Key | None, end: Key) -> list[DocumentTexts]:
    """Reads the texts of whole documents."""
    select = """SELECT document_no, title, chunk_no, heading_path, content FROM (
            SELECT c.document_no, d.title, c.chunk_no, c.heading_path, c.content
            FROM chunks c JOIN documents d ON d.document_no = c.document_no) texts"""
    found: dict[int, DocumentTexts] = {}
    rows = sorted(page_rows(connection, table, select, after, end), key=lambda row: row[2])
    for document_no, title, chunk_no, heading_path, content in rows:
        document = found.setdefault(document_no, DocumentTexts(document_no, title, [], []))
        document.chunk_nos.append(chunk_no)
        document.texts.append(indexed_text(json.loads(heading_path), unpack_text(content)))
    return list(found.values())


def keys_of_originals(connection: Connection, table: Table, after: Key | None, end: Key) -> list[tuple[str, bytes]]:
    """Reads the keys of the originals that rows hold, with their SHA-256."""
    select = f"SELECT blob_key, sha256 FROM {table.name}"
    return [(key, sha256) for key, sha256 in page_rows(connection, table, select, after, end) if key is not None]
