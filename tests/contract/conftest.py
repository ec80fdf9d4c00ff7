"""The back ends under test. A further one (PostgreSQL) joins by a branch in `opened` and its name in `BACK_ENDS`."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from contract_kit import DIMENSIONS, FINGERPRINT, Backend, Clock

from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.folder import SqlFolderStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.adapters.sqlite.drivers import DriverName
from mcp_knowledge.adapters.sqlite.lexical import SqliteLexicalIndex
from mcp_knowledge.adapters.sqlite.vectors import SqliteVectorIndex
from mcp_knowledge.domain.documents import now_ms

BACK_ENDS = ("sqlite", "libsql")
_ADAPTERS = "mcp_knowledge.adapters."


@asynccontextmanager
async def opened(name: str, path: Path, clock: Clock) -> AsyncIterator[Backend]:
    """The ports of a back end over a database of their own."""
    database = Database(path, cast(DriverName, name))
    await database.open()
    try:
        yield Backend(
            name,
            SqlStore(database),
            SqlJobQueue(database),
            SqliteLexicalIndex(database),
            SqliteVectorIndex(database, DIMENSIONS, lambda: FINGERPRINT),
            SqlArchiveStore(database),
            SqlFolderStore(database),
            clock,
            path,
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
    async with opened(request.param, tmp_path / "app.db", clock) as backend:
        yield backend


@pytest.fixture
async def other_process(backend: Backend) -> AsyncIterator[Backend]:
    """The same database opened once more, as another process would."""
    async with opened(backend.name, backend.path, backend.clock) as other:
        yield other
