from pathlib import Path

import pytest
from cli_kit import run
from web_host import answer, reaching_loopback, web_host

from mcp_knowledge.app import open_services
from mcp_knowledge.interfaces.cli.ingest import ingest_sources
from mcp_knowledge.interfaces.cli.report import Skipped
from mcp_knowledge.settings import Settings


async def test_files_and_addresses_are_taken_in_together(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("A note from this machine.")
    async with web_host() as host, open_services(settings) as services:
        host.answers["/far.txt"] = answer(b"A note from far away.", "Content-Type: text/plain")
        arguments = [str(tmp_path / "note.txt"), host.url("/far.txt"), host.url("/far.txt#again"), host.url("/none")]
        report = await ingest_sources(
            reaching_loopback(services), arguments, None, {"kind": "note"}, wait=True, quiet=True
        )
        documents = await services.library.get_documents(report.ready)
        assert {item.source_url for item in documents.values()} == {None, host.url("/far.txt")}
        assert {item.source_path for item in documents.values()} == {None, "note.txt"}
        assert all(item.metadata["kind"] == "note" for item in documents.values())
        assert len(report.duplicates) == 1
        (skipped,) = report.skipped
        assert skipped == Skipped(host.url("/none"), skipped.reason, asked_for=True)
        assert skipped.reason.startswith("URL_FETCH_FAILED: ")
        assert "404" in skipped.reason
        assert not report.ok


@pytest.mark.parametrize("address", ["HTTP://127.0.0.1/x", "ftp://host/file"])
def test_an_address_that_is_not_fetched_is_named_with_the_reason(tmp_path: Path, address: str) -> None:
    result = run(tmp_path / "data", "ingest", address)
    assert result.returncode == 1
    assert address in result.stdout
    assert "SSRF_BLOCKED" in result.stdout


def test_a_path_that_does_not_exist_is_an_error_of_the_command(tmp_path: Path) -> None:
    result = run(tmp_path / "data", "ingest", "nowhere/file.txt")
    assert result.returncode == 2
    assert "does not exist" in result.stderr
