"""Killing the server in the middle of an import: it goes on by itself, and every file is there exactly once."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crash_kit import all_documents, assert_the_file_is_whole, finished, keys_in, keys_on_disk, make_old, no_active_jobs
from front_door import Server, wait_until
from zip_files import zip_of

pytestmark = pytest.mark.slow
ARCHIVES = 2
KILLS_EACH = 3
FILES = 100
LAST_FINISH_S = 240.0


def archive_of(number: int) -> tuple[bytes, set[str]]:
    """A hundred files: mostly documents, some copies of others, some of no use; and the paths of the documents."""
    files: list[tuple[str, str]] = []
    wanted: set[str] = set()
    for index in range(FILES):
        path = f"batch {number}/folder {index % 7}/file {index}.txt"
        if index % 20 == 7:
            files.append((path.replace(".txt", ".exe"), "MZ"))
        elif index % 20 == 13:
            files.append((path, f"Letter {number} {index - 1} about ledgers and harbours."))  # the bytes before it
        else:
            files.append((path, f"Letter {number} {index} about ledgers and harbours."))
            wanted.add(path)
    return zip_of(*files), wanted


def import_of(server: Server, archive_id: str) -> dict[str, Any]:
    item: dict[str, Any] = server.request("GET", f"/api/v1/archives/{archive_id}").json()
    return item


def is_over(item: dict[str, Any]) -> bool:
    return item["state"] not in ("queued", "extracting")


def over(server: Server, archive_id: str) -> dict[str, Any]:
    wait_until(lambda: is_over(import_of(server, archive_id)), what="the import to end")
    return import_of(server, archive_id)


def test_an_import_that_is_killed_again_and_again_takes_every_file_exactly_once(tmp_path: Path) -> None:
    draw = random.Random(7)
    server = Server(tmp_path / "data").start()
    imports: dict[str, set[str]] = {}
    in_the_middle = 0
    for number in range(ARCHIVES):
        data, wanted = archive_of(number)
        archive_id = server.upload(f"batch{number}.zip", data)["archiveId"]
        imports[archive_id] = wanted
        for target in sorted(draw.sample(range(FILES), KILLS_EACH)):

            def has_come_so_far(least: int = target, archive: str = archive_id) -> dict[str, Any] | None:
                item = import_of(server, archive)
                return item if item["counts"]["examined"] >= least or is_over(item) else None

            seen = wait_until(has_come_so_far, what=f"{target} files to be imported")
            server.kill()
            in_the_middle += not is_over(seen)
            server.start()
    assert in_the_middle > ARCHIVES * KILLS_EACH // 2, "hardly any kill met an import: the test would show nothing"

    try:
        for archive_id, wanted in imports.items():
            assert_every_file_was_met_once(over(server, archive_id), wanted)
        wait_until(lambda: finished(server) and no_active_jobs(server), LAST_FINISH_S, "all documents to be ready")
        documents = list(all_documents(server))
        assert Counter(str(document["sourcePath"]) for document in documents) == Counter(
            path for wanted in imports.values() for path in wanted
        )
        assert {document["status"] for document in documents} == {"ready"}
        assert len({document["sha256"] for document in documents}) == len(documents)
    finally:
        server.stop()
    assert_the_file_is_whole(server.data_dir / "app.db")

    make_old(server.data_dir / "documents")
    server.start()
    try:
        wait_until(lambda: keys_on_disk(server.data_dir) == keys_in(server.data_dir / "app.db"), what="orphans to go")
        archives = server.data_dir / "documents" / "archives"
        wait_until(lambda: not any(archives.iterdir()), what="the archives' bytes to go")
    finally:
        server.stop()


def assert_every_file_was_met_once(item: dict[str, Any], wanted: set[str]) -> None:
    assert item["state"] == "completed", item["error"]
    paths = [entry["path"] for entry in item["entries"]]
    assert len(paths) == len(set(paths)) == FILES == item["fileCount"] == item["counts"]["examined"]
    assert {entry["path"] for entry in item["entries"] if entry["outcome"] == "extracted"} == wanted
    assert item["counts"]["duplicate"] == item["counts"]["unsupported"] == FILES // 20
    assert len(set(item["documentIds"])) == len(wanted)
