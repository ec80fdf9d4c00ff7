"""`eval` with sets that are kept in the knowledge base, beside a server and on PostgreSQL."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import run
from front_door import Server
from rest_kit import API
from typer.testing import CliRunner, Result

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.cli.commands import cli

pytestmark = pytest.mark.xdist_group("cli-eval")  # one server for all

TEXTS = {
    "travel.md": "# Travel\n\nThe head of finance approves travel costs with form INV-0042.\n",
    "canteen.md": "# Canteen\n\nThe canteen opens at noon and closes at three.\n",
}
LINES = [
    {"id": "1", "query": "who approves travel costs", "relevant": ["travel.md"], "kind": "question"},
    {"id": "2", "query": "when the canteen opens", "relevant": ["canteen.md"], "kind": "question"},
    {"id": "3", "query": "spaceship", "relevant": [], "kind": "nothing"},
]
LEXICAL = ("--mode", "lexical")


def jsonl(*lines: dict[str, Any]) -> str:
    return "\n".join(json.dumps(line) for line in lines)


def fill(server: Server) -> str:
    """Two documents and a set of three queries; its address."""
    for name, text in TEXTS.items():
        server.add(name, text.encode())
    made = server.request("POST", f"{API}/evaluations", json={"name": "Help desk"}).json()
    address = f"{API}/evaluations/{made['id']}"
    report = server.request("POST", f"{address}/import", content=jsonl(*LINES).encode()).json()
    assert report["added"] == 3 and report["missingCount"] == 0
    return address


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    return fill(server)


def evaluate(data_dir: Path, *arguments: str) -> Result:
    """The command in this process, beside the server's."""
    return CliRunner().invoke(cli, ["--data-dir", str(data_dir), "eval", *arguments])


def reports(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_set_is_run_beside_a_server_and_held_against_the_baseline(server: Server, address: str) -> None:
    options = ("--set", "help DESK", *LEXICAL, "--fail-under", "recall@10=1", "--fail-under", "0.5", "--json")
    (report,) = reports(evaluate(server.data_dir, *options, "--name", "Nightly", "--keep-as-baseline"))
    assert (report["mode"], report["queries"], report["recallAt10"]) == ("lexical", 3, 1.0)
    assert (report["falsePositiveRate"], report["comparison"]) == (0.0, None)
    kept = server.request("GET", f"{address}/runs/{report['runId']}").json()
    assert (kept["name"], kept["state"], kept["metrics"]["ndcgAt10"]) == ("Nightly", "completed", report["ndcgAt10"])
    assert server.request("GET", address).json()["baselineRunId"] == report["runId"]

    narrow = ("--set", "Help desk", *LEXICAL, "--filter", '{"year": 2024}', "--fail-under", "recall@10=0.9")
    missed = run(server.data_dir, "eval", *narrow)
    assert missed.returncode == 1
    assert "recall@10 is 0.0000, below 0.9" in missed.stderr
    assert "0 queries better, 2 worse, 1 as before" in missed.stdout
    assert "worse  who approves travel costs  rank 1 to not found" in missed.stdout
    assert "filters: {} then, {'year': 2024} now" in missed.stdout

    (again,) = reports(evaluate(server.data_dir, "--set", "Help desk", *LEXICAL, "--json"))
    assert again["comparison"]["baselineRunId"] == report["runId"]
    assert again["comparison"]["changes"]["recall@10"] == 0.0 and again["comparison"]["differences"] == []


def test_the_default_is_the_search_that_people_use(server: Server, address: str) -> None:
    (report,) = reports(evaluate(server.data_dir, "--set", address.rpartition("/")[2], "--json"))
    assert (report["mode"], report["fusion"]) == ("hybrid", "rrf")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--set", "Help desk", "."),
        ("--set", "Help desk", "--fail-under", "recall@7=0.9"),
        ("--set", "Help desk", "--fail-under", "much"),
        ("--set", "Help desk", "--fail-under", "recall@10=1.5"),
        ("--set", "Help desk", "--fail-under", "recall@10="),
        (".", "--keep-as-baseline"),
    ],
)
def test_wrong_arguments_end_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = evaluate(tmp_path / "data", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--set", "Nobody's"), "EVALUATION_NOT_FOUND"),
        (("--set", "Help desk", "--baseline", "run_none"), "RUN_NOT_FOUND"),
        (("--set", "Help desk", "--mode", "psychic"), "SEARCH_MODE_UNSUPPORTED"),
    ],
)
def test_what_does_not_exist_is_told_before_anything_is_run(
    server: Server, address: str, arguments: tuple[str, ...], code: str
) -> None:
    before = server.request("GET", f"{address}/runs").json()["items"]
    fault = evaluate(server.data_dir, *arguments).exception
    assert isinstance(fault, KnowledgeError) and fault.code == code
    assert server.request("GET", f"{address}/runs").json()["items"] == before


def test_a_run_of_another_set_is_told_before_anything_is_run(server: Server, address: str) -> None:
    other = server.request("POST", f"{API}/evaluations", json={"name": "Other"}).json()["id"]
    server.request("POST", f"{API}/evaluations/{other}/judgements", json={"query": "spaceship", "noAnswer": True})
    (report,) = reports(evaluate(server.data_dir, "--set", "Other", *LEXICAL, "--json"))
    before = server.request("GET", f"{address}/runs").json()["items"]
    fault = evaluate(server.data_dir, "--set", "Help desk", "--baseline", report["runId"]).exception
    assert isinstance(fault, KnowledgeError) and fault.code == "RUN_NOT_FOUND"
    assert server.request("GET", f"{address}/runs").json()["items"] == before


def test_a_folder_without_documents_names_those_of_the_knowledge_base(
    server: Server, address: str, tmp_path: Path
) -> None:
    (tmp_path / "queries.jsonl").write_text(jsonl(*LINES))
    (report,) = reports(evaluate(server.data_dir, str(tmp_path), *LEXICAL, "--json"))
    assert (report["queries"], report["recallAt10"], report["gone"]) == (3, 1.0, 0)


def test_a_set_is_run_on_postgresql(tmp_path: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_server = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": postgres_dsn}
    server = Server(tmp_path / "data", on_server).start()
    for name, value in on_server.items():
        monkeypatch.setenv(name, value)
    try:
        fill(server)
        (report,) = reports(evaluate(server.data_dir, "--set", "Help desk", *LEXICAL, "--json"))
    finally:
        server.stop()
    assert (report["recallAt10"], report["mrrAt10"]) == (1.0, 1.0)
