"""Small things that the statements of every resource share."""

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection, Row

ACTIVE = "('queued', 'running', 'retrying')"  # as the partial indexes on jobs spell it, so that they are used
GONE = "('deleting', 'deleted')"
BLOB_KEYS = "SELECT blob_key FROM revisions UNION ALL SELECT blob_key FROM archives WHERE blob_key IS NOT NULL"


def first_row(connection: Connection, sql: str, params: Sequence[Any] = ()) -> Row | None:
    """The first row of a statement, or None."""
    return next(connection.execute(sql, params), None)


def to_json(value: Any) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fold_key(text: str) -> str:
    """The form in which names are compared: NFKC, without regard to case."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def storable(params: Sequence[Any]) -> tuple[Any, ...]:
    """Parameters whose texts every database can hold: no NUL, no half of a surrogate pair."""
    return tuple(map(_storable, params))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _storable_text(value)
    return [_storable(item) for item in value] if isinstance(value, list) else value


def _storable_text(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def raise_generation(connection: Connection) -> None:
    """Count a change that a reader of the catalog can see; belongs into the change's own transaction."""
    connection.dialect.raise_generation(connection)


def meta_value(connection: Connection, key: str) -> Any:
    """A value of the meta table, or None."""
    row = first_row(connection, "SELECT value FROM meta WHERE key = ?", (key,))
    return row[0] if row else None


def set_meta(connection: Connection, key: str, value: Any) -> None:
    """Write a value of the meta table."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )
