"""Writers on a server meet each other, and none of them is made to wait for ever or to give up."""

import asyncio

import psycopg
from back_ends import opened
from contract_kit import Clock, new_document
from front_door import until

from mcp_knowledge.domain.documents import now_ms

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
