"""A writer on a server that had to wait for another one goes by what that one has written."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import psycopg
import pytest
from back_ends import opened
from contract_kit import FINGERPRINT, Backend, Clock, add, chunk, claim_one, indexed, new_document
from front_door import until

from mcp_knowledge.adapters.rows import documents
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.indexing import MIXED_FINGERPRINT
from mcp_knowledge.adapters.rows.sql import set_meta
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import KnowledgeError

_WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

T = TypeVar("T")


def server(dsn: str) -> AbstractAsyncContextManager[Backend]:
    """The ports over a database of the server."""
    return opened("postgres", dsn, Clock(now_ms))


async def after_another(dsn: str, lock: str, change: str, work: Callable[[], Awaitable[T]]) -> T:
    """What `work` comes to that begins while another writer holds a lock, and goes on once that one has committed."""
    with psycopg.connect(dsn) as writer, psycopg.connect(dsn, autocommit=True) as watcher:
        writer.execute(lock.encode())
        task = asyncio.ensure_future(work())
        await until(lambda: watcher.execute(_WAITING).fetchone())
        writer.execute(change.encode())
        writer.commit()
        return await task


async def test_a_job_that_somebody_else_has_retried_meanwhile_is_left_to_its_worker(postgres_dsn: str) -> None:
    async with server(postgres_dsn) as backend:
        await backend.store.create_document(new_document())
        job = await claim_one(backend)
        assert await backend.queue.fail(job, "MALFORMED_DOCUMENT", "Broken.", None)

        with pytest.raises(KnowledgeError) as refused:
            await after_another(
                postgres_dsn,
                "SELECT 1 FROM documents FOR UPDATE",
                "UPDATE jobs SET status = 'running', attempt = attempt + 1, worker = 'worker-2'",
                lambda: backend.queue.retry(job.id),
            )

        assert refused.value.code == "JOB_NOT_RETRYABLE"
        after = await backend.queue.get(job.id)
        assert after is not None and (after.status, after.worker) == ("running", "worker-2")


async def test_a_document_that_was_deleted_meanwhile_is_not_queued_with_all_others(postgres_dsn: str) -> None:
    async with server(postgres_dsn) as backend:
        gone, kept = sorted([await add(backend, "one"), await add(backend, "two")], key=lambda document: document.id)

        queued = await after_another(
            postgres_dsn,
            f"SELECT 1 FROM documents WHERE id = '{gone.id}' FOR UPDATE",
            f"UPDATE documents SET status = 'deleted', searchable = 0 WHERE id = '{gone.id}'",
            lambda: backend.store.reindex_documents("", 10),
        )

        assert queued == ([kept.id], None)
        assert [job.document_id for job in await backend.queue.claim("worker-1", 10, 60_000)] == [kept.id]


async def test_models_that_write_at_the_same_time_both_see_that_there_are_two(postgres_dsn: str) -> None:
    async with server(postgres_dsn) as backend:
        await add(backend, "of this model until now")
        await backend.database.write(lambda c: set_meta(c, "fingerprint", MIXED_FINGERPRINT))
        await backend.store.create_document(new_document())
        item = indexed(await claim_one(backend), [chunk(0, "of this model")])

        await after_another(
            postgres_dsn,
            "SELECT pg_advisory_xact_lock(hashtextextended('fingerprint', 0))",
            "UPDATE index_versions SET fingerprint = 'another model'",
            lambda: backend.store.index_revisions([item], FINGERPRINT),
        )

        assert await backend.store.fingerprint() == MIXED_FINGERPRINT


async def test_an_upload_is_no_duplicate_of_what_is_purged_while_it_looks(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server(postgres_dsn) as backend:
        await backend.store.create_document(new_document())
        loop, look = asyncio.get_running_loop(), documents.showing

        def look_in_bad_time(connection: Connection, sha256: bytes) -> list[Row]:
            found = look(connection, sha256)
            asyncio.run_coroutine_threadsafe(backend.store.purge_documents(), loop).result(timeout=20)
            return found

        monkeypatch.setattr(documents, "showing", look_in_bad_time)
        document, duplicate = await backend.store.create_document(new_document())
        assert not duplicate
        assert await backend.store.get_document(document.id) == document
