"""Numbered migrations (`migrations/NNN_name.sql`), each applied once, however many processes start together."""

import time
from pathlib import Path
from typing import Any

import psycopg

from mcp_knowledge.adapters.rows.dialect import Row
from mcp_knowledge.adapters.rows.migrations import Migration, migrations_in, newer_database
from mcp_knowledge.errors import StartupError

_OLDEST_SERVER = 15
_OLDEST_PGVECTOR = (0, 7)
_LOCK = 0x4D43504B  # "MCPK"; of the advisory lock that one process at a time migrates under
_LOCK_WAIT_S = 120.0
_LOCK_POLL_S = 0.1
_VERSIONS = "mcp_knowledge_migrations"  # its name tells our databases from other programs'


def migrations() -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    return migrations_in(Path(__file__).parent / "migrations")


def migrate_server(connection: "psycopg.Connection[Row]", dimensions: int) -> int:
    """Check the server, then apply what is missing; the number of the newest migration.

    Args:
        connection: in autocommit mode.
        dimensions: length of the vectors; fixed when the database is made.

    Raises:
        StartupError: with the sentence for the user; nothing was changed.
    """
    _check_server(connection)
    steps = migrations()
    if applied_migration(connection) < steps[-1].number:
        _migrate(connection, steps, dimensions)
    applied = applied_migration(connection)
    if applied > steps[-1].number:
        raise StartupError(newer_database(applied, steps[-1].number, "DATABASE_URL to another database"))
    _check_dimensions(connection, dimensions)
    return applied


def applied_migration(connection: "psycopg.Connection[Row]") -> int:
    """The number of the newest migration in this database, 0 for a new one.

    Raises:
        StartupError: it is another program's.
    """
    if _value(connection, "SELECT to_regclass(%s) IS NOT NULL", _VERSIONS):
        return int(_value(connection, f"SELECT coalesce(max(number), 0) FROM {_VERSIONS}"))
    if _value(connection, "SELECT to_regclass('documents') IS NOT NULL OR to_regclass('jobs') IS NOT NULL"):
        raise StartupError(
            "The PostgreSQL database belongs to another program. Nothing was changed. "
            "Set DATABASE_URL to a database of its own."
        )
    return 0


def _check_server(connection: "psycopg.Connection[Row]") -> None:
    version = connection.info.server_version
    if version < _OLDEST_SERVER * 10_000:
        raise StartupError(f"PostgreSQL {version // 10_000} is too old: version {_OLDEST_SERVER} or later is needed.")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StartupError(f"The PostgreSQL database is encoded in {encoding}: create one with ENCODING 'UTF8'.")
    if _value(connection, "SELECT pg_is_in_recovery()"):
        raise StartupError("The PostgreSQL server is a read-only replica: set DATABASE_URL to the primary server.")
    _check_pgvector(connection)


def _check_pgvector(connection: "psycopg.Connection[Row]") -> None:
    installed = _value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = installed or _value(
        connection, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    )
    oldest = ".".join(map(str, _OLDEST_PGVECTOR))
    if version is None:
        raise StartupError(
            f"The PostgreSQL server has no pgvector: install the extension 'vector' ({oldest} or later) on the server."
        )
    if tuple(int(part) for part in str(version).split(".")[:2]) < _OLDEST_PGVECTOR:
        update = " and run ALTER EXTENSION vector UPDATE" if installed else ""
        raise StartupError(f"pgvector {version} is too old: install version {oldest} or later on the server{update}.")
    if installed is None:
        _create_extension(connection)


def _create_extension(connection: "psycopg.Connection[Row]") -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.InsufficientPrivilege:
        raise StartupError(
            "The database user may not install pgvector: let an administrator run CREATE EXTENSION vector in it once."
        ) from None
    except psycopg.errors.UniqueViolation:
        pass  # another process has made it at the same time


def _migrate(connection: "psycopg.Connection[Row]", steps: tuple[Migration, ...], dimensions: int) -> None:
    """Apply what is missing, under a lock: whoever waits for it finds the steps done."""
    _take_lock(connection)
    try:
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {_VERSIONS} (number integer PRIMARY KEY, name text NOT NULL, "
            "applied_at timestamptz NOT NULL DEFAULT now())"
        )
        for step in steps:
            if applied_migration(connection) >= step.number:
                continue
            with connection.transaction():
                script = step.path.read_text("utf-8").replace("{dimensions}", str(dimensions))
                connection.execute(script)
                connection.execute(f"INSERT INTO {_VERSIONS} (number, name) VALUES (%s, %s)", (step.number, step.name))
    except psycopg.errors.InsufficientPrivilege:
        raise StartupError(
            "The database user may not create tables: let it own the database, or GRANT CREATE ON SCHEMA public to it."
        ) from None
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def _take_lock(connection: "psycopg.Connection[Row]") -> None:
    """By asking again and again: a session that waits inside the server would hold up CREATE INDEX CONCURRENTLY."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while not _value(connection, "SELECT pg_try_advisory_lock(%s)", _LOCK):
        if time.monotonic() > deadline:
            raise StartupError("Another process has been migrating the database for minutes. Try again later.")
        time.sleep(_LOCK_POLL_S)


def _check_dimensions(connection: "psycopg.Connection[Row]", dimensions: int) -> None:
    made_with = _value(
        connection,
        "SELECT atttypmod FROM pg_attribute WHERE attrelid = 'chunk_vectors'::regclass AND attname = 'vector'",
    )
    if made_with != dimensions:
        raise StartupError(
            f"The database holds vectors of {made_with} numbers and EMBEDDING_DIMENSIONS is {dimensions}: "
            "set it back, or set DATABASE_URL to a new database."
        )


def _value(connection: "psycopg.Connection[Row]", statement: str, *params: object) -> Any:
    row = connection.execute(statement, params).fetchone()
    return row[0] if row else None
