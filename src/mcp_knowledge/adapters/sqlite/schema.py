"""What a database file is made of, compared with what the migrations make."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from mcp_knowledge.adapters.sqlite.drivers import connect
from mcp_knowledge.adapters.sqlite.migrate import migrate, migrations

OBJECTS = "SELECT type, name, coalesce(sql, '') FROM sqlite_master"
_Objects = Iterable[tuple[Any, ...]]


def strangers(objects: _Objects) -> Iterator[str]:
    """What runs by itself when rows are read or written, and was made by no migration: triggers, views, and virtual
    tables. Whoever hands over a file can have put it there.

    Args:
        objects: the rows of `OBJECTS`.
    """
    ours = {name for _, name, _ in _made_by_migrations()}
    for kind, name, sql in objects:
        is_virtual = sql[:30].upper().split()[:2] == ["CREATE", "VIRTUAL"]
        if kind in ("trigger", "view") or (is_virtual and name not in ours):
            yield f"it holds a {'virtual table' if is_virtual else kind} that is not of this program ({name!a:.80})"


def gone(objects: _Objects) -> Iterator[str]:
    """Tables and indexes that the migrations make, and that are not there."""
    there = {(kind, name) for kind, name, _ in objects}
    for kind, name, _ in _made_by_migrations():
        if (kind, name) not in there:
            yield f"its {kind} '{name}' is gone"


def _made_by_migrations() -> list[tuple[Any, ...]]:
    with closing(connect("sqlite", Path(":memory:"), create=True)) as connection:
        migrate(connection, migrations())
        return list(connection.execute(OBJECTS))
