"""What goes wrong around the scanned folder stays there: everything else goes on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from ingest_kit import until

from mcp_knowledge.app import open_services
from mcp_knowledge.domain.folder import FileOutcome
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import FolderWatch
from mcp_knowledge.services import folders
from mcp_knowledge.settings import load_settings


async def test_a_database_that_fails_while_the_scan_is_counted_delays_the_scan_and_ends_no_other_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    failures = 0

    async def unavailable_twice() -> dict[FileOutcome, int]:
        nonlocal failures
        if failures < 2:
            failures += 1
            raise KnowledgeError("SERVICE_UNAVAILABLE")
        return {}

    monkeypatch.setattr(folders, "_AGAIN_S", 0.01)
    async with open_services(load_settings(data_dir=tmp_path / "data", ingest_data_dir=folder)) as services:
        monkeypatch.setattr(services.folders._folder, "count_passed_over", unavailable_twice)
        running = asyncio.create_task(services.folders.run())
        await asyncio.wait({running}, timeout=20)
        assert running.done() and running.exception() is None
        assert (failures, (await services.folders.status()).state) == (2, "completed")


async def test_a_folder_that_cannot_be_followed_for_a_moment_is_followed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    settings = load_settings(data_dir=tmp_path / "data", ingest_data_dir=folder, ingest_data_watch=True)
    tries: list[Path] = []

    def no_thread(root: Path, on_change: Callable[[], None]) -> FolderWatch:
        tries.append(root)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(folders, "_AGAIN_S", 0.01)
    async with open_services(settings) as services:
        monkeypatch.setattr(services.folders, "_watch_folder", no_thread)
        running = asyncio.create_task(services.folders.run())
        await until(lambda: len(tries) > 1)
        assert not running.done()
        await services.folders.stop()
        await running
