"""The back ends under test, each over a database of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from contract_kit import DIMENSIONS, FINGERPRINT, Backend, Clock

from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.folder import SqlFolderStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database as SqliteDatabase
from mcp_knowledge.adapters.sqlite.drivers import DriverName
from mcp_knowledge.adapters.sqlite.lexical import SqliteLexicalIndex
from mcp_knowledge.adapters.sqlite.vectors import SqliteVectorIndex
from mcp_knowledge.ports import LexicalIndex, VectorIndex

BACK_ENDS = ("sqlite", "libsql", "postgres")


@asynccontextmanager
async def opened(name: str, where: str, clock: Clock) -> AsyncIterator[Backend]:
    """The ports of a back end over a database of their own: a file, or an address on a server."""
    if name == "postgres":
        from mcp_knowledge.adapters.postgres.lexical import PostgresLexicalIndex
        from mcp_knowledge.adapters.postgres.vectors import PostgresVectorIndex

        server = PostgresDatabase(where, DIMENSIONS, readers=2, writers=2)
        await server.open()
        indexes: tuple[LexicalIndex, VectorIndex] = (
            PostgresLexicalIndex(server),
            PostgresVectorIndex(server, DIMENSIONS, lambda: FINGERPRINT),
        )
        database: PostgresDatabase | SqliteDatabase = server
    else:
        file = SqliteDatabase(Path(where), cast(DriverName, name))
        await file.open()
        indexes = SqliteLexicalIndex(file), SqliteVectorIndex(file, DIMENSIONS, lambda: FINGERPRINT)
        database = file
    try:
        yield Backend(
            name,
            SqlStore(database),
            SqlJobQueue(database),
            *indexes,
            SqlArchiveStore(database),
            SqlFolderStore(database),
            clock,
            database,
            where,
        )
    finally:
        await database.close()
