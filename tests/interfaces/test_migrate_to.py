"""`migrate-to` as a person uses it: between real databases, and interrupted at any moment."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cli_kit import run, run_json
from front_door import SETTING_NAMES, Server, running_client, wait_until
from moving_kit import build_corpus, seen_by_a_client
from rest_kit import API, upload
from s3_server import KEY, SECRET, S3Server

from mcp_knowledge.adapters.transfer.state import MOVING
from mcp_knowledge.settings import Settings, load_settings

STALLED = 4711  # an advisory lock
STALL = f"""
    CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock_shared({STALLED}); RETURN NEW; END';
    CREATE TRIGGER stall BEFORE INSERT ON {{table}} FOR EACH ROW EXECUTE FUNCTION stall()"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a corpus that no test changes."""
    data_dir = tmp_path_factory.mktemp("corpus") / "data"
    build_corpus(data_dir)
    return data_dir


@pytest.fixture
def source(corpus: Path, tmp_path: Path) -> Path:
    """A copy of the corpus."""
    return Path(shutil.copytree(corpus, tmp_path / "data"))


def on_server(data_dir: Path, dsn: str, **changes: Any) -> Settings:
    return load_settings(data_dir=data_dir, database_driver="postgres", database_url=dsn, **changes)


def files_in(folder: Path) -> dict[str, str]:
    """The originals and their hashes; what lies in the folder itself is none."""
    found = (path for path in folder.glob("*/**/*") if path.is_file() and "uploads" not in path.parts)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


async def test_a_moved_corpus_answers_as_before_and_moves_back(source: Path, tmp_path: Path, postgres_dsn: str) -> None:
    before = await seen_by_a_client(load_settings(data_dir=source))
    report = run_json(source, "migrate-to", "postgres", "--database-url", postgres_dsn)
    assert report["ok"] and report["beginning"] == "new" and report["originals"]["inPlace"]
    rows = {item["table"]: item["rows"] for item in report["tables"]}
    assert all(rows[name] for name in rows if name != "early_vectors")
    assert rows["full text"] == rows["chunks"] == rows["chunk_vectors"]
    assert await seen_by_a_client(on_server(source, postgres_dsn)) == before

    back = tmp_path / "back"
    variables = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": postgres_dsn}
    report = run_json(source, "migrate-to", "sqlite", "--into", str(back), **variables)
    assert report["ok"] and not report["originals"]["inPlace"]
    assert files_in(back / "documents") == files_in(source / "documents")
    assert await seen_by_a_client(load_settings(data_dir=back)) == before
    assert await seen_by_a_client(load_settings(data_dir=source)) == before


async def test_a_moved_corpus_goes_on_growing(source: Path, postgres_dsn: str) -> None:
    highest = highest_numbers(source)
    assert run(source, "migrate-to", "postgres", "--database-url", postgres_dsn).returncode == 0
    server = Server(source, {"DATABASE_DRIVER": "postgres", "DATABASE_URL": postgres_dsn}).start()
    try:
        assert server.add("new.md", b"# New\n\nSomething about zebras.\n")["status"] == "ready"
        hits = server.request("POST", f"{API}/search", json={"query": "zebras", "mode": "lexical"}).json()["hits"]
        assert [hit["title"] for hit in hits] == ["New"]
    finally:
        server.stop()
    with psycopg.connect(postgres_dsn) as connection:
        for table, number in highest.items():
            key = {"documents": "document_no", "chunks": "chunk_no", "jobs": "job_no"}[table]
            (newest,) = connection.execute(f"SELECT max({key}) FROM {table}").fetchone() or (0,)
            assert newest > number  # also above those that were deleted


def highest_numbers(data_dir: Path) -> dict[str, int]:
    """The highest numbers that were ever given."""
    import sqlite3

    with sqlite3.connect(data_dir / "app.db") as connection:
        found = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
    return {name: found[name] for name in ("documents", "chunks", "jobs")}


@pytest.mark.slow
def test_a_killed_move_goes_on_where_it_was_and_is_served_only_when_complete(source: Path, postgres_dsn: str) -> None:
    for table in ("revisions", "chunk_vectors", "chunk_terms"):
        kill_at(table, source, postgres_dsn)
        variables = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": postgres_dsn}
        refused = run(source, "status", **variables)
        assert refused.returncode == 1 and "migrate-to" in refused.stderr
    report = run_json(source, "migrate-to", "postgres", "--database-url", postgres_dsn)
    assert report["ok"] and report["beginning"] == "resumed"
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("SELECT 1 FROM meta WHERE key = %s", (MOVING,)).fetchone() is None
        graph = connection.execute("SELECT 1 FROM pg_indexes WHERE indexname = 'chunk_vectors_graph'").fetchone()
        assert graph is not None


def kill_at(table: str, source: Path, dsn: str) -> None:
    """Kill a move while it writes its first rows into a table."""
    clean = {name: value for name, value in os.environ.items() if name not in SETTING_NAMES}
    command = [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(source)]
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(STALL.format(table=table))
        connection.execute("SELECT pg_advisory_lock(%s)", (STALLED,))
        process = subprocess.Popen(
            [*command, "migrate-to", "postgres", "--database-url", dsn],
            env=clean,
            cwd=source.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"  # others use the same key
        waiting = f"SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND {here} AND NOT granted"
        wait_until(lambda: connection.execute(waiting, (STALLED,)).fetchone(), what=f"rows to be written into {table}")
        process.send_signal(signal.SIGKILL)
        process.wait()
        connection.execute("SELECT pg_advisory_unlock(%s)", (STALLED,))
        left = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        wait_until(lambda: connection.execute(left).fetchone() is None, what="the killed process's connections to end")
        connection.execute("DROP FUNCTION stall CASCADE")


async def test_a_source_that_changed_since_is_moved_anew(source: Path, postgres_dsn: str) -> None:
    kill_at("chunk_vectors", source, postgres_dsn)
    async with running_client(load_settings(data_dir=source)) as client:
        await upload(client, "late.txt", b"This came late.")
    report = run_json(source, "migrate-to", "postgres", "--database-url", postgres_dsn)
    assert report["ok"] and report["beginning"] == "restarted"
    async with running_client(on_server(source, postgres_dsn)) as client:
        names = {item["originalFilename"] for item in (await client.get(f"{API}/documents")).json()["items"]}
    assert "late.txt" in names


def test_originals_move_into_a_bucket_with_the_environment_that_serves_them(
    source: Path, postgres_dsn: str, s3_server: S3Server
) -> None:
    bucket = s3_server.new_bucket()
    variables = {
        "DATABASE_DRIVER": "postgres",
        "DATABASE_URL": postgres_dsn,
        "STORAGE_DRIVER": "s3",
        "S3_BUCKET": bucket.name,
        "S3_ENDPOINT": bucket.endpoint,
        "S3_REGION": bucket.region,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    originals = files_in(source / "documents")
    report = run_json(source, "migrate-to", "postgres", **variables)
    assert report["ok"] and report["originals"]["files"] == len(originals) == len(s3_server.keys(bucket))
    server = Server(source, variables).start()
    try:
        documents = server.request("GET", f"{API}/documents").json()["items"]
        contents = [server.request("GET", f"{API}/documents/{item['id']}/file").content for item in documents]
    finally:
        server.stop()
    assert {hashlib.sha256(content).hexdigest() for content in contents} <= set(originals.values())
    assert len(contents) > 4


def test_missing_and_damaged_originals_of_the_source_are_named_and_stop_nothing(
    source: Path, tmp_path: Path, postgres_dsn: str
) -> None:
    missing, damaged = sorted(files_in(source / "documents"))[:2]
    (source / "documents" / missing).unlink()
    (source / "documents" / damaged).write_bytes(b"something else")
    target = tmp_path / "new"
    serving = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": postgres_dsn, "DATA_DIR": str(target)}
    report = run_json(source, "migrate-to", "postgres", **serving)
    assert report["ok"]
    assert report["originals"]["missingInSource"] == [missing]
    assert report["originals"]["damagedInSource"] == [damaged]
    assert files_in(target / "documents") == files_in(source / "documents")


def test_what_is_in_use_or_not_empty_or_not_there_is_refused(source: Path, tmp_path: Path, postgres_dsn: str) -> None:
    to_postgres = ("migrate-to", "postgres", "--database-url", postgres_dsn)
    server = Server(source).start()
    try:
        served = run(source, *to_postgres)
    finally:
        server.stop()
    assert served.returncode == 1 and server.url in served.stderr

    nothing = run(tmp_path / "nothing", *to_postgres)
    assert nothing.returncode == 1 and "no database" in nothing.stderr

    assert run(source, *to_postgres).returncode == 0
    again = run(source, *to_postgres)
    assert again.returncode == 1 and "already holds a corpus" in again.stderr

    nowhere = run(source, "migrate-to", "postgres")
    assert nowhere.returncode == 2 and "--database-url" in nowhere.stderr
    wrong_way = run(source, "migrate-to", "sqlite", "--into", str(tmp_path / "other"))
    assert wrong_way.returncode == 2 and "DATABASE_DRIVER" in wrong_way.stderr


def test_a_process_that_only_answers_is_in_use_too(tmp_path: Path, postgres_dsn: str) -> None:
    service = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": postgres_dsn}
    server = Server(tmp_path / "data", service | {"ROLE": "api"}).start()
    try:
        refused = run(tmp_path / "data", "migrate-to", "sqlite", "--into", str(tmp_path / "other"), **service)
    finally:
        server.stop()
    assert refused.returncode == 1 and "at work" in refused.stderr


def test_a_storage_with_originals_of_another_corpus_is_refused(source: Path, tmp_path: Path, postgres_dsn: str) -> None:
    other = tmp_path / "other" / "originals" / "0" / f"rev_{'0' * 32}"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"somebody else's")
    storage = ("--storage-path", str(tmp_path / "other"))
    for _ in range(2):  # the refusal is no beginning
        refused = run(source, "migrate-to", "postgres", "--database-url", postgres_dsn, *storage)
        assert refused.returncode == 1 and "originals of another" in " ".join(refused.stderr.split())
    assert [*files_in(tmp_path / "other")] == [other.relative_to(tmp_path / "other").as_posix()]
    assert run(source, "status", DATABASE_DRIVER="postgres", DATABASE_URL=postgres_dsn).returncode == 0
