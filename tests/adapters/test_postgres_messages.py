"""Messages between processes over a real PostgreSQL. Each `Process` stands for one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import psycopg
from front_door import until

from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.adapters.postgres.listening import PostgresBroadcast
from mcp_knowledge.adapters.postgres.session import Session
from mcp_knowledge.domain.documents import new_id

LISTENERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
END_ALL = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'mcp-knowledge %'"""


class Process:
    """What is heard of each topic."""

    def __init__(self, dsn: str) -> None:
        self.session = Session(dsn)
        self.broadcast = PostgresBroadcast(dsn, self.session)
        self.jobs: list[str] = []
        self.archives: list[str] = []
        self.events: list[str] = []
        self.broadcast.hear("jobs", self.jobs.append)
        self.broadcast.hear("archives", self.archives.append)
        self.broadcast.hear("events", self.events.append)


def rows(dsn: str, sql: str) -> list[tuple[int, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(sql.encode()).fetchall()


@asynccontextmanager
async def processes(dsn: str, count: int) -> AsyncIterator[list[Process]]:
    made = [Process(dsn) for _ in range(count)]
    running = [asyncio.create_task(process.broadcast.run()) for process in made]
    await until(lambda: rows(dsn, LISTENERS) == [(count,)])
    yield made
    for process, task in zip(made, running, strict=True):
        await process.broadcast.stop()
        await task
        await process.broadcast.close()
        await process.session.close()


def _has(heard: list[str], message: str) -> bool:
    return heard == [message]


async def test_what_a_process_says_reaches_all_others_and_not_itself(postgres_dsn: str) -> None:
    async with processes(postgres_dsn, 3) as (speaker, *others):
        speaker.broadcast.send("document:doc_1:evt_1")
        for other in others:
            await until(partial(_has, other.events, "document:doc_1:evt_1"))
        assert speaker.events == []


async def test_any_number_of_messages_arrives_in_order(postgres_dsn: str) -> None:
    async with processes(postgres_dsn, 2) as (speaker, listener):
        messages = [f"document:{new_id('doc')}:{new_id('evt')}" for _ in range(1000)]  # more than one payload holds
        for message in messages:
            speaker.broadcast.send(message)
        await until(lambda: len(listener.events) == 1000)
        assert listener.events == messages


async def test_what_is_queued_in_a_transaction_wakes_workers_when_it_is_committed(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn, 384)
    await database.open()
    async with processes(postgres_dsn, 1) as (worker,):
        await database.write(lambda connection: connection.dialect.tell(connection, "jobs"))
        await until(lambda: worker.jobs == [""])
        await database.write(lambda connection: connection.dialect.tell(connection, "archives"))
        await until(lambda: worker.archives == [""])
        assert worker.jobs == [""] and worker.events == []
    await database.close()


async def test_after_a_lost_connection_everybody_looks_and_messages_go_on(postgres_dsn: str) -> None:
    async with processes(postgres_dsn, 2) as (speaker, listener):
        speaker.broadcast.send("before")
        await until(lambda: listener.events == ["before"])
        rows(postgres_dsn, END_ALL)
        await until(lambda: listener.jobs and listener.archives)
        assert listener.events == ["before", ""]
        speaker.broadcast.send("lost")  # the connection that it goes over is dead too
        await speaker.broadcast.close()
        speaker.broadcast.send("after")
        await until(lambda: "after" in listener.events)


async def test_what_is_said_at_the_very_end_still_goes_out(postgres_dsn: str) -> None:
    async with processes(postgres_dsn, 1) as (listener,):
        last = Process(postgres_dsn)
        last.broadcast.send("goodbye")
        await last.broadcast.close()
        await last.session.close()
        await until(lambda: listener.events == ["goodbye"])
