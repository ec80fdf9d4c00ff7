"""Rows of collections."""

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import GONE, first_row, fold_key, raise_generation
from mcp_knowledge.domain.documents import Collection, new_id, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import UNSET, Position, Unset

_SELECT = f"""
    SELECT id, name, description,
           (SELECT count(*) FROM documents d WHERE d.collection_no = c.collection_no AND d.status NOT IN {GONE}),
           created_at_ms, updated_at_ms
    FROM collections c
"""


def create_collection(connection: Connection, name: str, description: str | None) -> Collection:
    """Raises COLLECTION_EXISTS."""
    _check_name_is_free(connection, name, own_no=None)
    collection_id, now = new_id("col"), now_ms()
    connection.execute(
        """INSERT INTO collections (id, name, name_key, description, created_at_ms, updated_at_ms)
           VALUES (?, ?, ?, ?, ?, ?)""",
        (collection_id, name, fold_key(name), description, now, now),
    )
    return _existing(connection, collection_id)


def get_collection(connection: Connection, collection_id: str) -> Collection | None:
    """One collection with its number of live documents."""
    row = first_row(connection, f"{_SELECT} WHERE id = ?", (collection_id,))
    return Collection(*row) if row else None


def find_collection(connection: Connection, name: str) -> Collection | None:
    """By name, without regard to case."""
    row = first_row(connection, f"{_SELECT} WHERE name_key = ?", (fold_key(name),))
    return Collection(*row) if row else None


def list_collections(connection: Connection, limit: int, after: Position | None) -> list[Collection]:
    """Newest first."""
    where, params = ("WHERE (created_at_ms, id) < (?, ?)", [after.value, after.id]) if after else ("", [])
    rows = connection.execute(f"{_SELECT} {where} ORDER BY created_at_ms DESC, id DESC LIMIT ?", [*params, limit])
    return [Collection(*row) for row in rows]


def update_collection(
    connection: Connection, collection_id: str, name: str | Unset, description: str | Unset | None
) -> Collection:
    """Raises COLLECTION_NOT_FOUND or COLLECTION_EXISTS."""
    collection_no = collection_number(connection, collection_id, lock=connection.dialect.for_update)
    if not isinstance(name, Unset):
        _check_name_is_free(connection, name, collection_no)
        connection.execute(
            "UPDATE collections SET name = ?, name_key = ? WHERE collection_no = ?",
            (name, fold_key(name), collection_no),
        )
    if not isinstance(description, Unset):
        connection.execute(
            "UPDATE collections SET description = ? WHERE collection_no = ?", (description, collection_no)
        )
    if name is not UNSET or description is not UNSET:
        connection.execute(
            "UPDATE collections SET updated_at_ms = ? WHERE collection_no = ?", (now_ms(), collection_no)
        )
    return _existing(connection, collection_id)


def delete_collection(connection: Connection, collection_id: str) -> None:
    """Raises COLLECTION_NOT_FOUND or COLLECTION_NOT_EMPTY. Tombstones and ended imports lose their collection."""
    collection_no = collection_number(connection, collection_id, lock=connection.dialect.for_update)
    importing = "SELECT 1 FROM archives WHERE collection_no = ? AND state IN ('queued', 'extracting')"
    if first_row(connection, importing, (collection_no,)):
        raise KnowledgeError("COLLECTION_NOT_EMPTY", "An archive is being imported into this collection.")
    live = f"SELECT 1 FROM documents WHERE collection_no = ? AND status NOT IN {GONE} LIMIT 1"
    if first_row(connection, live, (collection_no,)):
        raise KnowledgeError("COLLECTION_NOT_EMPTY")
    for table in ("documents", "archives"):
        connection.execute(f"UPDATE {table} SET collection_no = NULL WHERE collection_no = ?", (collection_no,))
    connection.execute("DELETE FROM collections WHERE collection_no = ?", (collection_no,))
    raise_generation(connection)


def move_documents(connection: Connection, collection_id: str, target_id: str | None) -> int:
    """All live documents into another collection, or into none; how many. Raises COLLECTION_NOT_FOUND."""
    collection_no = collection_number(connection, collection_id)
    target_no = None if target_id is None else collection_number(connection, target_id)
    moved = connection.execute(
        f"""UPDATE documents SET collection_no = ?, updated_at_ms = ?
            WHERE collection_no = ? AND status NOT IN {GONE} RETURNING document_no""",
        (target_no, now_ms(), collection_no),
    )
    count = sum(1 for _ in moved)
    if count:
        raise_generation(connection)
    return count


def collection_number(connection: Connection, collection_id: str, lock: str = "") -> int:
    """The internal key. Raises COLLECTION_NOT_FOUND.

    Args:
        lock: keeps other writers from changing it and from filing documents under it.
    """
    sql = f"SELECT collection_no FROM collections WHERE id = ?{lock}"
    row: Row | None = first_row(connection, sql, (collection_id,))
    if row is None:
        raise KnowledgeError("COLLECTION_NOT_FOUND")
    return int(row[0])


def _check_name_is_free(connection: Connection, name: str, own_no: int | None) -> None:
    row = first_row(connection, "SELECT collection_no FROM collections WHERE name_key = ?", (fold_key(name),))
    if row is not None and row[0] != own_no:
        raise KnowledgeError("COLLECTION_EXISTS")


def _existing(connection: Connection, collection_id: str) -> Collection:
    collection = get_collection(connection, collection_id)
    assert collection is not None
    return collection
