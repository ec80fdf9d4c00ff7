"""The embedded file itself: opening, refusing, sharing, surviving."""

import asyncio
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from contract_kit import Backend, add
from front_door import until

from mcp_knowledge.adapters.rows.job_rows import prune_jobs
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Connection, Database, DatabaseFault
from mcp_knowledge.adapters.sqlite.drivers import DriverName
from mcp_knowledge.adapters.sqlite.migrate import migrations
from mcp_knowledge.errors import KnowledgeError, StartupError

DRIVERS: list[DriverName] = ["sqlite", "libsql"]
NEWEST = migrations()[-1].number


async def opened(path: Path, driver: DriverName = "sqlite") -> Database:
    database = Database(path, driver)
    await database.open()
    return database


def value(connection: Connection, sql: str) -> object:
    return next(connection.execute(sql))[0]


def raise_counter(connection: Connection) -> None:
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")


async def refused(path: Path, driver: DriverName, sentence: str) -> None:
    """Opening fails with one clear sentence and leaves the file as it was."""
    before = await asyncio.to_thread(path.read_bytes)
    database = Database(path, driver)
    with pytest.raises(StartupError, match=sentence):
        await database.open()
    await database.close()
    assert await asyncio.to_thread(path.read_bytes) == before


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_new_file_is_made_with_the_settings_it_needs(tmp_path: Path, driver: DriverName) -> None:
    database = await opened(tmp_path / "new" / "folder" / "app.db", driver)

    assert database.migration == NEWEST
    assert await database.read(lambda c: value(c, "PRAGMA journal_mode")) == "wal"
    assert await database.read(lambda c: value(c, "PRAGMA page_size")) == 8192
    assert await database.write(lambda c: value(c, "PRAGMA foreign_keys")) == 1
    assert await database.write(lambda c: value(c, "PRAGMA synchronous")) == 1
    await database.close()
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["app.db"]


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_database_from_a_newer_version_is_refused(tmp_path: Path, driver: DriverName) -> None:
    path = tmp_path / "app.db"
    await (await opened(path, driver)).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    connection.close()

    await refused(path, driver, f"newer version of MCP Knowledge.*{NEWEST + 1}")


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("content", [b"x", b"Not a database.\n" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
async def test_a_file_that_is_no_database_is_refused(tmp_path: Path, driver: DriverName, content: bytes) -> None:
    path = tmp_path / "app.db"
    path.write_bytes(content)

    await refused(path, driver, "damaged or is not a database")


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_damaged_database_is_refused(tmp_path: Path, driver: DriverName) -> None:
    path = tmp_path / "app.db"
    await (await opened(path, driver)).close()
    content = bytearray(path.read_bytes())
    content[100:8192] = b"\xa5" * 8092
    path.write_bytes(content)

    await refused(path, driver, "damaged or is not a database")


@pytest.mark.parametrize("driver", DRIVERS)
async def test_another_programs_database_is_refused(tmp_path: Path, driver: DriverName) -> None:
    path = tmp_path / "app.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE documents (id)")
    connection.commit()
    connection.close()

    await refused(path, driver, "belongs to another program")


async def test_a_folder_that_cannot_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    database = Database(tmp_path / "file" / "app.db")

    with pytest.raises(StartupError, match="a file is in the place of its folder"):
        await database.open()
    await database.close()


@pytest.mark.parametrize("backend", DRIVERS, indirect=True)
async def test_both_drivers_read_and_write_one_file_in_turn(backend: Backend, tmp_path: Path) -> None:
    document = await add(backend, "written by the first")
    other: DriverName = "libsql" if backend.name == "sqlite" else "sqlite"
    database = await opened(Path(backend.where), other)
    store = SqlStore(database)

    assert [item.content for item in await store.list_chunks(document.id, 10)] == ["written by the first"]
    await store.update_document(document.id, title="Changed by the second")

    found = await backend.store.get_document(document.id)
    assert found is not None and found.title == "Changed by the second"
    assert await database.read(lambda c: value(c, "PRAGMA integrity_check")) == "ok"
    await database.close()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_failed_write_changes_nothing_and_the_next_one_works(tmp_path: Path, driver: DriverName) -> None:
    database = await opened(tmp_path / "app.db", driver)

    def half_way(connection: Connection) -> None:
        raise_counter(connection)
        raise ZeroDivisionError

    def wrong_statement(connection: Connection) -> None:
        raise_counter(connection)
        connection.execute("SELECT * FROM no_such_table")

    with pytest.raises(ZeroDivisionError):
        await database.write(half_way)
    with pytest.raises(DatabaseFault):
        await database.write(wrong_statement)
    with pytest.raises(KnowledgeError, match="read-only"):
        await database.read(raise_counter)
    await database.write(raise_counter)

    assert await database.read(lambda c: value(c, "SELECT value FROM meta WHERE key = 'generation'")) == 1
    await database.close()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_disk_that_cannot_be_written_for_a_while_is_an_outage_and_then_works(
    tmp_path: Path, driver: DriverName
) -> None:
    database = await opened(tmp_path / "app.db", driver)
    usual, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    def grow(connection: Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('large', ?)", ("x" * 1_000_000,))

    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
    try:
        with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
            await database.write(grow)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (usual, most))
    await database.write(grow)
    assert await database.read(lambda c: value(c, "SELECT length(value) FROM meta WHERE key = 'large'")) == 1_000_000
    await database.close()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_closing_finishes_what_was_queued_and_refuses_what_comes_later(
    tmp_path: Path, driver: DriverName
) -> None:
    database = await opened(tmp_path / "app.db", driver)
    writes = [asyncio.create_task(database.write(raise_counter)) for _ in range(50)]
    await asyncio.sleep(0)  # let every task hand its work over

    await database.close()

    await asyncio.gather(*writes)
    for call in (database.read(raise_counter), database.write(raise_counter)):
        with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
            await call
    await database.close()
    again = await opened(tmp_path / "app.db", driver)
    assert await again.read(lambda c: value(c, "SELECT value FROM meta WHERE key = 'generation'")) == 50
    await again.close()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_readers_answer_while_a_write_is_under_way(tmp_path: Path, driver: DriverName) -> None:
    database = await opened(tmp_path / "app.db", driver)
    go_on = threading.Event()

    def slow(connection: Connection) -> None:
        raise_counter(connection)
        assert go_on.wait(30)

    write = asyncio.create_task(database.write(slow))
    seen = [
        await database.read(lambda c: value(c, "SELECT value FROM meta WHERE key = 'generation'")) for _ in range(20)
    ]
    go_on.set()
    await write

    assert seen == [0] * 20
    await database.close()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_writers_of_two_connections_wait_for_each_other(tmp_path: Path, driver: DriverName) -> None:
    first, second = await opened(tmp_path / "app.db", driver), await opened(tmp_path / "app.db", driver)

    await asyncio.gather(*(database.write(raise_counter) for database in (first, second) * 30))

    assert await first.read(lambda c: value(c, "SELECT value FROM meta WHERE key = 'generation'")) == 60
    await first.close()
    await second.close()


async def test_the_log_is_cut_when_the_database_has_been_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_knowledge.adapters.sqlite.connection._IDLE_CHECKPOINT_S", 0.01)
    database = await opened(tmp_path / "app.db")
    await database.write(raise_counter)

    await until(lambda: (tmp_path / "app.db-wal").stat().st_size == 0, 30)

    assert await database.size_bytes() == (tmp_path / "app.db").stat().st_size
    await database.close()


async def test_old_jobs_are_forgotten_but_not_the_failures_of_live_documents(backend: Backend) -> None:
    for i in range(6):
        await add(backend, str(i))
    database = backend.database
    await database.write(lambda c: c.execute("UPDATE jobs SET status = 'failed' WHERE job_no = 1"))

    await database.write(lambda c: prune_jobs(c, kept=2))

    assert [row[0] for row in await database.read(lambda c: c.execute("SELECT job_no FROM jobs ORDER BY 1"))] == [
        1,
        5,
        6,
    ]


OPEN_AT_ONCE = """
import asyncio, sys
from pathlib import Path
from mcp_knowledge.adapters.sqlite.connection import Database

async def main():
    database = Database(Path(sys.argv[1]), sys.argv[2])
    sys.stdin.readline()
    await database.open()
    for _ in range(5):
        await database.write(lambda c: c.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'"))
    await database.close()

print("ready", flush=True)
asyncio.run(main())
"""


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process that has printed its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline()
    return process


@pytest.mark.parametrize("driver", DRIVERS)
async def test_processes_that_open_a_new_file_at_once_all_succeed(tmp_path: Path, driver: DriverName) -> None:
    path = tmp_path / "app.db"
    processes = [started(OPEN_AT_ONCE, str(path), driver) for _ in range(5)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()

    assert [await asyncio.to_thread(process.wait, 60) for process in processes] == [0] * 5

    database = await opened(path, driver)
    assert await database.read(lambda c: value(c, "SELECT value FROM meta WHERE key = 'generation'")) == 25
    await database.close()


KILLED_WHILE_WRITING = """
import asyncio, sys
from pathlib import Path
from mcp_knowledge.adapters.sqlite.connection import Database

def endless(connection):
    connection.execute("UPDATE meta SET value = value + 1000 WHERE key = 'generation'")
    number = 0
    while True:  # the cache is spilled into the log again and again
        number += 1
        rows = ((1000 * number + i, "x" * 1000) for i in range(1000))
        connection.executemany("INSERT INTO meta VALUES ('row ' || ?, ?)", rows)
        print(number, flush=True)

async def main():
    database = Database(Path(sys.argv[1]), sys.argv[2])
    await database.open()
    await database.write(lambda c: c.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'"))
    await database.write(endless)

asyncio.run(main())
"""


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_kill_in_the_middle_of_a_write_leaves_what_was_committed(tmp_path: Path, driver: DriverName) -> None:
    path = tmp_path / "app.db"
    for round_no in range(1, 4):
        process = started(KILLED_WHILE_WRITING, str(path), driver)
        assert process.stdout is not None
        for _ in range(10 * round_no):
            assert await asyncio.to_thread(process.stdout.readline)
        os.kill(process.pid, signal.SIGKILL)
        await asyncio.to_thread(process.wait, 30)

        database = await opened(path, driver)
        assert await database.read(lambda c: value(c, "PRAGMA integrity_check")) == "ok"
        assert await database.read(lambda c: list(c.execute("SELECT key, value FROM meta"))) == [
            ("generation", round_no)
        ]
        await database.close()
