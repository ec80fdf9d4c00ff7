"""Terms of chunks for full-text search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_knowledge.adapters.rows.dialect import IndexedText

if TYPE_CHECKING:
    from mcp_knowledge.adapters.postgres.connection import PostgresConnection


def add_chunks(
    connection: "PostgresConnection",
    document_no: int,
    chunk_nos: Sequence[int],
    title: str,
    texts: Sequence[IndexedText],
) -> None:
    """Make a document's chunks findable."""


def remove_chunks(connection: "PostgresConnection", document_no: int) -> None:
    """Take a document's chunks out."""


def clear(connection: "PostgresConnection") -> None:
    """Take all chunks out."""
