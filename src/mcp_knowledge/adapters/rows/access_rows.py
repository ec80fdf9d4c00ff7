"""Rows of API keys, of tries to log in, and the secret that processes share."""

import json

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import first_row, meta_value, to_json
from mcp_knowledge.domain.access import ApiKey
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import LoginAttempt, Position

_SELECT_KEY = "SELECT id, name, prefix, scopes, created_at_ms, last_used_at_ms FROM api_keys"
SECRET = "secret"  # the key in `meta`


def _key_from(row: Row) -> ApiKey:
    return ApiKey(row[0], row[1], row[2], tuple(json.loads(row[3])), row[4], row[5])


def create_key(connection: Connection, key: ApiKey, digest: bytes) -> None:
    """Write a new key."""
    connection.execute(
        "INSERT INTO api_keys (id, name, prefix, digest, scopes, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)",
        (key.id, key.name, key.prefix, digest, to_json(key.scopes), key.created_at_ms),
    )


def list_keys(connection: Connection, limit: int, after: Position | None) -> list[ApiKey]:
    """Newest first."""
    where, params = ("WHERE (created_at_ms, id) < (?, ?)", [after.value, after.id]) if after else ("", [])
    rows = connection.execute(f"{_SELECT_KEY} {where} ORDER BY created_at_ms DESC, id DESC LIMIT ?", [*params, limit])
    return [_key_from(row) for row in rows]


def find_key(connection: Connection, digest: bytes) -> ApiKey | None:
    """The key with this digest."""
    row = first_row(connection, f"{_SELECT_KEY} WHERE digest = ?", (digest,))
    return _key_from(row) if row else None


def touch_key(connection: Connection, key_id: str, used_at_ms: int) -> None:
    """Note a use."""
    connection.execute(
        "UPDATE api_keys SET last_used_at_ms = ? WHERE id = ? AND (last_used_at_ms IS NULL OR last_used_at_ms < ?)",
        (used_at_ms, key_id, used_at_ms),
    )


def delete_key(connection: Connection, key_id: str) -> None:
    """Raises API_KEY_NOT_FOUND."""
    if first_row(connection, "DELETE FROM api_keys WHERE id = ? RETURNING id", (key_id,)) is None:
        raise KnowledgeError("API_KEY_NOT_FOUND")


def waiting(connection: Connection, source: str, limit: int, window_ms: int) -> LoginAttempt:
    """What a try would come to, by what is counted now."""
    row = first_row(connection, "SELECT times_ms FROM login_attempts WHERE source = ?", (source,))
    return _judged(_within(row, window_ms), limit, window_ms)


def count_attempt(connection: Connection, source: str, limit: int, window_ms: int) -> LoginAttempt:
    """Count a try unless there are too many. The upsert holds the source's row, so that tries come one by one."""
    now = now_ms()
    connection.execute("DELETE FROM login_attempts WHERE newest_at_ms <= ?", (now - window_ms,))
    held = first_row(
        connection,
        """INSERT INTO login_attempts (source, times_ms, newest_at_ms) VALUES (?, '[]', ?)
           ON CONFLICT (source) DO UPDATE SET newest_at_ms = login_attempts.newest_at_ms RETURNING times_ms""",
        (source, now),
    )
    times = _within(held, window_ms)
    attempt = _judged(times, limit, window_ms)
    if not attempt.wait_ms:
        _set_times(connection, source, [*times, attempt.at_ms])
    return attempt


def _within(row: Row | None, window_ms: int) -> list[int]:
    """The tries of a row that still count, oldest first."""
    since = now_ms() - window_ms
    return sorted(at_ms for at_ms in json.loads(row[0]) if at_ms > since) if row else []


def _judged(times: list[int], limit: int, window_ms: int) -> LoginAttempt:
    now = now_ms()
    return LoginAttempt(now, max(1, times[-limit] + window_ms - now) if len(times) >= limit else 0)


def forget_attempt(connection: Connection, source: str, at_ms: int) -> None:
    """Take one back."""
    statement = f"SELECT times_ms FROM login_attempts WHERE source = ?{connection.dialect.for_update}"
    row = first_row(connection, statement, (source,))
    times: list[int] = json.loads(row[0]) if row else []
    if at_ms in times:
        times.remove(at_ms)
        _set_times(connection, source, times)


def _set_times(connection: Connection, source: str, times: list[int]) -> None:
    connection.execute(
        "UPDATE login_attempts SET times_ms = ?, newest_at_ms = ? WHERE source = ?",
        (to_json(times), max(times, default=0), source),
    )


def secret(connection: Connection) -> bytes | None:
    """The shared secret, None when there is none yet."""
    value = meta_value(connection, SECRET)
    return None if value is None else bytes.fromhex(value)


def keep_secret(connection: Connection, proposed: bytes) -> bytes:
    """The shared secret; the proposed one if nobody came before."""
    statement = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"
    connection.execute(statement, (SECRET, proposed.hex()))
    kept = secret(connection)
    assert kept is not None
    return kept
