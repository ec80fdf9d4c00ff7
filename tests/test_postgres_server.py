"""The PostgreSQL server of the tests: it ends with its owner, keeps its data over a crash, and hands out databases."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from front_door import wait_until
from postgres_server import Databases, PostgresServer
from psycopg.conninfo import make_conninfo

TESTS = Path(__file__).parent


def rows(dsn: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def postmaster_of(dsn: str) -> psutil.Process:
    """The server's first process and where its data are."""
    directory = Path(str(rows(dsn, "SHOW data_directory")[0][0]))
    return psutil.Process(int((directory / "postmaster.pid").read_text().split()[0]))


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_the_server_ends_with_its_owner_and_its_files_go(ending: signal.Signals) -> None:
    owner = subprocess.Popen([sys.executable, "-u", TESTS / "postgres_server.py"], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    dsn = owner.stdout.readline().strip()
    postmaster = postmaster_of(dsn)
    directory = Path(postmaster.cwd())
    owner.send_signal(ending)
    owner.communicate()
    wait_until(
        lambda: not postmaster.is_running() or postmaster.status() == psutil.STATUS_ZOMBIE, what="the server's end"
    )
    wait_until(lambda: not directory.parent.exists(), what="the removal of its files")


def test_a_crash_keeps_what_was_committed_and_the_address(own_postgres: PostgresServer) -> None:
    dsn = own_postgres.create_database("kept")
    rows(dsn, "CREATE TABLE notes AS SELECT 'written' AS text")
    own_postgres.halt()
    with pytest.raises(psycopg.OperationalError):
        rows(dsn, "SELECT 1")
    own_postgres.resume()
    assert rows(dsn, "SELECT text FROM notes") == [("written",)]
    own_postgres.restart()
    assert rows(dsn, "SELECT text FROM notes") == [("written",)]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that the server's user reaches when the tests run as root; pytest's own is for root alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "postgres"


def test_a_folder_keeps_its_data_behind_a_password_from_one_start_to_the_next(open_folder: Path) -> None:
    with PostgresServer(open_folder) as server:
        first = server.create_database("kept")
        rows(first, "CREATE TABLE notes AS SELECT 'written' AS text")
        guess = make_conninfo(first, password="guess")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            rows(guess, "SELECT 1")
    with PostgresServer(open_folder) as server:
        assert rows(server.dsn("kept"), "SELECT text FROM notes") == [("written",)]


def test_a_folder_that_another_server_uses_is_left_alone(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postgres_server.PREDECESSOR_S", 0.2)
    with PostgresServer(open_folder) as first:
        with pytest.raises(RuntimeError, match="already runs"):
            PostgresServer(open_folder).start()
        assert rows(first.dsn(), "SELECT 1") == [(1,)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to hand PostgreSQL to another user")
def test_root_is_told_when_the_folder_is_closed_to_the_user_who_runs_postgres(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(RuntimeError, match="choose a folder under one where everyone may go"):
        PostgresServer(tmp_path / "closed").start()


def test_each_test_has_a_database_with_the_schema_for_itself(postgres_server: Databases, postgres_dsn: str) -> None:
    other = postgres_server.create_database("another_clone", str(rows(postgres_dsn, "SELECT current_database()")[0][0]))
    try:
        rows(other, "CREATE TABLE only_here (number integer)")
        assert rows(postgres_dsn, "SELECT to_regclass('documents') IS NOT NULL, to_regclass('only_here')") == [
            (True, None)
        ]
    finally:
        postgres_server.drop_database("another_clone")


def test_an_empty_database_lacks_even_the_extension(empty_postgres_dsn: str) -> None:
    assert rows(empty_postgres_dsn, "SELECT extname FROM pg_extension WHERE extname = 'vector'") == []
