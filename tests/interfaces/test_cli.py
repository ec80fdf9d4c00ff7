import json
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from cli_kit import run, run_json
from front_door import FreshServer, Server, wait_until

from mcp_knowledge.settings import MODEL_DIR

POLICY = b"# Travel policy\n\nCosts above 500 EUR are approved by the head of finance. See form INV-0042.\n"
NOTES = b"The canteen opens at noon.\n\nOn Fridays it closes early.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cli") / "files"
    (root / "deep" / "deeper").mkdir(parents=True)
    (root / "policy.md").write_bytes(POLICY)
    (root / "deep" / "deeper" / "notes.txt").write_bytes(NOTES)
    (root / "deep" / "copy.md").write_bytes(POLICY)
    (root / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing that a reader could use")
    (root / "program.exe").write_bytes(b"MZ")
    (root / "empty.txt").write_bytes(b"")
    (root / ".hidden.txt").write_bytes(b"not for others")
    (root / "link.md").symlink_to(root / "policy.md")
    (root / "linked").symlink_to(root / "deep")
    (root / ".git").mkdir()
    (root / ".git" / "notes.txt").write_bytes(b"not for others either")
    (root / "~$policy.docx").write_bytes(b"Ada")
    (root / "Thumbs.db").write_bytes(b"scattered by a system")
    return root


@pytest.fixture(scope="module")
def ingested(folder: Path) -> tuple[Path, Any]:
    data_dir = folder.parent / "data"
    result = run(
        data_dir, "ingest", str(folder), "--collection", "House rules", "--metadata", '{"year": 2026}', "--json"
    )
    assert result.returncode == 1, "a broken file must show in the exit code"
    return data_dir, json.loads(result.stdout)


def test_ingest_takes_a_folder_and_names_every_file_it_did_not_take(ingested: tuple[Path, Any]) -> None:
    _, report = ingested
    assert len(report["ready"]) == 2
    assert len(report["duplicates"]) == 1
    assert [(item["path"], item["error"].split(":")[0]) for item in report["failed"]] == [
        ("broken.pdf", "DOCUMENT_MALFORMED")
    ]
    skipped = {item["path"]: item["reason"] for item in report["skipped"]}
    assert set(skipped) == {
        *("program.exe", "empty.txt", ".hidden.txt", ".git", "link.md", "linked", "~$policy.docx"),
    }
    assert "not supported" in skipped["program.exe"]
    assert "empty" in skipped["empty.txt"]


def test_nobody_else_may_read_what_is_stored(ingested: tuple[Path, Any]) -> None:
    data_dir, _ = ingested
    assert [path for path in (data_dir, *data_dir.rglob("*")) if path.stat().st_mode & 0o077] == []


def test_documents_remember_their_path_their_collection_and_their_metadata(ingested: tuple[Path, Any]) -> None:
    data_dir, _ = ingested
    hit = run_json(data_dir, "search", "canteen")["hits"][0]
    assert hit["metadata"]["year"] == 2026
    assert run_json(data_dir, "search", "canteen", "--filter", '{"year": 2025}')["hits"] == []
    assert run_json(data_dir, "search", "canteen", "--filter", '{"year": {"gte": 2026}}')["hits"] != []


def test_search_prints_the_rank_on_each_side_the_score_and_the_matched_terms(ingested: tuple[Path, Any]) -> None:
    result = run(ingested[0], "search", "form INV-0042", "--explain")
    assert result.returncode == 0
    assert "1. Travel policy" in result.stdout
    assert "vector #1" in result.stdout
    assert "lexical #1" in result.stdout
    assert "exact" in result.stdout
    assert "matched: form, INV-0042" in result.stdout
    assert "embedding" in result.stdout


def test_ingesting_again_finds_only_duplicates(ingested: tuple[Path, Any], folder: Path) -> None:
    data_dir, _ = ingested
    report = run_json(data_dir, "ingest", str(folder / "policy.md"))
    assert (report["ready"], len(report["duplicates"])) == ([], 1)
    again = run(data_dir, "ingest", str(folder / "broken.pdf"))
    assert again.returncode == 1
    assert "failed  broken.pdf: DOCUMENT_MALFORMED" in again.stdout


def test_reindex_keeps_every_chunk_id(ingested: tuple[Path, Any]) -> None:
    data_dir, first = ingested
    before = [hit["chunkId"] for hit in run_json(data_dir, "search", "who approves costs")["hits"]]
    report = run_json(data_dir, "reindex", *first["ready"])
    assert sorted(report["ready"]) == sorted(first["ready"])
    assert [hit["chunkId"] for hit in run_json(data_dir, "search", "who approves costs")["hits"]] == before


def test_status_jobs_and_config_speak_json(ingested: tuple[Path, Any]) -> None:
    data_dir, report = ingested
    status = run_json(data_dir, "status")
    assert status["documents"]["ready"] == 2
    assert status["documents"]["failed"] == 1
    assert status["server"] is None
    failed = run_json(data_dir, "jobs", "--status", "failed")
    assert [job["documentId"] for job in failed] == [report["failed"][0]["documentId"]]
    config = run_json(data_dir, "config")
    assert config["CHUNK_TARGET_TOKENS"] == 180
    assert Path(config["DATA_DIR"]) == data_dir


def test_a_failed_job_can_be_retried_once(ingested: tuple[Path, Any]) -> None:
    data_dir, _ = ingested
    job = run_json(data_dir, "jobs", "--status", "failed")[0]["id"]
    assert run_json(data_dir, "jobs", "--retry", job)[0]["status"] == "queued"
    again = run(data_dir, "jobs", "--retry", job)
    assert again.returncode == 1
    assert "JOB_NOT_RETRYABLE" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["search", " "], 2, "INVALID_QUERY"),
        (["search", "x", "--mode", "magic"], 2, "SEARCH_MODE_UNSUPPORTED"),
        (["search", "x", "--filter", "[1]"], 2, "must be a JSON object"),
        (["search", "x", "--filter", '{"a b": 1}'], 2, "INVALID_FILTER"),
        (["search"], 2, "Missing argument"),
        (["ingest", "no-such-folder"], 2, "does not exist"),
        (["jobs", "--status", "lost"], 2, "must be one of"),
        (["reindex"], 2, "name documents, or --all or --stale"),
        (["reindex", "--all", "--stale"], 2, "name documents, or --all or --stale"),
        (["reindex", "doc_unknown"], 1, "DOCUMENT_NOT_FOUND"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_misuse_ends_with_a_sentence_and_no_traceback(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    result = run(tmp_path / "data", *arguments)
    assert (result.returncode, message in result.stderr) == (code, True), result.stderr
    assert "Traceback" not in result.stderr


def test_every_fault_of_the_configuration_is_named_at_once(tmp_path: Path) -> None:
    result = run(tmp_path / "data", "serve", PORT="many", FUSION="best")
    assert result.returncode == 2
    lines = result.stderr.strip().splitlines()
    assert [line.split(":")[0] for line in lines] == ["PORT", "FUSION"]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("HOST", "0.0.0.0", "open to the network"),
        ("CHUNK_MAX_TOKENS", "100", "must rise in this order"),
        ("DOCUMENT_CURSOR_SECRET", "c2hvcnQ=", "32 bytes"),
    ],
)
def test_a_configuration_that_cannot_work_stops_the_start(
    tmp_path: Path, variable: str, value: str, message: str
) -> None:
    result = run(tmp_path / "data", "serve", **{variable: value})
    assert result.returncode == 2
    assert message in result.stderr
    assert value not in result.stderr or variable == "HOST"


def test_doctor_names_the_next_step_for_what_is_broken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        data_dir = tmp_path / "data"
        data_dir.mkdir()
        (data_dir / "app.db").write_bytes(b"This is no database, but somebody's letter. " * 50)
        result = run(data_dir, "doctor", "--json", PORT=port, EMBEDDING_MODEL_PATH=str(tmp_path))
    checks = {check["name"]: check for check in json.loads(result.stdout)}
    assert result.returncode == 1
    assert {name for name, check in checks.items() if check["ok"]} == {"disk", "parsers"}
    assert all(check["nextStep"] for check in checks.values() if not check["ok"])
    assert (data_dir / "app.db").read_bytes().startswith(b"This is no database"), "nothing may be overwritten"


def test_doctor_is_content_with_a_good_installation(tmp_path: Path) -> None:
    checks = run_json(tmp_path / "data", "doctor")
    assert [check["name"] for check in checks if not check["ok"] and check["name"] != "port"] == []
    (parsers,) = [check["detail"] for check in checks if check["name"] == "parsers"]
    assert ("without network" if sys.platform == "linux" else "network") in parsers


def test_another_model_refuses_to_mix_vectors_until_everything_is_embedded_again(tmp_path: Path) -> None:
    data_dir, model = tmp_path / "data", tmp_path / "model"
    (tmp_path / "policy.md").write_bytes(POLICY)
    assert run(data_dir, "ingest", str(tmp_path / "policy.md")).returncode == 0
    shutil.copytree(MODEL_DIR, model)
    with (model / "model.onnx").open("ab") as file:
        file.write(b"\x32\x04same")  # protobuf's doc_string: another file, the same numbers
    other = {"EMBEDDING_MODEL_PATH": str(model)}

    by_words = run_json(data_dir, "search", "form INV-0042", **other)
    assert "INV-0042" in by_words["hits"][0]["content"]
    assert by_words["hits"][0]["ranking"].get("vectorRank") is None
    assert "reindex --all" in by_words["notice"]
    refused = run(data_dir, "search", "form INV-0042", "--mode", "vector", **other)
    assert refused.returncode == 1
    assert "EMBEDDING_MISMATCH" in refused.stderr + refused.stdout
    assert run_json(data_dir, "status", **other)["staleDocuments"] == 1
    result = run(data_dir, "doctor", "--json", **other)
    checks = {check["name"]: check for check in json.loads(result.stdout)}
    assert result.returncode == 1
    assert checks["model"]["ok"]
    assert not checks["index"]["ok"]
    assert "reindex --all" in checks["index"]["nextStep"]

    assert run(data_dir, "reindex", "--all", **other).returncode == 0
    again = run_json(data_dir, "search", "form INV-0042", **other)
    assert again["hits"][0]["ranking"]["vectorRank"] == 1
    assert "notice" not in again
    assert run_json(data_dir, "status", **other)["staleDocuments"] == 0
    checks = {check["name"]: check for check in json.loads(run(data_dir, "doctor", "--json", **other).stdout)}
    assert checks["index"]["ok"]


def test_only_what_is_out_of_date_is_indexed_again(tmp_path: Path) -> None:
    data_dir, file = tmp_path / "data", tmp_path / "a.txt"
    file.write_text("Made while passages were cut to another size.")
    run_json(data_dir, "ingest", str(file), CHUNK_TARGET_TOKENS="150")
    assert "reindex --stale" in run(data_dir, "status").stdout
    assert len(run_json(data_dir, "reindex", "--stale")["ready"]) == 1
    assert run_json(data_dir, "reindex", "--stale")["ready"] == []
    assert "reindex --stale" not in run(data_dir, "status").stdout


def test_reindexing_that_was_interrupted_goes_on_with_the_next_start(tmp_path: Path) -> None:
    data_dir, texts = tmp_path / "data", tmp_path / "texts"
    texts.mkdir()
    for number in range(30):
        (texts / f"{number}.txt").write_text(f"Text number {number} about the harbour.")
    assert run(data_dir, "ingest", str(texts)).returncode == 0
    command = [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(data_dir), "reindex", "--all"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: reindexed(data_dir) > 0 or process.poll() is not None, what="some of the work to be done")
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)

    server = Server(data_dir).start()
    try:
        wait_until(lambda: reindexed(data_dir) == 30, what="all to be indexed again")
    finally:
        server.stop()
    report = run_json(data_dir, "reindex", "--all", "--no-wait")
    assert (len(report["waiting"]), report["ready"], report["failed"]) == (30, [], [])


def reindexed(data_dir: Path) -> int:
    """How many documents were indexed a second time."""
    with closing(apsw.Connection(str(data_dir / "app.db"), flags=apsw.SQLITE_OPEN_READONLY)) as database:
        sql = """SELECT count(*) FROM (SELECT document_no FROM jobs WHERE status = 'completed'
                 GROUP BY document_no HAVING count(*) > 1)"""
        return int(next(database.execute(sql))[0])


def test_a_second_server_on_the_same_data_is_refused(server: Server) -> None:
    result = run(server.data_dir, "serve", "--port", "0")
    assert result.returncode == 1
    assert server.url in result.stderr


def test_ingest_beside_a_server_leaves_the_work_to_it(server: Server, folder: Path) -> None:
    report = run_json(server.data_dir, "ingest", str(folder / "policy.md"))
    document = server.request("GET", f"/api/v1/documents/{report['ready'][0]}").json()
    assert document["status"] == "ready"
    job = server.request("GET", "/api/v1/jobs").json()["items"][0]
    assert server.process is not None
    assert str(server.process.pid) in job["worker"]
    assert run_json(server.data_dir, "status")["server"]["url"] == server.url


def test_eval_measures_a_judged_set_and_fails_under_a_floor(tmp_path: Path) -> None:
    judged = tmp_path / "set"
    judged.mkdir()
    documents = [
        {"id": "a", "title": "Travel", "text": "The head of finance approves travel costs."},
        {"id": "b", "title": "Canteen", "text": "The canteen opens at noon."},
    ]
    queries = [
        {"id": "1", "query": "who approves travel costs", "relevant": ["a"], "kind": "question"},
        {"id": "2", "query": "what time the canteen opens", "relevant": ["b"], "kind": "question"},
    ]
    (judged / "docs.jsonl").write_text("\n".join(json.dumps(item) for item in documents))
    (judged / "queries.jsonl").write_text("\n".join(json.dumps(item) for item in queries))
    rows = run_json(tmp_path / "data", "eval", str(judged))
    assert [row["mode"] for row in rows] == ["vector", "lexical", "hybrid", "hybrid"]
    assert all(row["ndcgAt10"] == 1.0 for row in rows)
    queries[0]["relevant"] = ["b"]
    (judged / "queries.jsonl").write_text("\n".join(json.dumps(item) for item in queries))
    assert run(tmp_path / "data", "eval", str(judged), "--mode", "lexical", "--fail-under", "0.99").returncode == 1
    assert not (tmp_path / "data" / "app.db").exists(), "the user's own knowledge base is not touched"


def test_a_server_refuses_a_file_that_is_no_database_and_leaves_it_alone(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    (data_dir / "app.db").write_bytes(b"Somebody's letter, not a database. " * 100)
    result = run(data_dir, "serve", "--port", "0")
    assert result.returncode == 1
    assert "not a database" in result.stderr
    assert "Traceback" not in result.stderr
    assert (data_dir / "app.db").read_bytes().startswith(b"Somebody's letter")


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_cleanly(tmp_path: Path, kind: signal.Signals) -> None:
    server = FreshServer(tmp_path / "data").start()
    assert server.process is not None
    server.process.send_signal(kind)
    assert server.process.wait(timeout=20) == 0
    assert not (server.data_dir / "server.json").exists()
    assert "Traceback" not in server.log.read_text()
