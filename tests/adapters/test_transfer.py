from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.adapters.transfer import state
from mcp_knowledge.adapters.transfer.digests import Digest
from mcp_knowledge.adapters.transfer.postgres_side import PostgresSide
from mcp_knowledge.adapters.transfer.rows import End, RowTransfer
from mcp_knowledge.adapters.transfer.sides import SqliteSide
from mcp_knowledge.adapters.transfer.state import State
from mcp_knowledge.adapters.transfer.tables import TABLES
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import StartupError

DIMENSIONS = 384
COPIED = {table.name for table in TABLES}
# `meta` is handed over at the end. The others are made anew, or mean nothing elsewhere.
NOT_COPIED_SQLITE = {"meta", "vector_changes", "login_attempts", "sqlite_sequence"}
NOT_COPIED_POSTGRES = {
    "meta",
    "login_attempts",
    "mcp_knowledge_migrations",
    "chunk_terms",
    "term_counts",
    "term_changes",
    "text_totals",
}
VALUES = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary())
ROWS = st.lists(st.tuples(VALUES, VALUES))


@asynccontextmanager
async def embedded(path: Path) -> AsyncIterator[End]:
    database = Database(path)
    await database.open()
    yield End(database, SqliteSide())
    await database.close()


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[End]:
    async with embedded(tmp_path / "app.db") as end:
        yield end


@pytest.fixture
async def server(postgres_dsn: str) -> AsyncIterator[End]:
    database = PostgresDatabase(postgres_dsn, DIMENSIONS)
    await database.open()
    yield End(database, PostgresSide(DIMENSIONS))
    await database.close()


async def test_no_table_of_either_database_is_forgotten(file: End, server: End) -> None:
    in_file = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'chunk\\_fts%' ESCAPE '\\'"
    names = await file.database.read(lambda c: {row[0] for row in c.execute(in_file)})
    assert names == COPIED | NOT_COPIED_SQLITE
    on_server = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    names = await server.database.read(lambda c: {row[0] for row in c.execute(on_server)})
    assert names == COPIED | NOT_COPIED_POSTGRES


@pytest.mark.parametrize("upwards", [True, False], ids=["to PostgreSQL", "to SQLite"])
async def test_numbers_that_were_given_once_are_never_given_again(file: End, server: End, upwards: bool) -> None:
    source, target = (file, server) if upwards else (server, file)
    now = now_ms()

    def add(connection: Connection, name: str) -> int:
        sql = """INSERT INTO collections (id, name, name_key, created_at_ms, updated_at_ms)
            VALUES (?, ?, ?, ?, ?) RETURNING collection_no"""
        return int(next(connection.execute(sql, (name, name, name, now, now)))[0])

    for name in ("a", "b", "c"):
        last = await source.database.write(partial(add, name=name))
    await source.database.write(lambda c: list(c.execute("DELETE FROM collections WHERE collection_no > 1")))
    await transfer(source, target)
    assert await target.database.write(partial(add, name="d")) == last + 1


async def transfer(source: End, target: End) -> None:
    rows = RowTransfer(source, target)
    assert await rows.look() == "new"
    await rows.begin()
    await rows.copy(lambda count: None)
    await rows.index(lambda count: None, lambda count: None)
    assert all(table.equal for table in await rows.compare(lambda count: None))
    await rows.finish()


async def test_two_copies_into_one_database_do_not_mix(file: End, server: End) -> None:
    first, second = RowTransfer(file, server), RowTransfer(file, server)
    await first.look()
    await first.begin()
    assert await second.look() == "resumed"
    await second.copy(lambda count: None)
    with pytest.raises(StartupError, match="Another migrate-to"):
        await first.copy(lambda count: None)


async def test_a_database_is_refused_until_its_copy_is_complete(file: End) -> None:
    await state.refuse_unfinished(file.database)
    await file.database.write(lambda c: state.begin(c, State({})))
    with pytest.raises(StartupError, match="migrate-to"):
        await state.refuse_unfinished(file.database)
    await file.database.write(state.end)
    await state.refuse_unfinished(file.database)


@given(ROWS, st.randoms(use_true_random=False))
def test_a_digest_does_not_depend_on_the_order_of_rows_or_on_pages(
    rows: list[tuple[object, ...]], random: Random
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    half = len(rows) // 2
    assert Digest().with_rows(shuffled) == Digest().with_rows(rows[:half]).with_rows(rows[half:])


@given(ROWS, ROWS)
def test_different_rows_have_different_digests(
    rows: list[tuple[object, ...]], others: list[tuple[object, ...]]
) -> None:
    same = sorted(map(repr, rows)) == sorted(map(repr, others))
    assert (Digest().with_rows(rows) == Digest().with_rows(others)) == same
