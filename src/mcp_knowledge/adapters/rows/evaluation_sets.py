"""Rows of evaluation sets."""

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.sql import first_row, fold_key
from mcp_knowledge.domain.documents import new_id, now_ms
from mcp_knowledge.domain.evaluations import EvaluationSet
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import UNSET, Position, Unset

_SELECT = """
    SELECT s.id, s.name, s.description, (SELECT count(*) FROM evaluation_cases c WHERE c.set_no = s.set_no),
           (SELECT r.id FROM evaluation_runs r WHERE r.run_no = s.baseline_run_no) AS baseline,
           s.created_at_ms, s.updated_at_ms
    FROM evaluation_sets s
"""


def create_set(connection: Connection, name: str, description: str | None) -> EvaluationSet:
    """Raises EVALUATION_EXISTS."""
    _check_name_is_free(connection, name, own_no=None)
    set_id, now = new_id("evs"), now_ms()
    connection.execute(
        """INSERT INTO evaluation_sets (id, name, name_key, description, created_at_ms, updated_at_ms)
           VALUES (?, ?, ?, ?, ?, ?)""",
        (set_id, name, fold_key(name), description, now, now),
    )
    return _existing(connection, set_id)


def get_set(connection: Connection, set_id: str) -> EvaluationSet | None:
    """One set."""
    row = first_row(connection, f"{_SELECT} WHERE s.id = ?", (set_id,))
    return EvaluationSet(*row) if row else None


def find_set(connection: Connection, name: str) -> EvaluationSet | None:
    """The set with this name."""
    row = first_row(connection, f"{_SELECT} WHERE name_key = ?", (fold_key(name),))
    return EvaluationSet(*row) if row else None


def list_sets(connection: Connection, limit: int, after: Position | None) -> list[EvaluationSet]:
    """Newest first."""
    where, params = ("WHERE (s.created_at_ms, s.id) < (?, ?)", [after.value, after.id]) if after else ("", [])
    rows = connection.execute(f"{_SELECT} {where} ORDER BY s.created_at_ms DESC, s.id DESC LIMIT ?", [*params, limit])
    return [EvaluationSet(*row) for row in rows]


def update_set(
    connection: Connection,
    set_id: str,
    name: str | Unset,
    description: str | Unset | None,
    baseline_run_id: str | Unset | None,
) -> EvaluationSet:
    """Raises EVALUATION_NOT_FOUND, EVALUATION_EXISTS, RUN_NOT_FOUND."""
    set_no = locked_set(connection, set_id)
    if not isinstance(name, Unset):
        _check_name_is_free(connection, name, set_no)
        _set(connection, set_no, "name = ?, name_key = ?", name, fold_key(name))
    if not isinstance(description, Unset):
        _set(connection, set_no, "description = ?", description)
    if not isinstance(baseline_run_id, Unset):
        _set(connection, set_no, "baseline_run_no = ?", _run_of(connection, set_no, baseline_run_id))
    if (name, description, baseline_run_id) != (UNSET, UNSET, UNSET):
        touch(connection, set_no)
    return _existing(connection, set_id)


def delete_set(connection: Connection, set_id: str) -> None:
    """Raises EVALUATION_NOT_FOUND."""
    set_no = locked_set(connection, set_id)
    connection.execute("DELETE FROM evaluation_sets WHERE set_no = ?", (set_no,))


def locked_set(connection: Connection, set_id: str) -> int:
    """The set's number; other writers of the set wait until the end. Raises EVALUATION_NOT_FOUND."""
    statement = f"SELECT set_no FROM evaluation_sets WHERE id = ?{connection.dialect.for_update}"
    row = first_row(connection, statement, (set_id,))
    if row is None:
        raise KnowledgeError("EVALUATION_NOT_FOUND")
    return int(row[0])


def touch(connection: Connection, set_no: int) -> None:
    """Note a change of the set or of its cases."""
    _set(connection, set_no, "updated_at_ms = ?", now_ms())


def _set(connection: Connection, set_no: int, assignments: str, *values: object) -> None:
    connection.execute(f"UPDATE evaluation_sets SET {assignments} WHERE set_no = ?", (*values, set_no))


def _run_of(connection: Connection, set_no: int, run_id: str | None) -> int | None:
    if run_id is None:
        return None
    row = first_row(connection, "SELECT run_no FROM evaluation_runs WHERE set_no = ? AND id = ?", (set_no, run_id))
    if row is None:
        raise KnowledgeError("RUN_NOT_FOUND", "The baseline must be a run of this set.")
    return int(row[0])


def _check_name_is_free(connection: Connection, name: str, own_no: int | None) -> None:
    row = first_row(connection, "SELECT set_no FROM evaluation_sets WHERE name_key = ?", (fold_key(name),))
    if row is not None and row[0] != own_no:
        raise KnowledgeError("EVALUATION_EXISTS")


def _existing(connection: Connection, set_id: str) -> EvaluationSet:
    found = get_set(connection, set_id)
    assert found is not None
    return found
