"""Rows of judged queries."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.evaluation_sets import locked_set, touch
from mcp_knowledge.adapters.rows.sql import GONE, first_row, fold_key, to_json
from mcp_knowledge.domain.documents import new_id, now_ms
from mcp_knowledge.domain.evaluations import Case
from mcp_knowledge.errors import KnowledgeError

_COLUMNS = "c.id, c.query, c.relevant, c.wrong, c.no_answer, c.kind, c.unresolved, c.created_at_ms, c.updated_at_ms"
_SELECT = f"SELECT {_COLUMNS} FROM evaluation_cases c JOIN evaluation_sets s ON s.set_no = c.set_no WHERE s.id = ?"
_NAME_COLUMNS = ("id", "source_path", "original_filename", "title")  # the first one that knows a name decides


def query_digest(query: str) -> bytes:
    """What two queries share that are the same but for case and white space."""
    return hashlib.blake2b(fold_key(" ".join(query.split())).encode("utf-8", "replace"), digest_size=16).digest()


def list_cases(connection: Connection, set_id: str, limit: int, after_no: int) -> tuple[list[Case], int | None]:
    """In the order in which they came."""
    sql = _SELECT.replace("SELECT", "SELECT c.case_no,", 1)
    rows = list(
        connection.execute(f"{sql} AND c.case_no > ? ORDER BY c.case_no LIMIT ?", (set_id, after_no, limit + 1))
    )
    page = rows[:limit]
    return [_case_from(row[1:]) for row in page], page[-1][0] if len(rows) > limit else None


def has_judged_cases(connection: Connection, set_id: str) -> bool:
    """As `Case.judged` has it."""
    judged = "(c.relevant <> '[]' OR c.unresolved <> '[]' OR c.no_answer = 1)"
    return first_row(connection, f"{_SELECT} AND {judged} LIMIT 1", (set_id,)) is not None


def get_case(connection: Connection, set_id: str, case_id: str) -> Case | None:
    """One case."""
    row = first_row(connection, f"{_SELECT} AND c.id = ?", (set_id, case_id))
    return _case_from(row) if row else None


def find_case(connection: Connection, set_id: str, query: str) -> Case | None:
    """The case of a query."""
    row = first_row(connection, f"{_SELECT} AND c.query_digest = ?", (set_id, query_digest(query)))
    return _case_from(row) if row else None


def revise_case(
    connection: Connection, set_id: str, query: str, change: Callable[[Case], Case], max_cases: int
) -> Case | None:
    """Raises EVALUATION_NOT_FOUND, EVALUATION_FULL."""
    set_no = locked_set(connection, set_id)
    found = find_case(connection, set_id, query)
    changed = change(found or Case(new_id("cas"), query))
    touch(connection, set_no)
    if changed.judged or changed.wrong:
        _write(connection, set_no, changed, is_new=found is None)
        _check_size(connection, set_no, max_cases)
        return find_case(connection, set_id, query)
    connection.execute("DELETE FROM evaluation_cases WHERE set_no = ? AND id = ?", (set_no, changed.id))
    return None


def put_cases(connection: Connection, set_id: str, cases: Sequence[Case], max_cases: int) -> tuple[int, int]:
    """Raises EVALUATION_NOT_FOUND, EVALUATION_FULL, CASE_EXISTS."""
    set_no = locked_set(connection, set_id)
    new = 0
    for case in cases:
        same_id, same_query = get_case(connection, set_id, case.id), find_case(connection, set_id, case.query)
        if same_id is not None and same_query is not None and same_id.id != same_query.id:
            raise KnowledgeError("CASE_EXISTS")
        if same_id is None and same_query is not None:
            statement = "UPDATE evaluation_cases SET id = ? WHERE set_no = ? AND id = ?"
            connection.execute(statement, (case.id, set_no, same_query.id))
        is_new = same_id is None and same_query is None
        _write(connection, set_no, case, is_new)
        new += is_new
    _check_size(connection, set_no, max_cases)
    touch(connection, set_no)
    return new, len(cases) - new


def delete_case(connection: Connection, set_id: str, case_id: str) -> None:
    """Raises EVALUATION_NOT_FOUND, CASE_NOT_FOUND."""
    set_no = locked_set(connection, set_id)
    statement = "DELETE FROM evaluation_cases WHERE set_no = ? AND id = ? RETURNING case_no"
    if first_row(connection, statement, (set_no, case_id)) is None:
        raise KnowledgeError("CASE_NOT_FOUND")
    touch(connection, set_no)


def documents_named(connection: Connection, names: Iterable[str]) -> dict[str, str]:
    """Ids of documents by name."""
    found: dict[str, str] = {}
    left = set(names)
    for column in _NAME_COLUMNS:
        if not left:
            break
        dialect = connection.dialect
        rows = connection.execute(
            f"""SELECT {column}, min(id), count(*) FROM documents
                WHERE {dialect.among(column)} AND status NOT IN {GONE} GROUP BY {column}""",
            (dialect.listed(left),),
        )
        known = {name: (document_id, count) for name, document_id, count in rows}
        found.update({name: document_id for name, (document_id, count) in known.items() if count == 1})
        left.difference_update(known)
    return found


def _write(connection: Connection, set_no: int, case: Case, is_new: bool) -> None:
    now = now_ms()
    values = (
        case.query,
        query_digest(case.query),
        to_json(case.relevant),
        to_json(case.wrong),
        to_json(case.unresolved),
        int(case.no_answer),
        case.kind,
        now,
    )
    if is_new:
        connection.execute(
            """INSERT INTO evaluation_cases (query, query_digest, relevant, wrong, unresolved, no_answer, kind,
                                             updated_at_ms, created_at_ms, id, set_no)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (*values, now, case.id, set_no),
        )
    else:
        connection.execute(
            """UPDATE evaluation_cases SET query = ?, query_digest = ?, relevant = ?, wrong = ?, unresolved = ?,
                                           no_answer = ?, kind = ?, updated_at_ms = ?
               WHERE id = ? AND set_no = ?""",
            (*values, case.id, set_no),
        )


def _check_size(connection: Connection, set_no: int, max_cases: int) -> None:
    row = first_row(connection, "SELECT count(*) FROM evaluation_cases WHERE set_no = ?", (set_no,))
    if row is not None and row[0] > max_cases:
        raise KnowledgeError("EVALUATION_FULL", f"A set can hold {max_cases:,} queries. Split it into several sets.")


def _case_from(row: Row) -> Case:
    case_id, query, relevant, wrong, no_answer, kind, unresolved, created_at_ms, updated_at_ms = row
    return Case(
        id=case_id,
        query=query,
        relevant=tuple(json.loads(relevant)),
        wrong=tuple(json.loads(wrong)),
        no_answer=bool(no_answer),
        kind=kind,
        unresolved=tuple(json.loads(unresolved)),
        created_at_ms=created_at_ms,
        updated_at_ms=updated_at_ms,
    )
