"""A folder of originals belongs to one database: another one would take its files for left-overs and delete them."""

from pathlib import Path

import pytest
from cli_kit import run, run_json


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory with one document."""
    file = tmp_path / "tides.txt"
    file.write_text("The tide rises twice a day.")
    data_dir = tmp_path / "data"
    result = run(data_dir, "ingest", str(file))
    assert result.returncode == 0, result.stderr
    return data_dir


def originals(data_dir: Path) -> list[Path]:
    return [path for path in (data_dir / "documents" / "originals").rglob("*") if path.is_file()]


def test_another_database_on_the_server_is_kept_out(data_dir: Path, postgres_dsn: str) -> None:
    result = run(data_dir, "status", DATABASE_DRIVER="postgres", DATABASE_URL=postgres_dsn)

    assert result.returncode == 1
    assert "holds the originals of another database. Nothing was changed." in " ".join(result.stderr.split())
    assert len(originals(data_dir)) == 1


@pytest.mark.parametrize("marked", [True, False])
def test_a_new_database_in_place_of_a_lost_one_is_kept_out(data_dir: Path, marked: bool) -> None:
    for file in data_dir.glob("app.db*"):
        file.unlink()
    if not marked:
        (data_dir / "documents" / "owner").unlink()

    result = run(data_dir, "status")

    told = "holds the originals of its documents" if marked else "originals of another database"
    assert result.returncode == 1 and told in " ".join(result.stderr.split())
    assert len(originals(data_dir)) == 1
    assert not (marked and (data_dir / "app.db").exists())


def test_a_folder_of_a_version_that_knew_no_mark_is_taken_over(data_dir: Path) -> None:
    mark = data_dir / "documents" / "owner"
    before = mark.read_text()
    mark.unlink()

    assert run_json(data_dir, "status")["documents"]["ready"] == 1
    assert mark.read_text() == before
