"""What stands behind the ports that depend on the database: a file, or a PostgreSQL server."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.ports import Broadcast, LexicalIndex, Locks, VectorIndex
from mcp_knowledge.settings import Settings


@dataclass(frozen=True, slots=True)
class Backend:
    """An open database and what works with it. `broadcast`: None where no other process has anything to tell."""

    database: Database
    lexical: LexicalIndex
    vectors: VectorIndex
    locks: Locks
    broadcast: Broadcast | None


def open_backend(settings: Settings, fingerprint: Callable[[], str]) -> AbstractAsyncContextManager[Backend]:
    """Open the database that the settings name.

    Args:
        fingerprint: of the embedding model; asked off the event loop.

    Raises:
        StartupError: it cannot be used.
    """
    if settings.database_driver == "postgres":
        return _open_server(settings, fingerprint)
    return _open_file(settings, fingerprint)


@asynccontextmanager
async def _open_file(settings: Settings, fingerprint: Callable[[], str]) -> AsyncIterator[Backend]:
    from mcp_knowledge.adapters.file_locks import FileLocks
    from mcp_knowledge.adapters.folder_owner import refuse_lost_database
    from mcp_knowledge.adapters.sqlite.connection import Database as FileDatabase
    from mcp_knowledge.adapters.sqlite.lexical import SqliteLexicalIndex
    from mcp_knowledge.adapters.sqlite.vectors import SqliteVectorIndex

    assert settings.database_driver != "postgres"
    if settings.storage_driver == "local":
        refuse_lost_database(settings.database_path, settings.blobs_path)
    locks = FileLocks(settings.data_dir / "locks")
    locks.prepare()
    database = FileDatabase(settings.database_path, settings.database_driver)
    await database.open()
    try:
        yield Backend(
            database,
            SqliteLexicalIndex(database),
            SqliteVectorIndex(database, settings.embedding_dimensions, fingerprint),
            locks,
            broadcast=None,
        )
    finally:
        await database.close()


@asynccontextmanager
async def _open_server(settings: Settings, fingerprint: Callable[[], str]) -> AsyncIterator[Backend]:
    from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
    from mcp_knowledge.adapters.postgres.lexical import PostgresLexicalIndex
    from mcp_knowledge.adapters.postgres.listening import PostgresBroadcast
    from mcp_knowledge.adapters.postgres.locks import PostgresLocks
    from mcp_knowledge.adapters.postgres.session import Session
    from mcp_knowledge.adapters.postgres.vectors import PostgresVectorIndex

    writers = settings.database_pool_size // 3
    readers = settings.database_pool_size - writers
    database = PostgresDatabase(settings.database_url, settings.embedding_dimensions, readers, writers)
    await database.open()
    session = Session(settings.database_url)
    broadcast, locks = PostgresBroadcast(settings.database_url, session), PostgresLocks(session)
    try:
        yield Backend(
            database,
            PostgresLexicalIndex(database),
            PostgresVectorIndex(database, settings.embedding_dimensions, fingerprint),
            locks,
            broadcast,
        )
    finally:
        await broadcast.close()
        await locks.close()
        await session.close()
        await database.close()
