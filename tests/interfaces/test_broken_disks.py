"""Disks that are full, gone, broken or not ours: one clear sentence, nothing written over, all goes on afterwards."""

import asyncio
import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import httpx2
import pytest
from cli_kit import run_json
from front_door import add, running_client, until, wait_finished
from rest_kit import API, app_of, assert_error, upload

from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.app import open_services
from mcp_knowledge.errors import StartupError, disk_fault
from mcp_knowledge.ports import Vector
from mcp_knowledge.settings import Settings, load_settings

TEXT = b"The harbour is quiet at night."
_PAGE_BYTES = 8192
_NOBODY = 65534


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process can grow."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@contextmanager
def away(folder: Path) -> Iterator[None]:
    """The folder's disk is not there, but an empty mount point."""
    elsewhere = folder.rename(folder.with_name("elsewhere"))
    folder.mkdir()
    try:
        yield
        folder.rmdir()  # fails when anything was written there
    finally:
        elsewhere.rename(folder)


@contextmanager
def another_user() -> Iterator[None]:
    """Root may write everywhere: be somebody else."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


async def search(client: httpx2.AsyncClient, **fields: str) -> httpx2.Response:
    return await client.post(f"{API}/search", json={"query": "harbour", **fields})


async def checks(client: httpx2.AsyncClient) -> dict[str, bool]:
    """What `/ready` says, while `/health` knows the process as alive."""
    assert (await client.get("/health")).status_code == 200
    answer = await client.get("/ready")
    found: dict[str, bool] = answer.json()["checks"]
    assert answer.status_code == (200 if all(found.values()) else 503)
    return found


async def assert_only_reads_go_on(client: httpx2.AsyncClient, document_id: str, *told: str) -> None:
    assert (await search(client)).json()["hits"]
    assert (await client.get(f"{API}/documents")).json()["items"]
    sent = await client.post(f"{API}/documents", files={"file": ("b.txt", TEXT + b" Again.")})
    for answer in (
        sent,
        await client.post(f"{API}/collections", json={"name": "Letters"}),
        await client.patch(f"{API}/documents/{document_id}", json={"title": "Night"}),
        await client.delete(f"{API}/documents/{document_id}"),
    ):
        assert_error(answer, 503, "SERVICE_UNAVAILABLE", *told)
    found = await checks(client)
    assert not found["database"] and not found["storage"]


async def assert_all_goes_on(client: httpx2.AsyncClient) -> None:
    assert all((await checks(client)).values())
    assert (await add(client, "b.txt", TEXT + b" Again."))["status"] == "ready"
    assert len((await client.get(f"{API}/documents")).json()["items"]) == 2


async def test_on_a_full_disk_reads_go_on_and_everything_does_when_there_is_room(
    client: httpx2.AsyncClient, settings: Settings
) -> None:
    document = await add(client, "a.txt", TEXT)

    with full_disk():
        await assert_only_reads_go_on(client, document["id"])

    await assert_all_goes_on(client)
    assert not list(settings.data_dir.rglob("*.upload"))


async def test_a_document_that_a_full_disk_keeps_from_being_written_is_when_there_is_room(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_knowledge.services.outages._FIRST_PAUSE_S", 0.01)
    is_full, embed = asyncio.Event(), MiniLmEmbedder.embed_passages

    async def embed_when_full(self: MiniLmEmbedder, texts: Sequence[str]) -> Vector:
        await is_full.wait()
        return await embed(self, texts)

    monkeypatch.setattr(MiniLmEmbedder, "embed_passages", embed_when_full)
    receipt = await upload(client, "a.txt", TEXT)
    outage = app_of(client).state.services.worker._load.outage
    with full_disk():
        is_full.set()
        await until(lambda: outage.here)

    document = await wait_finished(client, receipt["id"])
    assert (document["status"], document["latestError"]) == ("ready", None)
    assert (await search(client)).json()["hits"]


async def test_while_the_data_directory_is_gone_nothing_is_written_to_what_is_in_its_place(
    client: httpx2.AsyncClient, settings: Settings
) -> None:
    document = await add(client, "a.txt", TEXT)

    with away(settings.data_dir):
        await assert_only_reads_go_on(client, document["id"], "is gone", "Nothing is written")
        assert_error(await client.get(f"{API}/documents/{document['id']}/file"), 503, "SERVICE_UNAVAILABLE", "is gone")

    await assert_all_goes_on(client)


async def test_a_database_that_was_replaced_under_the_server_is_left_alone(
    client: httpx2.AsyncClient, settings: Settings
) -> None:
    await add(client, "a.txt", TEXT)
    path = settings.database_path
    kept = path.rename(path.with_name("kept.db"))
    path.write_bytes(kept.read_bytes())
    before = path.read_bytes()

    assert_error(await client.post(f"{API}/collections", json={"name": "Letters"}), 503, "SERVICE_UNAVAILABLE", "Start")
    assert not (await checks(client))["database"]
    assert path.read_bytes() == before
    kept.replace(path)


async def test_an_original_that_is_missing_is_told_and_the_others_are_there(
    client: httpx2.AsyncClient, settings: Settings
) -> None:
    lost, other = await add(client, "a.txt", TEXT), await add(client, "b.txt", TEXT + b" Again.")
    originals = {path.read_bytes(): path for path in settings.blobs_path.rglob("rev_*")}
    originals[TEXT].unlink()

    answer = await client.get(f"{API}/documents/{lost['id']}/file")
    assert_error(answer, 404, "DOCUMENT_CONTENT_UNAVAILABLE", "original is missing")
    assert (await client.get(f"{API}/documents/{other['id']}/file")).status_code == 200
    for left in (b"", TEXT[:-1], TEXT + b"."):
        originals[TEXT].write_bytes(left)
        for headers in ({}, {"Range": "bytes=0-3"}):
            answer = await client.get(f"{API}/documents/{lost['id']}/file", headers=headers)
            assert_error(answer, 404, "DOCUMENT_CONTENT_UNAVAILABLE", "or damaged")
    assert len((await search(client)).json()["hits"]) == 2
    assert all((await checks(client)).values())


@pytest.fixture
async def data_dir(tmp_path: Path) -> Path:
    """A data directory with one document, and no server."""
    settings = load_settings(data_dir=tmp_path / "data")
    async with running_client(settings) as client:
        await add(client, "a.txt", TEXT)
    return settings.data_dir


def root_page(path: Path, name: str) -> int:
    """Where a table or index begins in the file."""
    connection = apsw.Connection(str(path))
    (row,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,))
    connection.close()
    return int(row[0])


@pytest.mark.parametrize(
    ("table", "broken", "working"),
    [
        ("documents", ("hybrid", "vector", "lexical"), ()),
        ("chunks", ("hybrid", "vector", "lexical"), ()),
        ("chunk_vectors", ("hybrid", "vector"), ("lexical",)),
        ("chunk_fts_data", ("hybrid", "lexical"), ("vector",)),
    ],
)
async def test_a_damaged_page_is_told_and_what_needs_it_not_goes_on(
    data_dir: Path, table: str, broken: tuple[str, ...], working: tuple[str, ...]
) -> None:
    path = data_dir / "app.db"
    start = (root_page(path, table) - 1) * _PAGE_BYTES
    content = bytearray(path.read_bytes())
    content[start : start + _PAGE_BYTES] = bytes(range(7, 7 + 128)) * (_PAGE_BYTES // 128)
    path.write_bytes(content)

    async with running_client(load_settings(data_dir=data_dir)) as client:
        for mode in broken:
            answer = await search(client, mode=mode)
            assert_error(answer, 503, "SERVICE_UNAVAILABLE", "damaged", "restore a backup")
        for mode in working:
            assert (await search(client, mode=mode)).json()["hits"]
        assert not (await checks(client))["database"]

    damaged = path.read_bytes()[start : start + _PAGE_BYTES]
    assert damaged == content[start : start + _PAGE_BYTES]


async def test_a_database_that_is_cut_off_under_the_server_ends_no_process(data_dir: Path) -> None:
    async with running_client(load_settings(data_dir=data_dir)) as client:
        os.truncate(data_dir / "app.db", _PAGE_BYTES)

        answers = [await search(client, mode=mode) for mode in ("hybrid", "vector", "lexical")]
        assert {answer.status_code for answer in answers} <= {200, 503}  # 200 where all pages were in memory
        assert_error(await client.get(f"{API}/jobs"), 503, "SERVICE_UNAVAILABLE", "damaged", "restore a backup")
        assert not (await checks(client))["database"]


async def test_a_passage_whose_document_an_index_misses_is_told(client: httpx2.AsyncClient, settings: Settings) -> None:
    await add(client, "a.txt", TEXT)
    connection = apsw.Connection(str(settings.database_path))
    connection.execute("UPDATE documents SET status = 'deleted'")  # as an index that lost its id would have it
    connection.close()

    assert_error(await search(client), 503, "SERVICE_UNAVAILABLE", "damaged", "mcp-knowledge verify")


def times_of_files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


async def refused(data_dir: Path) -> str:
    """The sentence with which a start is refused. It changes no file."""
    before = times_of_files(data_dir)
    with pytest.raises(StartupError) as failure:
        async with open_services(load_settings(data_dir=data_dir)):
            pass
    assert times_of_files(data_dir) == before
    return str(failure.value)


@pytest.mark.parametrize("left", [None, b""])
async def test_no_empty_database_is_made_beside_the_originals_of_a_lost_one(data_dir: Path, left: bytes | None) -> None:
    path = data_dir / "app.db"
    path.unlink()
    if left is not None:
        path.write_bytes(left)

    told = await refused(data_dir)

    assert str(path) in told and "missing or empty" in told and "restore a backup" in told
    assert path.exists() == (left is not None)


@pytest.mark.parametrize("place", ["app.db", "locks", "documents/owner"])
async def test_what_this_user_may_not_write_or_read_is_named_at_the_start(data_dir: Path, place: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others as a whole
        open_dir = shutil.copytree(data_dir, Path(folder) / "data")
        for path in (Path(folder), open_dir, *open_dir.rglob("*")):
            path.chmod(0o777)
        (open_dir / place).chmod(0o000 if place.endswith("owner") else 0o555)
        with another_user():
            told = await refused(open_dir)
        for path in open_dir.rglob("*"):
            path.chmod(0o777)

    assert "permission is denied. Give the user of the service" in told
    assert str(open_dir / place.partition("/")[0]) in told


def test_a_full_disk_at_the_first_start_is_told_in_one_line(data_dir: Path) -> None:
    def limited(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mcp_knowledge", "--data-dir", *arguments]
        return subprocess.run(command, cwd=data_dir.parent, capture_output=True, text=True, timeout=60)

    with full_disk():
        made = limited(str(data_dir.with_name("new")), "status")
        ingested = limited(str(data_dir), "ingest", str(data_dir / "app.db"))

    assert made.returncode == 1 and made.stderr.count("\n") == 1 and "app.db cannot be used" in made.stderr
    assert ingested.returncode == 1 and "Traceback" not in ingested.stderr + ingested.stdout
    assert not any(run_json(data_dir.with_name("new"), "status")["documents"].values())


async def test_a_disk_without_a_free_block_is_told_as_full(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_knowledge.adapters.sqlite.file_state._LEAST_FREE_BYTES", 1 << 62)
    with full_disk(), pytest.raises(StartupError, match="The disk of the database is full"):
        async with open_services(load_settings(data_dir=data_dir)):
            pass


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOENT, errno.EIO, errno.EXDEV])
def test_every_fault_of_a_disk_is_a_sentence(number: int) -> None:
    sentence = disk_fault(OSError(number, os.strerror(number)))
    assert sentence.endswith(".") and (number == errno.EXDEV or ". " in sentence)
