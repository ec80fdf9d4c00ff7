"""`/ready` tells the truth: each part goes false for a real fault and true again, soon, whatever hangs."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from front_door import running_client, until
from rest_kit import app_of

from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import readiness
from mcp_knowledge.services.ingest import IngestWorker
from mcp_knowledge.settings import MODEL_DIR, Settings

PARTS = {"database", "storage", "embedding", "migrations", "worker"}


async def failing(client: httpx2.AsyncClient) -> set[str]:
    """The parts that `/ready` says do not work."""
    answer = await client.get("/ready")
    data: dict[str, Any] = answer.json()
    assert set(data["checks"]) == PARTS
    broken = {name for name, works in data["checks"].items() if not works}
    assert (answer.status_code, data["ready"]) == ((503, False) if broken else (200, True))
    assert (await client.get("/health")).json() == {"ok": True}
    return broken


def fails_exactly(client: httpx2.AsyncClient, *parts: str) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        return await failing(client) == {*parts}

    return asked


@pytest.mark.parametrize("role", ["all", "api", "worker"])
@pytest.mark.both_databases
async def test_every_role_is_ready_and_says_so_until_it_stops(settings: Settings, role: str) -> None:
    async with running_client(settings.model_copy(update={"role": role})) as client:
        await until(fails_exactly(client))
        app_of(client).state.services.status.stop()
        assert await failing(client) == {"worker"}


async def test_a_database_file_that_is_gone_or_an_older_one_shows(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_client(settings) as client:
        path, aside = settings.database_path, settings.database_path.with_name("aside")
        path.rename(aside)
        assert await failing(client) == {"database", "migrations"}
        aside.rename(path)
        assert await failing(client) == set()
        database = app_of(client).state.services.status._store._database
        now = database.migration
        await database.write(lambda connection: list(connection.execute(f"PRAGMA user_version = {now - 1}")))
        assert await failing(client) == {"migrations"}
        assert {"The database cannot be used", "The schema of the database cannot be used"} <= set(caplog.messages)
        await database.write(lambda connection: list(connection.execute(f"PRAGMA user_version = {now}")))
        assert await failing(client) == set()


async def test_a_schema_that_was_taken_back_shows_on_postgres(settings: Settings, postgres_dsn: str) -> None:
    changed = settings.model_copy(update={"database_driver": "postgres", "database_url": postgres_dsn})
    async with running_client(changed) as client:
        assert await failing(client) == set()
        with psycopg.connect(postgres_dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT * FROM mcp_knowledge_migrations")
            connection.execute("DELETE FROM mcp_knowledge_migrations WHERE number > 1")
            assert await failing(client) == {"migrations"}
            connection.execute("INSERT INTO mcp_knowledge_migrations SELECT * FROM kept WHERE number > 1")
        assert await failing(client) == set()


async def test_a_folder_of_originals_that_cannot_be_written_shows(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_client(settings) as client:
        folder = settings.blobs_path
        aside = folder.with_name("aside")
        folder.rename(aside)
        folder.write_text("a file where the folder was")
        assert await failing(client) == {"storage"}
        assert "The storage cannot be used" in caplog.messages
        folder.unlink()
        aside.rename(folder)
        assert await failing(client) == set()


async def test_a_model_that_is_missing_at_the_start_shows_until_it_is_there(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL_DIR, folder)
    aside = folder / "aside.onnx"
    async with running_client(settings.model_copy(update={"embedding_model_path": folder})) as client:
        assert await failing(client) == set()
        services = app_of(client).state.services
        services.status._readiness._answered_s = float("-inf")  # as if it had been long ago
        del services.search._sides.embedder._loaded_session
        (folder / "model.onnx").rename(aside)
        assert await failing(client) == {"embedding"}
        aside.rename(folder / "model.onnx")
        assert await failing(client) == set()


@pytest.mark.parametrize(
    ("owner", "method", "parts"),
    [
        (SqlStore, "health", {"database", "migrations"}),
        (LocalBlobStore, "healthy", {"storage"}),
        (MiniLmEmbedder, "embed_query", {"embedding"}),
    ],
)
async def test_a_part_that_hangs_or_fails_keeps_no_probe_and_is_asked_once(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, owner: type, method: str, parts: set[str]
) -> None:
    await until(fails_exactly(client))
    monkeypatch.setattr(readiness, "PATIENCE_S", 0.05)
    for name in ("_MODEL_HOLDS_S", "_MODEL_BUSY_S"):
        monkeypatch.setattr(readiness, name, 0)
    asked, goes_on = [], asyncio.Event()

    async def hangs(*_: Any) -> None:
        asked.append(1)
        await goes_on.wait()
        raise KnowledgeError("SERVICE_UNAVAILABLE")

    async def fails(*_: Any) -> None:
        raise ValueError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, hangs)
        # On a busy machine another part may miss so short a time too.
        assert all(parts <= found for found in await asyncio.gather(*(failing(client) for _ in range(5))))
        assert parts <= await failing(client)
        assert len(asked) == 1
        goes_on.set()
        patch.setattr(owner, method, fails)
        await until(fails_exactly(client, *parts))
    monkeypatch.undo()
    await until(fails_exactly(client))


async def test_a_model_that_many_searches_wait_for_is_no_fault(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await until(fails_exactly(client))

    async def slow(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(readiness, "PATIENCE_S", 0.05)
    monkeypatch.setattr(readiness, "_MODEL_HOLDS_S", 0)
    monkeypatch.setattr(MiniLmEmbedder, "embed_query", slow)
    assert "embedding" not in await failing(client)


async def test_a_worker_that_has_ended_shows(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async def doomed(_: IngestWorker) -> None:
        raise ValueError("nobody foresaw this")

    monkeypatch.setattr(IngestWorker, "run", doomed)
    with pytest.raises(ExceptionGroup):
        async with running_client(settings) as client:
            await until(fails_exactly(client, "worker"))
