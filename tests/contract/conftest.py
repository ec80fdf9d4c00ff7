"""Every test that asks for `backend` runs once with each back end."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from back_ends import BACK_ENDS, opened
from contract_kit import Backend, Clock

from mcp_knowledge.domain.documents import now_ms

_ADAPTERS = "mcp_knowledge.adapters."


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(now_ms)
    for name, module in list(sys.modules.items()):
        if name.startswith(_ADAPTERS) and hasattr(module, "now_ms"):
            monkeypatch.setattr(module, "now_ms", clock.now_ms)
    return clock


@pytest.fixture(params=BACK_ENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Backend]:
    """The ports over an empty database."""
    name = request.param
    where = request.getfixturevalue("postgres_dsn") if name == "postgres" else str(tmp_path / "app.db")
    async with opened(name, where, clock) as backend:
        yield backend


@pytest.fixture
async def other_process(backend: Backend) -> AsyncIterator[Backend]:
    """The same database opened once more, as another process would."""
    async with opened(backend.name, backend.where, backend.clock) as other:
        yield other
