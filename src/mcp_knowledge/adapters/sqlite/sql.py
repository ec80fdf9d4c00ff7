"""Small things that the statements of every resource share."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from mcp_knowledge.adapters.sqlite.drivers import Connection, Row

ACTIVE = "('queued', 'running', 'retrying')"  # as the partial indexes on jobs spell it, so that they are used
GONE = "('deleting', 'deleted')"
BLOB_KEYS = "SELECT blob_key FROM revisions UNION ALL SELECT blob_key FROM archives WHERE blob_key IS NOT NULL"


def first_row(connection: Connection, sql: str, params: Sequence[Any] = ()) -> Row | None:
    """The first row of a statement, or None."""
    return next(connection.execute(sql, params), None)


def to_json(value: Any) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_list(values: Iterable[Any]) -> str:
    """A parameter for `IN (SELECT value FROM json_each(?))`: one statement for any number of values."""
    return json.dumps(list(values))


def fold_key(text: str) -> str:
    """The form in which names are compared: NFKC, without regard to case."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def raise_generation(connection: Connection) -> None:
    """Count a change that a reader of the catalog can see; belongs into the change's own transaction."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")


def meta_value(connection: Connection, key: str) -> Any:
    """A value of the meta table, or None."""
    row = first_row(connection, "SELECT value FROM meta WHERE key = ?", (key,))
    return row[0] if row else None


def set_meta(connection: Connection, key: str, value: Any) -> None:
    """Write a value of the meta table."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def note_vector_change(connection: Connection, document_no: int) -> None:
    """Tell every copy of the vectors in memory, in this process and others, to read this document again."""
    connection.execute("INSERT OR REPLACE INTO vector_changes (document_no) VALUES (?)", (document_no,))
