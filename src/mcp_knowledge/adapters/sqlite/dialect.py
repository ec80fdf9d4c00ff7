"""What SQLite does differently from PostgreSQL; `rows.dialect.Dialect` says what is asked."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mcp_knowledge.adapters.rows.dialect import Connection, IndexedText, Topic
from mcp_knowledge.adapters.rows.sql import ACTIVE
from mcp_knowledge.adapters.sqlite import lexicon
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.ports import Vector

_LAST_CHUNK = "SELECT seq FROM sqlite_sequence WHERE name = 'chunks'"


class SqliteDialect:
    """One writer at a time, so no locks; lists are JSON; the vectors' copies in memory are told of changes."""

    for_update = ""
    due_jobs = f"""
        SELECT job_no, document_no, kind, attempt, max_attempts FROM jobs INDEXED BY jobs_due
        WHERE status IN {ACTIVE} AND background = ? AND visible_at_ms <= ? ORDER BY visible_at_ms, job_no LIMIT ?"""
    due_archives = """
        SELECT archive_no FROM archives INDEXED BY archives_due
        WHERE state IN ('queued', 'extracting') AND visible_at_ms <= ? ORDER BY visible_at_ms, archive_no LIMIT 1"""
    due_jobs_to_claim = due_jobs
    due_archives_to_claim = due_archives
    newest_migration = "PRAGMA user_version"
    ordered_join = "CROSS JOIN"

    def among(self, column: str) -> str:
        """One statement for any number of values."""
        return f"{column} IN (SELECT value FROM json_each(?))"

    def listed(self, values: Iterable[Any]) -> str:
        """A JSON array."""
        return json.dumps(list(values))

    def blob_among(self, column: str) -> str:
        """By their hexadecimal digits: JSON has no bytes."""
        return f"hex({column}) IN (SELECT value FROM json_each(?))"

    def listed_blobs(self, values: Iterable[bytes]) -> str:
        """A JSON array of hexadecimal digits."""
        return json.dumps([value.hex().upper() for value in values])

    def number(self, value: float | int | None) -> float | int | None:
        """As it is: a NUMERIC column keeps integers and doubles apart."""
        return value

    def unindexed(self, column: str) -> str:
        """The sign hides the column from its index."""
        return f"+{column}"

    def vector(self, value: bytes) -> Vector:
        """The bytes as they were written."""
        return np.frombuffer(value, "<f4")

    def queue_ms(self, connection: Connection) -> int:
        """Of the one machine that there is."""
        return now_ms()

    def hold(self, connection: Connection, name: str) -> None:
        """Nobody else writes."""

    def hold_all(self, connection: Connection) -> None:
        """Nobody else writes."""

    def raise_generation(self, connection: Connection) -> None:
        """Count at once: nobody else writes."""
        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    def note_vector_change(self, connection: Connection, document_no: int) -> None:
        """Renumber the document's row of the change log."""
        connection.execute("INSERT OR REPLACE INTO vector_changes (document_no) VALUES (?)", (document_no,))

    def note_all_vectors_changed(self, connection: Connection) -> None:
        """Renumber the rows of all documents."""
        connection.execute(
            "INSERT OR REPLACE INTO vector_changes (document_no) SELECT DISTINCT document_no FROM chunks"
        )

    def tell(self, connection: Connection, topic: Topic) -> None:
        """Nobody to tell: the process that writes is the one that works, and others look every second."""

    def take_chunk_numbers(self, connection: Connection, count: int) -> Sequence[int]:
        """After the last one: the insert that follows moves the sequence."""
        row = next(connection.execute(_LAST_CHUNK), None)
        first = 1 + (row[0] if row else 0)
        return range(first, first + count)

    def add_vectors(
        self, connection: Connection, document_no: int, chunk_nos: Sequence[int], vectors: Sequence[bytes]
    ) -> None:
        """Beside the chunks; memory follows by the change log."""
        connection.executemany("INSERT INTO chunk_vectors VALUES (?, ?)", zip(chunk_nos, vectors, strict=True))

    def add_texts(
        self,
        connection: Connection,
        document_no: int,
        chunk_nos: Sequence[int],
        title: str,
        texts: Sequence[IndexedText],
    ) -> None:
        """Rows of the FTS5 table."""
        lexicon.add_chunks(connection, chunk_nos, title, texts)

    def remove_texts(self, connection: Connection, document_no: int) -> None:
        """Rows of the FTS5 table, its totals too."""
        lexicon.remove_chunks(connection, document_no)

    def clear_texts(self, connection: Connection) -> None:
        """All rows at once."""
        connection.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')")
