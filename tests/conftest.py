"""Fixtures of every test; what they are made of is in front_door.py."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest
from front_door import SETTING_NAMES, Server, running_client
from s3_server import S3Server

from mcp_knowledge.settings import Settings, load_settings

pytest_plugins = ["postgres_fixtures"]


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own environment must not change what is tested."""
    for name in SETTING_NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(Settings.model_config, "env_file", None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked `both_databases` on each of them."""
    if "settings" in metafunc.fixturenames and metafunc.definition.get_closest_marker("both_databases"):
        metafunc.parametrize("settings", ("sqlite", "postgres"), indirect=True)


@pytest.fixture
def settings(tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """A data directory of the test's own, and a database on the server for a test that runs on both."""
    folder = tmp_path / "data"
    if getattr(request, "param", "sqlite") == "sqlite":
        return load_settings(data_dir=folder)
    dsn = request.getfixturevalue("postgres_dsn")
    return load_settings(data_dir=folder, database_driver="postgres", database_url=dsn)


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    """A folder of temporary files, for what is fetched."""
    path = tmp_path / "uploads"
    path.mkdir()
    return path


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the real application, running in this process with its worker."""
    async with running_client(settings) as connected:
        yield connected


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real server process, shared by a module's tests."""
    running = Server(tmp_path_factory.mktemp("server") / "data").start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An S3 server over HTTP, shared by all tests; each takes a bucket of its own."""
    running = S3Server()
    yield running
    running.stop()
