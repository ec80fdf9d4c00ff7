"""Locks among processes, the same over files and over PostgreSQL. Each of `here` and `there` stands for a process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest
from front_door import until

from mcp_knowledge.adapters.file_locks import FileLocks
from mcp_knowledge.adapters.postgres import locks as postgres_locks
from mcp_knowledge.adapters.postgres.locks import PostgresLocks
from mcp_knowledge.adapters.postgres.session import Session
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Locks

NewProcess = Callable[[], Awaitable[Locks]]
MY_SESSIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'mcp-knowledge session'"""


@pytest.fixture(params=["files", "postgres"])
async def new_process(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[NewProcess]:
    monkeypatch.setattr(postgres_locks, "_PATIENCE_S", 0.0)
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else ""
    async with AsyncExitStack() as closing:

        async def make() -> Locks:
            if not dsn:
                return FileLocks(tmp_path / "locks")
            session = Session(dsn)
            locks = PostgresLocks(session)
            closing.push_async_callback(session.close)
            closing.push_async_callback(locks.close)
            return locks

        yield make


async def test_a_lock_is_one_process_s_at_a_time(new_process: NewProcess) -> None:
    here, there = await new_process(), await new_process()
    async with here.held("scan") as ours:
        assert ours
        async with there.held("scan") as theirs, here.held("scan") as again, there.held("sweep") as another:
            assert (theirs, again, another) == (False, False, True)
    async with there.held("scan") as theirs:
        assert theirs


async def test_a_lock_is_free_after_a_failure_under_it(new_process: NewProcess) -> None:
    here, there = await new_process(), await new_process()
    with pytest.raises(RuntimeError, match="under the lock"):
        async with here.held("scan"):
            raise RuntimeError("under the lock")
    async with there.held("scan") as theirs:
        assert theirs


async def test_what_is_kept_is_not_free_until_it_is_dropped(new_process: NewProcess) -> None:
    here, there = await new_process(), await new_process()
    names = {"worker/host:1:a", "worker/höst: 2/б", "worker/nobody"}
    for name in names - {"worker/nobody"}:
        await here.keep(name)
    for process in (here, there):
        assert await process.free(names) == {"worker/nobody"}
        assert await process.anybody_holds("worker") and not await process.anybody_holds("work")
    for name in names:
        await here.drop(name)
    assert await there.free(names) == names
    assert not await there.anybody_holds("worker")
    assert await there.free([]) == set()


async def test_a_lost_connection_ends_what_is_done_under_its_lock_and_what_is_kept_is_taken_again(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_locks, "_LOOK_S", 0.05)
    here, there = (PostgresLocks(Session(postgres_dsn)) for _ in range(2))
    await here.keep("worker/a")
    with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
        async with here.held("folder") as outer, here.held("scan") as inner:
            assert outer and inner
            with psycopg.connect(postgres_dsn, autocommit=True) as connection:
                connection.execute(MY_SESSIONS)
            await asyncio.Event().wait()
    async with there.held("folder") as theirs, there.held("scan") as also:
        assert theirs and also
    await until(lambda: there.anybody_holds("worker"))
    for locks in (here, there):
        await locks.close()
        await locks._session.close()


async def test_a_worker_whose_lock_was_just_lost_is_not_taken_for_dead(postgres_dsn: str) -> None:
    session = Session(postgres_dsn)
    locks = PostgresLocks(session)
    assert await locks.free({"worker/a"}) == set()
    await session.close()


async def test_who_asks_for_workers_and_who_asks_for_importers_do_not_disturb_each_other(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_locks, "_PATIENCE_S", 0.05)
    session = Session(postgres_dsn)
    locks = PostgresLocks(session)

    async def importer_is_gone() -> bool:
        await locks.free({"worker/a", "worker/b"})
        return await locks.free({"importer/a"}) == {"importer/a"}

    await until(importer_is_gone)
    await session.close()


async def test_a_database_that_does_not_answer_is_said_to_be_unavailable() -> None:
    locks = PostgresLocks(Session("postgresql://nobody@127.0.0.1:1/nothing"))
    for attempt in (locks.keep("worker/a"), locks.free({"worker/b"}), locks.anybody_holds("worker")):
        with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
            await attempt
    with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
        async with locks.held("scan"):
            pass
    await locks.close()


def _files(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


async def test_the_files_of_killed_processes_do_not_pile_up(tmp_path: Path) -> None:
    for number in range(5):
        killed = FileLocks(tmp_path)
        await killed.keep(f"worker/{number}")
        killed._kept[f"worker/{number}"].close()  # as the end of the process does
    living = FileLocks(tmp_path)
    await living.keep("worker/living")
    assert len(_files(tmp_path)) == 1
    assert await FileLocks(tmp_path).anybody_holds("worker")
