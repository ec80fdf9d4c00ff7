"""Writers on a server meet each other, and none of them is made to wait for ever or to give up."""

import asyncio
import time

import psycopg
import pytest
from back_ends import opened
from contract_kit import LEASE_MS, Clock, new_document
from front_door import until, wait_until

from mcp_knowledge.adapters.postgres import connection
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import KnowledgeError

_WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = %s)"


async def test_a_purge_lets_writers_end_and_takes_what_they_wrote_with_it(postgres_dsn: str) -> None:
    async with opened("postgres", postgres_dsn, Clock(now_ms)) as backend:
        await backend.store.create_document(new_document())
        with psycopg.connect(postgres_dsn) as writer, psycopg.connect(postgres_dsn, autocommit=True) as watcher:
            writer.execute("SELECT 1 FROM documents FOR UPDATE")
            purge = asyncio.create_task(backend.store.purge_documents())
            await until(lambda: watcher.execute(_WAITING, (watcher.info.dbname,)).fetchone())
            writer.execute("INSERT INTO chunk_terms VALUES (1, 1, 1, '{}/10', '')")
            writer.execute(
                """INSERT INTO revisions (id, document_no, number, created_at_ms, size_bytes, sha256, extension,
                       mime_type, original_filename, blob_key)
                   SELECT 'rev_late', document_no, 2, 0, 1, sha256, extension, mime_type, original_filename, 'late'
                   FROM revisions"""
            )
            writer.commit()
            assert "late" in await purge
            for table in ("documents", "revisions", "chunk_terms"):
                assert watcher.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)


async def test_nobody_waits_for_ever_for_a_writer_that_was_halted(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_BOUNDS", "SET lock_timeout = '50ms'")
    async with opened("postgres", postgres_dsn, Clock(now_ms)) as backend:
        document, _ = await backend.store.create_document(new_document())
        with psycopg.connect(postgres_dsn) as halted:
            halted.execute("SELECT 1 FROM documents FOR UPDATE")
            with pytest.raises(KnowledgeError) as refused:
                await backend.store.delete_document(document.id)
            assert refused.value.code == "SERVICE_UNAVAILABLE"
        await backend.store.delete_document(document.id)


async def test_a_transaction_that_the_server_ended_while_its_process_was_halted_is_run_again(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_BOUNDS", "SET idle_in_transaction_session_timeout = '50ms'")
    sessions: list[int] = []

    def work(own: Connection) -> int:
        sessions.append(next(own.execute("SELECT pg_backend_pid()"))[0])
        if len(sessions) == 1:
            wait_until(
                lambda: not watcher.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", sessions).fetchone()
            )
        return int(next(own.execute("SELECT 7"))[0])

    async with opened("postgres", postgres_dsn, Clock(now_ms)) as backend:
        with psycopg.connect(postgres_dsn, autocommit=True) as watcher:
            assert await backend.database.write(work) == 7
    assert len({*sessions}) == 2


async def test_work_that_a_machine_with_a_fast_clock_queued_is_due_at_once_and_stays_with_its_worker(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened("postgres", postgres_dsn, Clock(now_ms)) as backend:
        with monkeypatch.context() as fast:
            _put_clock_forward(fast)
            document, _ = await backend.store.create_document(new_document())
        (job,) = await backend.queue.claim("right", 10, LEASE_MS)
        with monkeypatch.context() as fast:
            _put_clock_forward(fast)
            assert await backend.queue.claim("fast", 10, LEASE_MS) == []
            assert await backend.queue.release(job)
        assert [job.document_id for job in await backend.queue.claim("right", 10, LEASE_MS)] == [document.id]


def _put_clock_forward(patch: pytest.MonkeyPatch) -> None:
    right = time.time_ns
    patch.setattr(time, "time_ns", lambda: right() + 3_600 * 10**9)
