"""The back ends under test."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from contract_kit import DIMENSIONS, FINGERPRINT, Backend, Clock
from mcp_knowledge.adapters.postgres.lexical import PostgresLexicalIndex

from mcp_knowledge.adapters.postgres.connection import PostgresDatabase
from mcp_knowledge.adapters.postgres.vectors import PostgresVectorIndex
from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.folder import SqlFolderStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database as SqliteDatabase
from mcp_knowledge.adapters.sqlite.drivers import DriverName
from mcp_knowledge.adapters.sqlite.lexical import SqliteLexicalIndex
from mcp_knowledge.adapters.sqlite.vectors import SqliteVectorIndex
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.ports import LexicalIndex, VectorIndex

BACK_ENDS = ("sqlite", "libsql", "postgres")
_ADAPTERS = "mcp_knowledge.adapters."


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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(now_ms)
    for name, module in list(sys.modules.items()):
        if name.startswith(_ADAPTERS) and hasattr(module, "now_ms"):
            monkeypatch.setattr(module, "now_ms", clock.now_ms)
    return clock


@pytest.fixture(params=BACK_ENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Backend]:
    """Every test that asks for it runs once with each back end."""
    name = request.param
    where = request.getfixturevalue("postgres_dsn") if name == "postgres" else str(tmp_path / "app.db")
    async with opened(name, where, clock) as backend:
        yield backend


@pytest.fixture
async def other_process(backend: Backend) -> AsyncIterator[Backend]:
    """The same database opened once more, as another process would."""
    async with opened(backend.name, backend.where, backend.clock) as other:
        yield other
