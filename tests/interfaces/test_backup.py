"""`backup` and `restore` as an operator uses them: beside a working server, and killed at any moment."""

import asyncio
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from backup_kit import backed_up, members, steps_of
from cli_kit import run, run_json
from front_door import Server, add, running_client, until, wait_until
from rest_kit import API
from s3_server import KEY, SECRET, S3Server
from zip_files import zip_of

from mcp_knowledge.adapters.file_locks import FileLocks
from mcp_knowledge.errors import StartupError
from mcp_knowledge.interfaces.cli.context import with_services
from mcp_knowledge.interfaces.cli.ingest import reindex_documents
from mcp_knowledge.interfaces.cli.restoring import RestoreReport, restore_from
from mcp_knowledge.interfaces.cli.verifying import verify_corpus
from mcp_knowledge.settings import Settings, load_settings

QUERIES = ("travel costs", "INV-0042", "who approves the lease", "glyc*")


def restored(file: Path, settings: Settings) -> RestoreReport:
    return restore_from(settings, file, quiet=True)


async def fill(settings: Settings) -> None:
    async with running_client(settings) as client:
        await add(client, "policy.md", b"# Travel policy\n\nTravel costs need form INV-0042.\n")
        await add(client, "lease.md", b"# Lease\n\nThe landlord approves the lease of hall 7.\n")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The settings of a corpus that no test changes."""
    settings = load_settings(data_dir=tmp_path_factory.mktemp("corpus") / "data")
    asyncio.run(fill(settings))
    return settings


def originals(settings: Settings) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in settings.blobs_path.rglob("rev_*")}


Ask = Callable[[str, str, Any], Any]


def seen(ask: Ask) -> dict[str, Any]:
    """What a client sees: every document with its passages, and answers with their scores."""
    found: dict[str, Any] = {"keys": ask("GET", "/api-keys", None), "archives": ask("GET", "/archives", None)}
    found["documents"] = ask("GET", "/documents?limit=100", None)
    for document in found["documents"]["items"]:
        found[document["id"]] = ask("GET", f"/documents/{document['id']}/chunks?limit=100", None)
    for query in QUERIES:
        for mode in ("lexical", "vector", "hybrid"):
            answer = ask("POST", "/search", {"query": query, "mode": mode})
            found[f"{mode} {query}"] = [(hit["chunkId"], hit["score"], hit["ranking"]) for hit in answer["hits"]]
    return found


def seen_in(settings: Settings) -> dict[str, Any]:
    """The same of a data directory that is served in this process."""

    async def look() -> dict[str, Any]:
        async with running_client(settings) as client:
            loop = asyncio.get_running_loop()

            async def request(method: str, path: str, body: Any) -> Any:
                answer = await client.request(method, API + path, json=body)
                assert answer.status_code == 200, answer.text
                return answer.json()

            def ask(method: str, path: str, body: Any) -> Any:
                return asyncio.run_coroutine_threadsafe(request(method, path, body), loop).result()

            return await asyncio.to_thread(seen, ask)

    return asyncio.run(look())


def chunk_ids(data: dict[str, Any]) -> list[list[str]]:
    return [[chunk["id"] for chunk in data[document["id"]]["items"]] for document in data["documents"]["items"]]


def test_a_server_is_backed_up_while_it_works_and_answers_alike_after_a_restore(tmp_path: Path) -> None:
    data_dir, copy = tmp_path / "data", load_settings(data_dir=tmp_path / "copy")
    server = Server(data_dir).start()
    stopped = threading.Event()
    failures: list[str] = []

    def work() -> None:
        while not stopped.is_set():
            text = f"# Report\n\nGlycol of tank {os.urandom(8).hex()} is fine.\n" * 20
            receipt = server.upload("report.md", text.encode())
            answer = server.request("POST", f"{API}/search", json={"query": "glycol tank"})
            if answer.status_code != 200:
                failures.append(answer.text)
            server.request("DELETE", f"{API}/documents/{receipt['id']}")

    try:
        server.add("policy.md", b"# Travel policy\n\nTravel costs need form INV-0042.\n")
        server.add("lease.md", b"# Lease\n\nThe landlord approves the lease of hall 7.\n")
        server.request("POST", f"{API}/api-keys", json={"name": "A program", "scopes": ["read"]})
        working = threading.Thread(target=work)
        working.start()
        busy = run_json(data_dir, "backup", str(tmp_path / "busy.tar"))
        assert verify_corpus(load_settings(data_dir=data_dir), repair=False, quiet=True).ok  # in the midst of it
        stopped.set()
        working.join()
        archive = zip_of(("letters/one.txt", b"Glycol is stored in the cellar."))
        server.request("POST", f"{API}/documents", files={"file": ("letters.zip", archive)})
        wait_until(lambda: quiet(server), what="all work to end")
        before = seen(lambda method, path, body: server.request(method, API + path, json=body).json())
        calm = run_json(data_dir, "backup", str(tmp_path / "calm.tar"))
        left = {path.name for path in (data_dir / "documents" / "originals").rglob("rev_*")}
    finally:
        stopped.set()
        server.stop()

    assert not failures
    assert busy["ok"] and calm["ok"] and calm["originals"]["count"] == 3
    assert left == {original.rpartition("/")[2] for original in names_in(tmp_path / "calm.tar")}
    assert restored(tmp_path / "busy.tar", settings := load_settings(data_dir=tmp_path / "busy")).ok
    assert verify_corpus(settings, repair=False, quiet=True).ok
    assert restored(tmp_path / "calm.tar", copy).ok
    assert seen_in(copy) == before
    with_services(copy, lambda services: reindex_documents(services, None, only_stale=False, wait=True, quiet=True))
    assert chunk_ids(seen_in(copy)) == chunk_ids(before)


def names_in(file: Path) -> list[str]:
    return [info.name for info, _ in members(file)[2:-1]]


def quiet(server: Server) -> bool:
    queue = server.request("GET", f"{API}/system/status").json()["queue"]
    archives = server.request("GET", f"{API}/archives").json()["items"]
    return not any(queue[name] for name in ("queued", "running", "retrying")) and all(
        item["state"].startswith("completed") for item in archives
    )


def test_a_backup_is_a_private_file_that_other_tools_open(corpus: Settings, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar"
    report = backed_up(corpus, file)

    assert report.ok and file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["backup.tar"]
    found = {info.name: content for info, content in members(file)}
    assert list(found)[:2] == ["manifest.json", "app.db"] and list(found)[-1] == "SHA256SUMS"
    manifest = json.loads(found["manifest.json"])
    assert manifest["format"] == "mcp-knowledge-backup" and manifest["formatVersion"] == 1
    assert {item["name"] for item in manifest["originals"]} == set(list(found)[2:-1])
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "xf", file, "-C", unpacked], check=True)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=unpacked, check=True)


def test_an_older_backup_stays_unless_it_is_to_be_replaced(corpus: Settings, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar"
    file.write_text("an older one")
    with pytest.raises(StartupError, match="is there already"):
        backed_up(corpus, file)
    assert file.read_text() == "an older one"
    assert backed_up(corpus, file, force=True).ok
    with pytest.raises(StartupError, match="is no file"):
        backed_up(corpus, tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["backup.tar"]


def test_lost_originals_are_named_and_the_rest_is_saved(corpus: Settings, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    restored_from(corpus, settings, tmp_path)
    gone, changed = sorted(settings.blobs_path.rglob("rev_*"))
    gone.unlink()
    changed.write_bytes(b"something else")

    told = run(settings.data_dir, "backup", str(tmp_path / "lossy.tar"))

    assert told.returncode == 1
    assert gone.name in told.stdout and changed.name in told.stdout and "The backup is made, but" in told.stdout
    copy = load_settings(data_dir=tmp_path / "copy")
    told = run(copy.data_dir, "restore", str(tmp_path / "lossy.tar"), "--json")
    assert told.returncode == 1
    report = json.loads(told.stdout)
    assert [key.rpartition("/")[2] for key in report["missing"]] == [gone.name]
    assert [key.rpartition("/")[2] for key in report["damaged"]] == [changed.name]
    assert originals(copy) == {changed.name: b"something else"}


def restored_from(source: Settings, target: Settings, folder: Path) -> None:
    backed_up(source, folder / "first.tar")
    restored(folder / "first.tar", target)


def test_originals_in_a_bucket_and_in_a_folder_elsewhere(corpus: Settings, s3_server: S3Server, tmp_path: Path) -> None:
    backed_up(corpus, tmp_path / "backup.tar")
    bucket = s3_server.new_bucket()
    s3 = {
        "storage_driver": "s3",
        "s3_bucket": bucket.name,
        "s3_endpoint": bucket.endpoint,
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
    }
    in_bucket = load_settings(data_dir=tmp_path / "one", **s3)
    assert restored(tmp_path / "backup.tar", in_bucket).ok
    assert verify_corpus(in_bucket, repair=False, quiet=True).ok
    with pytest.raises(StartupError, match="holds originals"):
        restored(tmp_path / "backup.tar", load_settings(data_dir=tmp_path / "two", **s3))
    assert not (tmp_path / "two").exists()

    assert backed_up(in_bucket, tmp_path / "from-bucket.tar").ok
    elsewhere = load_settings(data_dir=tmp_path / "three", storage_path=tmp_path / "files")
    assert restored(tmp_path / "from-bucket.tar", elsewhere).ok
    assert originals(elsewhere) == originals(corpus)
    with pytest.raises(StartupError, match="STORAGE_PATH"):
        restored(tmp_path / "backup.tar", load_settings(data_dir=tmp_path / "four", storage_path=tmp_path / "files"))
    assert not (tmp_path / "four").exists()


def test_a_job_that_ran_is_queued_again(corpus: Settings, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    restored_from(corpus, settings, tmp_path)
    with closing(apsw.Connection(str(settings.database_path))) as connection:
        connection.execute(
            "UPDATE jobs SET status = 'running', worker = 'gone', visible_at_ms = 99999999999999 WHERE job_no = 1"
        )
    backed_up(settings, tmp_path / "running.tar")
    copy = load_settings(data_dir=tmp_path / "copy")
    restored(tmp_path / "running.tar", copy)
    assert with_services(copy, lambda services: services.jobs.list(1, statuses=("queued",)))[0]


async def test_what_is_deleted_while_a_backup_is_made_goes_afterwards(corpus: Settings, tmp_path: Path) -> None:
    settings = load_settings(data_dir=Path(shutil.copytree(corpus.data_dir, tmp_path / "data")))
    locks = FileLocks(settings.data_dir / "locks")
    async with running_client(settings) as client:
        document = (await client.get(f"{API}/documents")).json()["items"][0]
        await locks.keep("backup/another process")
        await client.delete(f"{API}/documents/{document['id']}")

        async def is_gone() -> bool:
            jobs = (await client.get(f"{API}/jobs", params={"documentId": document["id"]})).json()["items"]
            return [job["status"] for job in jobs] == ["completed", "completed"]

        await until(is_gone)
        assert originals(settings) == originals(corpus)
        await locks.drop("backup/another process")
    assert (await asyncio.to_thread(backed_up, settings, tmp_path / "backup.tar")).ok
    assert len(originals(settings)) == len(originals(corpus)) - 1


def moments(steps: int) -> list[int]:
    """Some of all steps, and the last ones."""
    return sorted({*range(1, steps, max(1, steps // 8)), *range(steps - 4, steps + 1)})


def test_a_killed_backup_leaves_nothing_that_looks_like_one(corpus: Settings, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar"
    assert backed_up(corpus, file, force=True).ok  # what it imports is imported by now
    steps, died = steps_of(lambda: backed_up(corpus, file, force=True))
    assert not died
    file.unlink()
    deaths = 0
    for at in moments(steps):
        deaths += steps_of(lambda: backed_up(corpus, file), at)[1]
        if file.exists():  # it had its name already
            assert restored(file, load_settings(data_dir=tmp_path / f"copy-{at}")).ok
            file.unlink()
    assert deaths > 8  # one or two come too late: not every run makes as many steps
    assert backed_up(corpus, file).ok
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "backup"))] == ["backup.tar"]


@pytest.mark.parametrize("is_mount", [False, True], ids=["a folder", "a volume"])
def test_a_killed_restore_leaves_no_half_and_can_be_run_again(
    corpus: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_mount: bool
) -> None:
    backed_up(corpus, tmp_path / "backup.tar")
    targets = tmp_path / "targets"
    settings = load_settings(data_dir=targets / "data")
    if is_mount:  # it cannot be replaced: what is unpacked is moved into it
        monkeypatch.setattr("os.path.ismount", lambda path: str(path) == str(settings.data_dir))

    def restore_anew(die_at: int | None) -> tuple[int, bool]:
        shutil.rmtree(targets, ignore_errors=True)
        settings.data_dir.mkdir(parents=True)
        return steps_of(lambda: restored(tmp_path / "backup.tar", settings), die_at)

    restored(tmp_path / "backup.tar", load_settings(data_dir=tmp_path / "warm"))  # what it imports is imported by now
    steps, died = restore_anew(None)
    assert not died
    deaths = 0
    for at in moments(steps):
        deaths += restore_anew(at)[1]
        if not settings.database_path.exists():
            assert restored(tmp_path / "backup.tar", settings).ok
        assert originals(settings) == originals(corpus)
        assert verify_corpus(settings, repair=False, quiet=True).ok
        assert [path.name for path in targets.iterdir()] == ["data"]
    assert deaths > 8


def test_a_server_on_postgresql_is_told_of_pg_dump(tmp_path: Path) -> None:
    environment = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    told = run(tmp_path / "data", "backup", str(tmp_path / "backup.tar"), **environment)
    assert told.returncode == 1 and "pg_dump" in told.stderr and "docs/backup.md" in told.stderr
    settings = load_settings(data_dir=tmp_path, database_driver="postgres", database_url="postgresql://a@b/c")
    (tmp_path / "backup.tar").write_bytes(b"")
    with pytest.raises(StartupError, match="pg_restore"):
        restored(tmp_path / "backup.tar", settings)
