"""INGEST_DATA_WATCH: the folder is followed after the scan."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2
import pytest
import watchfiles
from folder_kit import Look, Office, settled, until
from front_door import Server
from rest_kit import API

from mcp_knowledge.services import folder_following

pytestmark = pytest.mark.slow


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path, ingest_data_watch=True)


@pytest.fixture
async def watching(office: Office) -> AsyncIterator[Look]:
    office.write("first.txt", "there from the start")
    async with office.opened() as look:
        yield look


def has(*paths: str) -> Callable[[Look], bool]:
    return lambda look: look.paths == set(paths)


async def test_new_changed_and_moved_files_are_followed(office: Office, watching: Look) -> None:
    client = watching.client
    office.write("sub/new.txt", "a new file")
    look = await until(client, has("first.txt", "sub/new.txt"), "the new file")
    office.write("first.txt", "changed since")
    look = await until(client, lambda look: look.document("first.txt")["revision"] == 2, "the change")
    assert await look.finds("changed since") == {watching.document("first.txt")["id"]}
    (office.root / "sub/new.txt").rename(office.root / "moved.txt")
    moved = await until(client, has("first.txt", "moved.txt"), "the new place")
    assert moved.document("moved.txt")["id"] == look.document("sub/new.txt")["id"]


async def test_a_file_that_is_being_written_is_read_once_it_rests(
    office: Office, watching: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_following, "_QUIET_NS", 6_000_000_000)  # longer than a busy machine holds up the writer
    path, client, writing = office.root / "slow.txt", watching.client, threading.Event()

    def write() -> None:
        with path.open("w") as file:
            for number in range(12):
                file.write(f"part number {number}\n")
                file.flush()
                writing.wait(0.25)  # the pace of the writer

    await asyncio.to_thread(write)
    look = await until(client, has("first.txt", "slow.txt"), "the file")
    assert look.document("slow.txt")["revision"] == 1
    assert await look.finds("part number 11") == {look.document("slow.txt")["id"]}


async def test_a_changed_manifest_is_followed(office: Office, watching: Look) -> None:
    office.write(".mcp-knowledge-manifest.json", '{"rules": [{"glob": "*", "metadata": {"x": 1}}]}')
    await until(
        watching.client,
        lambda look: len(look.documents) == 1 and look.document("first.txt")["metadata"].get("x") == 1,
        "the metadata",
    )


async def test_a_file_that_goes_takes_its_document_along_when_that_is_wanted(office: Office) -> None:
    for number in range(11):
        office.write(f"{number}.txt", f"text number {number}")
    async with office.opened(ingest_data_prune=True) as look:
        (office.root / "3.txt").unlink()
        after = await until(look.client, lambda look: "3.txt" not in look.paths, "the removal")
        assert len(after.documents) == 10


async def test_a_moved_file_keeps_its_document_also_where_documents_go_with_their_files(office: Office) -> None:
    for number in range(11):
        office.write(f"{number}.txt", f"text number {number}")
    async with office.opened(ingest_data_prune=True) as look:
        (office.root / "3.txt").rename(office.root / "moved.txt")
        after = await until(look.client, lambda look: "3.txt" not in look.paths, "the new place")
        assert after.document("moved.txt")["id"] == look.document("3.txt")["id"]


async def test_a_folder_that_goes_and_comes_back_is_followed_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_following, "_POLL_S", 0.2)
    office.write("first.txt", "there from the start")
    away = office.root.with_name("away")
    async with office.opened(ingest_data_prune=True) as look:
        office.root.rename(away)
        (away / "second.txt").write_text("added while it was away")
        await until(look.client, lambda look: look.status["state"] == "failed", "the loss to be noticed")
        assert len((await settled(look.client)).documents) == 1
        away.rename(office.root)
        await until(look.client, has("first.txt", "second.txt"), "the folder to be back")
        office.write("third.txt", "added afterwards")
        await until(look.client, has("first.txt", "second.txt", "third.txt"), "further changes")


async def test_where_the_system_has_no_watches_left_the_folder_is_looked_through_now_and_then(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise OSError(28, "OS file watch limit reached.")

    monkeypatch.setattr(watchfiles, "watch", exhausted)
    monkeypatch.setattr(folder_following, "_POLL_S", 0.2)
    office.write("first.txt", "there from the start")
    async with office.opened() as look:
        office.write("second.txt", "nobody tells of this one")
        await until(look.client, has("first.txt", "second.txt"), "the second file")


async def test_more_files_than_a_scan_takes_are_all_found_in_the_end(office: Office) -> None:
    for number in range(7):
        office.write(f"{number}.txt", f"text number {number}")
    async with office.opened(ingest_data_max_files=3) as look:
        after = await until(look.client, lambda look: len(look.documents) == 7, "all files")
        assert not after.status["limitReached"] or after.counts["discovered"] <= 3


def test_the_scan_is_told_as_an_event(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.write("a.txt", "some words")
    office.write("b.exe", b"MZ")
    server = Server(office.settings["data_dir"], {"INGEST_DATA_DIR": str(office.root)}).start()
    try:
        headers = {"Last-Event-ID": f"evt_{0:032x}"}
        with httpx2.stream("GET", f"{server.url}{API}/events", headers=headers, timeout=30) as stream:
            states = []
            kind = ""
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: ") and kind == "scan":
                    states.append(json.loads(line.removeprefix("data: ")))
                    if states[-1]["state"] != "scanning":
                        break
    finally:
        server.stop()
    assert states[0]["state"] == "scanning"
    assert states[-1]["state"] == "completed"
    assert states[-1]["counts"]["queued"] == 1
    assert states[-1]["skippedTotal"] == 1
