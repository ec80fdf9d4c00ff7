"""The command line says of a database on a server what it says of a file."""

from pathlib import Path
from typing import Any

from cli_kit import run, run_json

SEARCH = ("search", "brewing lighthouse", "--mode", "lexical", "--filter", '{"year": {"gte": 2020}}')
SAME = ("chunkId", "content", "headingPath", "score", "matchedTerms", "metadata", "title")


def session(data_dir: Path, **environment: str) -> list[Any]:
    """What a session shows that depends on no id and no moment."""
    report = run_json(data_dir, "ingest", str(data_dir.parent), "--metadata", '{"year": 2026}', **environment)
    found = run_json(data_dir, *SEARCH, **environment)
    reindexed = run(data_dir, "reindex", "--all", **environment)
    status = run_json(data_dir, "status", **environment)
    shown = [{name: hit[name] for name in SAME} for hit in found["hits"]]
    return [len(report["ready"]), shown, reindexed.stdout, status["documents"], status["chunks"], status["queue"]]


def test_a_session_goes_alike_on_both_databases(tmp_path: Path, postgres_dsn: str) -> None:
    on_server = {"DATABASE_DRIVER": "postgres", "DATABASE_URL": postgres_dsn}
    sessions = []
    for name, environment in (("file", {}), ("server", on_server)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "beer.md").write_text("# Beer\n\n## Brewing\n\nThe lighthouse keeper brews on Fridays.\n")
        (folder / "log.txt").write_text("The lamp of the lighthouse was lit at six.\n")
        sessions.append(session(folder / "data", **environment))

    assert sessions[1] == sessions[0]
    assert sessions[0][0] == 2 and len(sessions[0][1]) == 2 and sessions[0][3]["ready"] == 2
