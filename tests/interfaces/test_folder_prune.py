"""INGEST_DATA_PRUNE: documents go with their files, unless that looks like an accident."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import run
from folder_kit import Office, settled
from front_door import Server, wait_until
from rest_kit import API


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path, ingest_data_prune=True)


def fill(office: Office, count: int) -> list[Path]:
    return [office.write(f"{number:02}.txt", f"text number {number}") for number in range(count)]


def command(office: Office, *arguments: str, **environment: str) -> tuple[int, Any]:
    """`mcp-knowledge … --json`: its exit code and answer."""
    settings = {"INGEST_DATA_DIR": str(office.root), "INGEST_DATA_PRUNE": "true", **environment}
    done = run(office.settings["data_dir"], *arguments, "--json", **settings)
    return done.returncode, json.loads(done.stdout)


async def test_a_document_goes_with_its_file(office: Office) -> None:
    files = fill(office, 20)
    await office.look()
    files[3].unlink()
    files[4].unlink()
    async with office.opened() as look:
        assert look.status["removed"] == 2
        assert len((await settled(look.client)).documents) == 18
        assert await look.finds("text number 3") == set()
    files[3].write_text("text number 3")
    assert "03.txt" in (await office.look()).paths


async def test_more_than_a_tenth_is_held_back_until_it_is_forced(office: Office) -> None:
    files = fill(office, 20)
    await office.look()
    for file in files[:3]:
        file.unlink()
    look = await office.look()
    assert (look.status["removed"], look.status["heldBack"]) == (0, 3)
    assert "3 of the folder's 20 documents" in look.status["heldBackReason"]
    assert "mcp-knowledge scan --force" in look.status["heldBackReason"]
    assert len((await office.look()).documents) == 20
    code, answer = command(office, "scan", "--force")
    assert (code, answer["removed"], answer["heldBack"]) == (0, 3, 0)
    assert len((await office.look()).documents) == 17


async def test_one_document_of_a_few_may_go(office: Office) -> None:
    files = fill(office, 2)
    await office.look()
    files[0].unlink()
    assert (await office.look()).paths == {"01.txt"}


async def test_an_empty_folder_removes_nothing_not_even_by_force(office: Office) -> None:
    (file,) = fill(office, 1)
    await office.look()
    file.unlink()
    look = await office.look()
    assert look.paths == {"00.txt"}
    assert "The folder is empty" in look.status["heldBackReason"]
    _, answer = command(office, "scan", "--force")
    assert (answer["removed"], answer["heldBack"]) == (0, 1)


async def test_a_folder_that_is_gone_removes_nothing(office: Office) -> None:
    fill(office, 2)
    await office.look()
    office.root.rename(office.root.with_name("elsewhere"))
    look = await office.look()
    assert look.status["state"] == "failed"
    assert len(look.documents) == 2


async def test_without_the_setting_nothing_goes_not_even_by_force(office: Office) -> None:
    files = fill(office, 20)
    await office.look(ingest_data_prune=False)
    files[0].unlink()
    _, answer = command(office, "scan", "--force", INGEST_DATA_PRUNE="false")
    assert answer["removed"] == 0
    assert len((await office.look(ingest_data_prune=False)).documents) == 20


async def test_what_did_not_come_from_the_folder_is_never_removed(office: Office) -> None:
    fill(office, 12)
    twin = office.write("twin.txt", "uploaded words")
    async with office.opened(ingest_data_dir=None) as look:
        for name, content in (("mine.txt", b"uploaded words"), ("other.txt", b"other words")):
            await look.client.post(f"{API}/documents", files={"file": (name, content)})
        await settled(look.client)
    assert (await office.look()).skipped == {"twin.txt": "duplicate"}
    twin.unlink()
    look = await office.look()
    assert look.status["removed"] == 0
    assert len(look.documents) == 14


async def test_the_documents_of_an_archive_go_with_it_and_count(office: Office) -> None:
    fill(office, 18)
    archive = office.write("box.zip", one="first of the box", two="second of the box")
    await office.look()
    archive.unlink()
    async with office.opened() as look:
        assert look.status["removed"] == 2
        assert len((await settled(look.client)).documents) == 18


async def test_a_file_that_is_only_out_of_reach_keeps_its_document(office: Office) -> None:
    fill(office, 12)
    office.write("deep/er/a.txt", "words in the deep")
    await office.look()
    look = await office.look(ingest_data_max_depth=1)
    assert look.status["removed"] == 0
    assert "deep/er/a.txt" in look.paths


async def test_nothing_is_removed_before_every_place_was_looked_at_where_it_may_have_moved(office: Office) -> None:
    files = fill(office, 6)
    before = await office.look()
    files[0].rename(office.root / "zz.txt")
    files[1].unlink()
    look = await office.look(ingest_data_max_files=3)
    assert (look.status["removed"], look.paths) == (0, before.paths)
    look = await office.look(ingest_data_max_files=3)
    assert look.status["removed"] == 1
    assert look.paths == before.paths - {"00.txt", "01.txt"} | {"zz.txt"}
    assert look.document("zz.txt")["id"] == before.document("00.txt")["id"]


async def test_the_command_names_every_file_that_it_passed_over(office: Office) -> None:
    office.write("a.txt", "some words")
    office.write("program.exe", b"MZ")
    office.write("empty.txt")
    code, answer = command(office, "scan")
    assert code == 1
    assert answer["state"] == "completed_with_errors"
    assert answer["counts"]["queued"] == 1
    assert {item["path"]: item["outcome"] for item in answer["skipped"]} == {
        "empty.txt": "failed",
        "program.exe": "unsupported",
    }
    look = await office.look()
    assert look.document("a.txt")["status"] == "ready"
    assert look.counts["unchanged"] == 1


def test_beside_a_running_server_the_command_scans_and_the_server_does_the_work(office: Office) -> None:
    office.write("first.txt", "there from the start")
    server = Server(office.settings["data_dir"], {"INGEST_DATA_DIR": str(office.root)}).start()
    try:
        wait_until(lambda: _ready(server) == {"first.txt"}, what="the scan at start")
        office.write("second.txt", "added since")
        code, answer = command(office, "scan")
        assert (code, answer["counts"]["queued"], answer["counts"]["unchanged"]) == (0, 1, 1)
        wait_until(lambda: _ready(server) == {"first.txt", "second.txt"}, what="the server to do the work")
        status = server.request("GET", f"{API}/ingest/scan-status").json()
        assert status["counts"] == answer["counts"]
    finally:
        server.stop()


def _ready(server: Server) -> set[str]:
    items = server.request("GET", f"{API}/documents?status=ready").json()["items"]
    return {item["sourcePath"] for item in items}


def test_the_command_needs_a_folder(office: Office) -> None:
    done = run(office.settings["data_dir"], "scan")
    assert done.returncode == 2
    assert "INGEST_DATA_DIR" in done.stderr
