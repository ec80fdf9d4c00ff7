"""What the database on a server promises beyond the contract: races, restarts, refusals."""

import asyncio
import random
import re
import threading

import psycopg
import pytest
from front_door import until
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mcp_knowledge.adapters.postgres import migrate
from mcp_knowledge.adapters.postgres.connection import PostgresConnection, PostgresDatabase
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.errors import KnowledgeError, StartupError

NEWEST = migrate.migrations()[-1].number


def count(connection: PostgresConnection, sql: str) -> int:
    return int(next(connection.execute(sql))[0])


async def refusal(dsn: str, dimensions: int = 384) -> str:
    """The sentence with which opening fails."""
    database = PostgresDatabase(dsn, dimensions)
    with pytest.raises(StartupError) as refused:
        await database.open()
    await database.close()
    return str(refused.value)


async def test_processes_that_start_together_migrate_once(empty_postgres_dsn: str) -> None:
    databases = [PostgresDatabase(empty_postgres_dsn, 384, readers=1, writers=1) for _ in range(6)]
    await asyncio.gather(*(database.open() for database in databases))

    assert {database.migration for database in databases} == {NEWEST}
    steps = await databases[0].read(lambda c: count(c, "SELECT count(*) FROM mcp_knowledge_migrations"))
    assert steps == len(migrate.migrations())
    await asyncio.gather(*(database.close() for database in databases))


async def test_a_database_from_a_newer_version_is_refused_and_an_open_one_goes_on(postgres_dsn: str) -> None:
    old = PostgresDatabase(postgres_dsn, 384)
    await old.open()
    with psycopg.connect(postgres_dsn, autocommit=True) as newer:
        newer.execute("INSERT INTO mcp_knowledge_migrations (number, name) VALUES (%s, 'later')", (NEWEST + 1,))
        newer.execute("ALTER TABLE documents ADD COLUMN later text")

    assert f"its migration is {NEWEST + 1}, this version knows {NEWEST}" in await refusal(postgres_dsn)
    collection = await SqlStore(old).create_collection("Still served", None)
    assert await SqlStore(old).get_collection(collection.id) == collection
    await old.close()


async def test_another_programs_database_is_refused_untouched(empty_postgres_dsn: str) -> None:
    with psycopg.connect(empty_postgres_dsn, autocommit=True) as other:
        other.execute("CREATE TABLE documents (id int)")

    assert "belongs to another program" in await refusal(empty_postgres_dsn)
    with psycopg.connect(empty_postgres_dsn) as other:
        tables = other.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace").fetchall()
    assert tables == [("documents",)]


async def test_other_dimensions_than_the_databases_are_refused(postgres_dsn: str) -> None:
    assert "vectors of 384 numbers and EMBEDDING_DIMENSIONS is 512" in await refusal(postgres_dsn, 512)


async def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    sentence = await refusal("postgresql://someone:s3cret@127.0.0.1:1/nothing?connect_timeout=2")

    assert "127.0.0.1:1/nothing" in sentence and "DATABASE_URL" in sentence
    assert "s3cret" not in sentence and "\n" not in sentence


@pytest.mark.parametrize(
    ("available", "installed", "sentence"),
    [
        (None, None, r"has no pgvector: install the extension 'vector' \(0.7 or later\)"),
        ("0.6.2", None, "pgvector 0.6.2 is too old: install version 0.7 or later on the server."),
        ("0.8.0", "0.5.1", "pgvector 0.5.1 is too old: .* and run ALTER EXTENSION vector UPDATE"),
    ],
)
async def test_a_missing_or_old_extension_is_told_in_one_sentence(
    empty_postgres_dsn: str,
    monkeypatch: pytest.MonkeyPatch,
    available: str | None,
    installed: str | None,
    sentence: str,
) -> None:
    answers = {"extversion FROM pg_extension": installed, "default_version": available}
    value = migrate._value

    def answered(connection: psycopg.Connection[tuple[object, ...]], statement: str, *params: object) -> object:
        known = [answer for part, answer in answers.items() if part in statement]
        return known[0] if known else value(connection, statement, *params)

    monkeypatch.setattr(migrate, "_value", answered)
    assert re.search(sentence, await refusal(empty_postgres_dsn))


async def test_transactions_that_meet_are_run_again_until_both_are_done(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn, 384)
    await database.open()
    store = SqlStore(database)
    first, second = [(await store.create_collection(name, None)).id for name in ("one", "two")]
    both = threading.Barrier(2, timeout=10)
    runs: list[str] = []

    def rename(connection: PostgresConnection, ids: tuple[str, str]) -> None:
        """Locks the two rows; the other transaction does it the other way round."""
        runs.append(ids[0])
        update = "UPDATE collections SET description = 'x' WHERE id = ?"
        connection.execute(update, (ids[0],))
        if len(runs) <= 2:
            both.wait()
        connection.execute(update, (ids[1],))

    await asyncio.gather(
        database.write(lambda c: rename(c, (first, second))), database.write(lambda c: rename(c, (second, first)))
    )
    assert len(runs) == 3
    await database.close()


async def test_equal_names_at_once_make_one_collection(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn, 384)
    await database.open()
    store = SqlStore(database)

    made = await asyncio.gather(*(store.create_collection("Same", None) for _ in range(4)), return_exceptions=True)

    assert sum(not isinstance(one, Exception) for one in made) == 1
    assert {one.code for one in made if isinstance(one, KnowledgeError)} == {"COLLECTION_EXISTS"}
    await database.close()


async def test_connections_that_the_server_ended_are_made_again_unnoticed(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn, 384)
    await database.open()
    store = SqlStore(database)
    await asyncio.gather(*(store.generation() for _ in range(8)))

    with psycopg.connect(make_conninfo(postgres_dsn, dbname="postgres"), autocommit=True) as killer:
        killer.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            (psycopg.conninfo.conninfo_to_dict(postgres_dsn)["dbname"],),
        )

    assert await store.generation() == 0
    assert (await store.create_collection("After", None)).name == "After"
    await database.close()


async def test_a_closed_database_says_so(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn, 384)
    await database.open()
    await database.close()

    with pytest.raises(KnowledgeError) as refused:
        await database.read(lambda c: count(c, "SELECT 1"))
    assert refused.value.code == "SERVICE_UNAVAILABLE"


@pytest.mark.parametrize("rest", ["app:%zzhush@127.0.0.1/d", "127.0.0.1/d?hush=1"])
async def test_an_address_that_cannot_be_read_is_refused_without_showing_it(rest: str) -> None:
    sentence = await refusal(f"postgresql://{rest}")
    assert sentence.startswith("DATABASE_URL cannot be read") and "hush" not in sentence


async def test_a_refusal_gives_the_servers_reason_once(postgres_dsn: str) -> None:
    parts = conninfo_to_dict(postgres_dsn)
    where = f"PostgreSQL at {parts['host']}:{parts['port']}"
    assert await refusal(make_conninfo(postgres_dsn, dbname="missing")) == (
        f'{where}/missing cannot be used: database "missing" does not exist. Check DATABASE_URL and the server.'
    )
    assert await refusal("postgresql://app@127.0.0.1:1/d") == (
        "PostgreSQL at 127.0.0.1:1/d cannot be used: Connection refused. Check DATABASE_URL and the server."
    )


async def test_a_database_that_cannot_hold_all_letters_is_refused(empty_postgres_dsn: str) -> None:
    with psycopg.connect(empty_postgres_dsn, autocommit=True) as server:
        server.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        try:
            sentence = await refusal(make_conninfo(empty_postgres_dsn, dbname="ascii"))
        finally:
            server.execute("DROP DATABASE ascii")
    assert "is encoded in SQL_ASCII: create one with" in sentence


async def test_what_is_too_large_for_the_server_is_no_outage(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn, 384)
    await database.open()
    key = "".join(random.Random(3).choices("abcdefghijklmnop", k=20_000))
    runs = 0

    def insert(connection: PostgresConnection) -> None:
        nonlocal runs
        runs += 1
        connection.execute("INSERT INTO meta (key, value) VALUES (?, '')", (key,))

    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        await database.write(insert)
    assert runs == 1
    await database.close()


async def test_a_collection_that_goes_while_it_is_renamed_is_not_found(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn, 384)
    await database.open()
    store = SqlStore(database)
    collection = await store.create_collection("Going", None)
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(postgres_dsn) as other, psycopg.connect(postgres_dsn, autocommit=True) as observer:
        other.execute("DELETE FROM collections WHERE id = %s", (collection.id,))
        renamed = asyncio.create_task(store.update_collection(collection.id, name="Renamed"))
        await until(lambda: observer.execute(waiting).fetchone())
        other.commit()
        with pytest.raises(KnowledgeError) as refused:
            await renamed
    assert refused.value.code == "COLLECTION_NOT_FOUND"
    await database.close()
