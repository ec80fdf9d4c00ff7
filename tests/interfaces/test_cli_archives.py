import json
import shutil
from pathlib import Path

import pytest
from cli_kit import run, run_json
from front_door import Server
from zip_files import Entry, raw_zip, zip_of

LETTERS = zip_of(
    ("letters/harbour.md", "# Harbour\n\nThe ferry leaves at noon."),
    ("letters/copy.md", "# Harbour\n\nThe ferry leaves at noon."),
    ("setup.exe", "MZ"),
    ("empty.txt", ""),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "old").mkdir(parents=True)
    (root / "plan.txt").write_text("Build a lighthouse.")
    (root / "old" / "letters.zip").write_bytes(LETTERS)
    return root


def test_ingest_imports_the_archives_of_a_folder_and_names_every_file_passed_over(folder: Path) -> None:
    data_dir = folder.parent / "data"
    report = run_json(data_dir, "ingest", str(folder))
    assert (len(report["ready"]), len(report["duplicates"]), report["failed"]) == (2, 1, [])
    skipped = {item["path"]: item["reason"].partition(":")[0] for item in report["skipped"]}
    assert skipped == {
        "old/letters.zip/setup.exe": "DOCUMENT_UNSUPPORTED_FORMAT",
        "old/letters.zip/empty.txt": "DOCUMENT_EMPTY",
    }
    (archive,) = report["archives"]
    assert (archive["path"], archive["state"], archive["error"]) == ("old/letters.zip", "completed_with_errors", None)
    assert archive["counts"] == {
        "examined": 4, "extracted": 1, "duplicate": 1, "unsupported": 1, "oversized": 0, "failed": 1,
    }  # fmt: skip
    assert run_json(data_dir, "search", "when does the ferry leave")["hits"][0]["title"] == "Harbour"

    again = run(data_dir, "ingest", str(folder / "old" / "letters.zip"))
    assert again.returncode == 0
    assert "skipped letters.zip/setup.exe: DOCUMENT_UNSUPPORTED_FORMAT" in again.stdout
    assert "archive letters.zip: 2 duplicate, 1 unsupported, 1 failed" in again.stdout


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"no archive", "ARCHIVE_MALFORMED"), (raw_zip(Entry(b"a.txt", flags=1)), "ARCHIVE_ENCRYPTED")],
)
def test_an_archive_that_cannot_be_imported_shows_in_the_exit_code(tmp_path: Path, data: bytes, code: str) -> None:
    (tmp_path / "bad.zip").write_bytes(data)
    result = run(tmp_path / "data", "ingest", str(tmp_path / "bad.zip"))
    assert result.returncode == 1
    assert f"bad.zip: {code}: " in result.stdout
    assert "0 ready, 1 failed." in result.stdout
    result = run(tmp_path / "data", "ingest", str(tmp_path / "bad.zip"), "--json")
    assert result.returncode == 1
    assert json.loads(result.stdout)["archives"][0]["error"].startswith(f"{code}: ")


def test_an_archive_that_nobody_waits_for_is_imported_by_the_next_ingest(folder: Path) -> None:
    data_dir = folder.parent / "data"
    queued = run_json(data_dir, "ingest", str(folder / "old" / "letters.zip"), "--no-wait")
    assert [archive["state"] for archive in queued["archives"]] == ["queued"]
    report = run_json(data_dir, "ingest", str(folder / "plan.txt"), str(folder / "old" / "letters.zip"))
    assert {archive["state"] for archive in report["archives"]} == {"completed_with_errors"}
    assert run_json(data_dir, "search", "when does the ferry leave")["hits"][0]["title"] == "Harbour"


def test_two_archives_of_one_name_in_different_folders_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    for place in ("north", "south"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "notes.zip").write_bytes(zip_of(("notes.txt", f"Notes from the {place}.")))
        report = run_json(tmp_path / "data", "ingest", str(tmp_path / place / "notes.zip"))
        assert len(report["ready"]) == 1
    assert len(run_json(tmp_path / "data", "search", "notes from")["hits"]) == 2


def test_beside_a_server_the_server_imports(server: Server, folder: Path) -> None:
    shutil.copy(folder / "old" / "letters.zip", folder / "letters.zip")
    report = run_json(server.data_dir, "ingest", str(folder / "letters.zip"))
    assert len(report["ready"]) == 1
    (item,) = server.request("GET", "/api/v1/archives").json()["items"]
    assert item["id"] == report["archives"][0]["archiveId"] and item["documentIds"] == report["ready"]
