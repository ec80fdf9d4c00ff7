"""What PostgreSQL does differently from SQLite; `rows.dialect.Dialect` says what is asked."""

import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mcp_knowledge.adapters.postgres import lexicon
from mcp_knowledge.adapters.rows.dialect import Connection, IndexedText, Topic
from mcp_knowledge.adapters.rows.sql import ACTIVE
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.ports import Vector

if TYPE_CHECKING:
    from mcp_knowledge.adapters.postgres.connection import PostgresConnection

CHANNELS: dict[Topic, str] = {"jobs": "mk_jobs", "archives": "mk_archives"}  # of NOTIFY

_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"


class PostgresDialect:
    """Many writers at a time: each locks the rows of the documents that it changes, and jobs are taken with SKIP
    LOCKED.
    """

    for_update = " FOR UPDATE"
    due_jobs = f"""
        SELECT job_no, document_no, kind, attempt, max_attempts FROM jobs
        WHERE status IN {ACTIVE} AND background = ? AND visible_at_ms <= ? ORDER BY visible_at_ms, job_no LIMIT ?"""
    due_archives = """
        SELECT archive_no FROM archives
        WHERE state IN ('queued', 'extracting') AND visible_at_ms <= ? ORDER BY visible_at_ms, archive_no LIMIT 1"""
    # The document too: a writer that holds it is about to end the job.
    due_jobs_to_claim = f"""
        SELECT j.job_no, j.document_no, j.kind, j.attempt, j.max_attempts
        FROM jobs j JOIN documents d ON d.document_no = j.document_no
        WHERE j.status IN {ACTIVE} AND j.background = ? AND j.visible_at_ms <= ?
        ORDER BY j.visible_at_ms, j.job_no LIMIT ? FOR UPDATE SKIP LOCKED"""
    due_archives_to_claim = f"{due_archives} FOR UPDATE SKIP LOCKED"
    newest_migration = "SELECT coalesce(max(number), 0) FROM mcp_knowledge_migrations"
    ordered_join = "JOIN"

    def among(self, column: str) -> str:
        """One statement for any number of values."""
        return f"{column} = ANY(?)"

    def listed(self, values: Iterable[Any]) -> list[Any]:
        """An array."""
        return list(values)

    def blob_among(self, column: str) -> str:
        """As for any other column."""
        return self.among(column)

    def listed_blobs(self, values: Iterable[bytes]) -> list[bytes]:
        """An array."""
        return list(values)

    def number(self, value: float | int | None) -> Decimal | None:
        """All digits of a double: a cast to numeric would keep 15."""
        return None if value is None else Decimal(value)

    def unindexed(self, column: str) -> str:
        """As it is: the planner knows how many rows it would find."""
        return column

    def vector(self, value: Any) -> Vector:
        """A stored vector as it was read."""
        return np.asarray(value.to_numpy(), np.float32)

    def queue_ms(self, connection: Connection) -> int:
        """The server's clock: those of the machines around it may differ, and a job would wait until the latest says
        so, or be taken from its worker.
        """
        server_ms = int(next(connection.execute(_CLOCK))[0])
        return now_ms() + server_ms - time.time_ns() // 1_000_000

    def hold(self, connection: Connection, name: str) -> None:
        """An advisory lock of the transaction."""
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (name,))

    def hold_all(self, connection: Connection) -> None:
        """Tables whose rows every writer locks first. Readers do not wait."""
        connection.execute("LOCK TABLE archives, documents IN EXCLUSIVE MODE")

    def raise_generation(self, connection: Connection) -> None:
        """At the end of the transaction: every writer counts in the same row."""
        _ours(connection).corpus_changed = True

    def note_vector_change(self, connection: Connection, document_no: int) -> None:
        """No copies in memory."""

    def note_all_vectors_changed(self, connection: Connection) -> None:
        """No copies in memory."""

    def tell(self, connection: Connection, topic: Topic) -> None:
        """With the transaction: NOTIFY is delivered when it is committed."""
        _ours(connection).topics.add(topic)

    def take_chunk_numbers(self, connection: Connection, count: int) -> Sequence[int]:
        """From the sequence; other writers may take some between them."""
        return [
            row[0] for row in connection.execute("SELECT nextval('chunk_numbers') FROM generate_series(1, ?)", (count,))
        ]

    def add_vectors(
        self, connection: Connection, document_no: int, chunk_nos: Sequence[int], vectors: Sequence[bytes]
    ) -> None:
        """Rows of the vectors' own table."""
        rows = zip(chunk_nos, (np.frombuffer(vector, "<f4") for vector in vectors), strict=True)
        connection.executemany(
            "INSERT INTO chunk_vectors (chunk_no, document_no, vector) VALUES (?, ?, ?)",
            ((number, document_no, vector) for number, vector in rows),
        )

    def add_texts(
        self,
        connection: Connection,
        document_no: int,
        chunk_nos: Sequence[int],
        title: str,
        texts: Sequence[IndexedText],
    ) -> None:
        """Rows of the chunks' terms, and what they add to the counts."""
        lexicon.add_chunks(_ours(connection), document_no, chunk_nos, title, texts)

    def remove_texts(self, connection: Connection, document_no: int) -> None:
        """Rows of the chunks' terms, and what they take from the counts."""
        lexicon.remove_chunks(_ours(connection), document_no)

    def clear_texts(self, connection: Connection) -> None:
        """All terms and counts."""
        lexicon.clear(_ours(connection))


def _ours(connection: Connection) -> "PostgresConnection":
    """The connection that this dialect belongs to."""
    return cast("PostgresConnection", connection)
