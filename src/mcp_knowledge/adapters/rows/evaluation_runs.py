"""Rows of runs and their results."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.evaluation_sets import locked_set
from mcp_knowledge.adapters.rows.sql import first_row, to_json
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.domain.evaluations import DocumentRef, Metrics, QueryResult, Run, RunSettings, RunState
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import NewRun, Position

SILENT_MS = 30_000  # a run that was not heard of for so long has no process any more

_SELECT = """
    SELECT r.id, s.id, r.name, r.settings, r.state, r.done, r.total, r.index_configuration, r.corpus_version,
           r.metrics, r.error, r.created_at_ms, r.completed_at_ms, r.heartbeat_at_ms
    FROM evaluation_runs r JOIN evaluation_sets s ON s.set_no = r.set_no
"""


def create_runs(connection: Connection, runs: Sequence[NewRun]) -> list[Run]:
    """Raises EVALUATION_NOT_FOUND."""
    now, heartbeat = now_ms(), connection.dialect.queue_ms(connection)
    for new in runs:
        connection.execute(
            """INSERT INTO evaluation_runs (id, set_no, name, settings, state, heartbeat_at_ms, index_configuration,
                                            corpus_version, created_at_ms)
               VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, ?)""",
            (
                new.id,
                locked_set(connection, new.set_id),
                new.name,
                to_json(new.settings.to_json()),
                heartbeat,
                to_json(new.index_configuration),
                new.corpus_version,
                now,
            ),
        )
    return list(get_runs(connection, [new.id for new in runs]).values())


def get_run(connection: Connection, run_id: str) -> Run | None:
    """One run."""
    return get_runs(connection, [run_id]).get(run_id)


def get_runs(connection: Connection, run_ids: Iterable[str]) -> dict[str, Run]:
    """Those that exist, in the given order."""
    ids, dialect = list(run_ids), connection.dialect
    rows = connection.execute(f"{_SELECT} WHERE {dialect.among('r.id')}", (dialect.listed(ids),))
    found = {run.id: run for run in _runs_from(connection, rows)}
    return {run_id: found[run_id] for run_id in ids if run_id in found}


def list_runs(connection: Connection, set_id: str, limit: int, after: Position | None) -> list[Run]:
    """Newest first."""
    where, params = ("AND (r.created_at_ms, r.id) < (?, ?)", [after.value, after.id]) if after else ("", [])
    rows = connection.execute(
        f"{_SELECT} WHERE s.id = ? {where} ORDER BY r.created_at_ms DESC, r.id DESC LIMIT ?",
        [set_id, *params, limit],
    )
    return _runs_from(connection, rows)


def beat(connection: Connection, run_ids: Sequence[str]) -> set[str]:
    """Those that still exist."""
    dialect = connection.dialect
    rows = connection.execute(
        f"UPDATE evaluation_runs SET heartbeat_at_ms = ? WHERE {dialect.among('id')} RETURNING id",
        (dialect.queue_ms(connection), dialect.listed(run_ids)),
    )
    return {row[0] for row in rows}


def advance(connection: Connection, run_id: str, done: int, total: int) -> Run | None:
    """A run at work."""
    values = (connection.dialect.queue_ms(connection), done, total)
    return _changed(connection, run_id, "state = 'running', heartbeat_at_ms = ?, done = ?, total = ?", values)


def finish(
    connection: Connection, run_id: str, state: RunState, metrics: Metrics | None, error: str | None
) -> Run | None:
    """A run that has ended."""
    kept = None if metrics is None else to_json(metrics.to_json())
    return _changed(
        connection,
        run_id,
        "state = ?, metrics = ?, error = ?, completed_at_ms = ?",
        (state, kept, error, now_ms()),
    )


def add_results(connection: Connection, run_id: str, first_position: int, results: Sequence[QueryResult]) -> bool:
    """Whether the run is still there."""
    statement = f"SELECT run_no FROM evaluation_runs WHERE id = ?{connection.dialect.for_update}"
    row = first_row(connection, statement, (run_id,))
    if row is None:
        return False
    connection.executemany(
        "INSERT INTO evaluation_results (run_no, position, result) VALUES (?, ?, ?)",
        [(row[0], first_position + offset, to_json(asdict(result))) for offset, result in enumerate(results)],
    )
    return True


def list_results(connection: Connection, run_id: str, limit: int, after_position: int) -> list[QueryResult]:
    """In the order of the cases."""
    rows = connection.execute(
        """SELECT e.result FROM evaluation_results e JOIN evaluation_runs r ON r.run_no = e.run_no
           WHERE r.id = ? AND e.position > ? ORDER BY e.position LIMIT ?""",
        (run_id, after_position, limit),
    )
    return [_result_from(json.loads(row[0])) for row in rows]


def delete_run(connection: Connection, run_id: str) -> None:
    """Raises RUN_NOT_FOUND."""
    row = first_row(connection, "DELETE FROM evaluation_runs WHERE id = ? RETURNING run_no", (run_id,))
    if row is None:
        raise KnowledgeError("RUN_NOT_FOUND")
    connection.execute("UPDATE evaluation_sets SET baseline_run_no = NULL WHERE baseline_run_no = ?", (row[0],))


def _changed(connection: Connection, run_id: str, assignments: str, values: Sequence[Any]) -> Run | None:
    connection.execute(f"UPDATE evaluation_runs SET {assignments} WHERE id = ?", (*values, run_id))
    return get_run(connection, run_id)


def _runs_from(connection: Connection, rows: Iterable[Row]) -> list[Run]:
    found = list(rows)
    silent_since = connection.dialect.queue_ms(connection) - SILENT_MS if found else 0
    return [_run_from(row, silent_since) for row in found]


def _run_from(row: Row, silent_since_ms: int) -> Run:
    *_, heartbeat_at_ms = row
    state: RunState = row[4]
    if state in ("queued", "running") and heartbeat_at_ms < silent_since_ms:
        state = "interrupted"
    return Run(
        id=row[0],
        set_id=row[1],
        name=row[2],
        settings=RunSettings.from_json(json.loads(row[3])),
        state=state,
        done=row[5],
        total=row[6],
        index_configuration=json.loads(row[7]),
        corpus_version=row[8],
        metrics=Metrics.from_json(json.loads(row[9])) if row[9] else None,
        error=row[10],
        created_at_ms=row[11],
        completed_at_ms=row[12],
    )


def _result_from(data: dict[str, Any]) -> QueryResult:
    refs = {name: tuple(DocumentRef(**item) for item in data[name]) for name in ("found", "relevant")}
    return QueryResult(**(data | refs))
