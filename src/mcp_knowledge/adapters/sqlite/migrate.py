"""Numbered migrations (`migrations/NNN_name.sql`), each applied once, however many processes start together."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.migrations import Migration, migrations_in, newer_database
from mcp_knowledge.adapters.sqlite.drivers import DatabaseFault
from mcp_knowledge.errors import StartupError

MIGRATIONS_DIR = Path(__file__).parent / "migrations"
APPLICATION_ID = 0x4D43504B  # "MCPK": tells our files from other programs' (PRAGMA application_id)


def migrations(directory: Path = MIGRATIONS_DIR) -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    return migrations_in(directory)


def applied_migration(connection: Connection) -> int:
    """The number of the newest migration in this file (PRAGMA user_version), 0 for a new one."""
    return int(next(connection.execute("PRAGMA user_version"))[0])


def check_file(connection: Connection, steps: tuple[Migration, ...]) -> None:
    """Refuse, before anything is written, a file that is not ours or comes from a newer version.

    Raises:
        StartupError: with the sentence for the user.
    """
    applied = applied_migration(connection)
    tables = next(connection.execute("SELECT count(*) FROM sqlite_master"))[0]
    # Asked second: another process may be making the file, and its tables come with the number.
    application_id = next(connection.execute("PRAGMA application_id"))[0]
    if tables and application_id != APPLICATION_ID:
        raise StartupError(
            "The database file belongs to another program. Nothing was changed. Set DATA_DIR to another folder."
        )
    newest = steps[-1].number
    if applied > newest:
        raise StartupError(newer_database(applied, newest, "DATA_DIR to another folder"))


def migrate(connection: Connection, steps: tuple[Migration, ...]) -> int:
    """Apply what is missing; how many steps that was.

    Each step is one transaction together with its number, and looks again inside it: whoever waits for the write lock
    finds the step done.
    """
    done = 0
    for step in steps:
        if applied_migration(connection) >= step.number:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            if applied_migration(connection) < step.number:
                for statement in _statements(step.path.read_text("utf-8")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {step.number}")
                done += 1
            connection.execute("COMMIT")
        except BaseException:
            with suppress(DatabaseFault):  # some failures have ended the transaction already
                connection.execute("ROLLBACK")
            raise
    return done


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
