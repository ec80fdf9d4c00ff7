"""Rows of judged queries."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.evaluation_sets import locked_set, touch
from mcp_knowledge.adapters.rows.sql import GONE, first_row, to_json
from mcp_knowledge.domain.documents import new_id, now_ms
from mcp_knowledge.domain.evaluations import Case, query_key
from mcp_knowledge.errors import KnowledgeError

_COLUMNS = (
    "c.case_no, c.id, c.query, c.relevant, c.wrong, c.no_answer, c.kind, c.unresolved, c.created_at_ms, c.updated_at_ms"
)
_SELECT = f"SELECT {_COLUMNS} FROM evaluation_cases c JOIN evaluation_sets s ON s.set_no = c.set_no WHERE s.id = ?"
_NAME_COLUMNS = ("id", "source_path", "original_filename", "title")  # the first one that knows a name decides


def query_digest(query: str) -> bytes:
    """What two queries share that are the same but for case and white space."""
    return hashlib.blake2b(query_key(query).encode("utf-8", "replace"), digest_size=16).digest()


def list_cases(connection: Connection, set_id: str, limit: int, after_no: int) -> tuple[list[Case], int | None]:
    """In the order in which they came."""
    rows = list(
        connection.execute(f"{_SELECT} AND c.case_no > ? ORDER BY c.case_no LIMIT ?", (set_id, after_no, limit + 1))
    )
    page = rows[:limit]
    return [_case_from(row) for row in page], page[-1][0] if len(rows) > limit else None


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
    row = _row_of_query(connection, set_id, query)
    return _case_from(row) if row else None


def revise_case(
    connection: Connection, set_id: str, query: str, change: Callable[[Case], Case], max_cases: int
) -> Case | None:
    """Raises EVALUATION_NOT_FOUND, EVALUATION_FULL."""
    set_no = locked_set(connection, set_id)
    found = _row_of_query(connection, set_id, query)
    changed = change(_case_from(found) if found else Case(new_id("cas"), query))
    touch(connection, set_no)
    if changed.judged or changed.wrong:
        if found is None:
            row = first_row(connection, "SELECT count(*) FROM evaluation_cases WHERE set_no = ?", (set_no,))
            _check_size(row[0] + 1 if row else 1, max_cases)
            _insert(connection, set_no, [changed])
        else:
            _update(connection, [(found[0], changed)])
        return find_case(connection, set_id, query)
    connection.execute("DELETE FROM evaluation_cases WHERE set_no = ? AND id = ?", (set_no, changed.id))
    return None


def put_cases(connection: Connection, set_id: str, cases: Sequence[Case], max_cases: int) -> tuple[int, int]:
    """Raises EVALUATION_NOT_FOUND, EVALUATION_FULL, CASE_EXISTS."""
    set_no = locked_set(connection, set_id)
    numbers, ids = _known(connection, set_no)
    digests = {case_id: digest for digest, case_id in ids.items()}
    written: list[tuple[int | None, Case]] = []
    for case in cases:
        digest = query_digest(case.query)
        same_query = ids.get(digest)
        known = case.id if case.id in digests else same_query
        if same_query is not None and known != same_query:
            raise KnowledgeError("CASE_EXISTS", f"The query of the case '{case.id}' is that of another case already.")
        named = replace(case, id=case.id or same_query or new_id("cas"))
        if known is not None:
            del ids[digests.pop(known)]
        ids[digest], digests[named.id] = named.id, digest
        written.append((None if known is None else numbers[known], named))
    _set_aside(connection, [number for number, _ in written if number is not None])
    return _write(connection, set_no, written, len(ids), max_cases)


def merge_cases(connection: Connection, set_id: str, cases: Sequence[Case], max_cases: int) -> tuple[int, int]:
    """Raises EVALUATION_NOT_FOUND, EVALUATION_FULL."""
    set_no = locked_set(connection, set_id)
    numbers, ids = _known(connection, set_no)
    taken = set(numbers)
    written: list[tuple[int | None, Case]] = []
    for case in cases:
        digest = query_digest(case.query)
        known = ids.get(digest)
        free = case.id if case.id and case.id not in taken else new_id("cas")
        ids[digest] = known or free
        taken.add(ids[digest])
        written.append((numbers.get(ids[digest]), replace(case, id=ids[digest])))
    return _write(connection, set_no, written, len(ids), max_cases)


def resolve_cases(connection: Connection, set_id: str, known: Mapping[str, str]) -> None:
    """Raises EVALUATION_NOT_FOUND."""
    set_no = locked_set(connection, set_id)
    rows = list(connection.execute(f"{_SELECT} AND c.unresolved <> '[]'", (set_id,)))
    found = [(row[0], _case_from(row)) for row in rows]
    changed = [(number, case.resolved(known)) for number, case in found if not known.keys().isdisjoint(case.unresolved)]
    _update(connection, changed)
    touch(connection, set_no)


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


def _insert(connection: Connection, set_no: int, cases: Iterable[Case]) -> None:
    now = now_ms()
    connection.executemany(
        """INSERT INTO evaluation_cases (query, query_digest, relevant, wrong, unresolved, no_answer, kind,
                                         updated_at_ms, created_at_ms, id, set_no)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        [(*_values(case, now), now, case.id, set_no) for case in cases],
    )


def _row_of_query(connection: Connection, set_id: str, query: str) -> Row | None:
    return first_row(connection, f"{_SELECT} AND c.query_digest = ?", (set_id, query_digest(query)))


def _known(connection: Connection, set_no: int) -> tuple[dict[str, int], dict[bytes, str]]:
    """Numbers of a set's cases by their ids, and ids by the digests of their queries."""
    statement = "SELECT case_no, id, query_digest FROM evaluation_cases WHERE set_no = ?"
    rows = list(connection.execute(statement, (set_no,)))
    return {case_id: number for number, case_id, _ in rows}, {bytes(digest): case_id for _, case_id, digest in rows}


def _set_aside(connection: Connection, numbers: Sequence[int]) -> None:
    """Put the digests of cases out of the way, before queries are swapped."""
    connection.executemany(
        "UPDATE evaluation_cases SET query_digest = ? WHERE case_no = ?",
        [(str(number).encode(), number) for number in numbers],
    )


def _update(connection: Connection, cases: Sequence[tuple[int, Case]]) -> None:
    """Write over cases. By their numbers: a server that has not yet counted the rows of a new set would, for each of
    thousands of ids, look through all of them.
    """
    now = now_ms()
    connection.executemany(
        """UPDATE evaluation_cases SET query = ?, query_digest = ?, relevant = ?, wrong = ?, unresolved = ?,
                                       no_answer = ?, kind = ?, updated_at_ms = ?, id = ?
           WHERE case_no = ?""",
        [(*_values(case, now), case.id, number) for number, case in cases],
    )


def _values(case: Case, now: int) -> tuple[object, ...]:
    return (
        case.query,
        query_digest(case.query),
        to_json(case.relevant),
        to_json(case.wrong),
        to_json(case.unresolved),
        int(case.no_answer),
        case.kind,
        now,
    )


def _write(
    connection: Connection, set_no: int, cases: Sequence[tuple[int | None, Case]], count: int, max_cases: int
) -> tuple[int, int]:
    """Write cases over those with the numbers beside them, or as new ones; the set then has `count`."""
    _check_size(count, max_cases)
    _update(connection, [(known, case) for known, case in cases if known is not None])
    _insert(connection, set_no, [case for known, case in cases if known is None])
    touch(connection, set_no)
    new = sum(known is None for known, _ in cases)
    return new, len(cases) - new


def _check_size(count: int, max_cases: int) -> None:
    if count > max_cases:
        raise KnowledgeError("EVALUATION_FULL", f"A set can hold {max_cases:,} queries. Split it into several sets.")


def _case_from(row: Row) -> Case:
    _, case_id, query, relevant, wrong, no_answer, kind, unresolved, created_at_ms, updated_at_ms = row
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
