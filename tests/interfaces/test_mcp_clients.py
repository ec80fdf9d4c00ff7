"""Other people's clients against the running server, over HTTP and stdio."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_clients import CLIENTS, PACKAGES, run, run_json
from mcp_corpus import LONG, RealServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("node")]
INSPECTOR = str(PACKAGES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js")
CONFORMANCE = str(PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")
TOOLS = {
    "search_documents",
    "get_document",
    "get_chunk",
    "list_documents",
    "list_collections",
    "list_document_catalog",
}


@pytest.fixture(scope="module")
def almanac(server: RealServer) -> str:
    document_id: str = server.add("almanac.md", LONG.encode())["id"]
    return document_id


@pytest.fixture(params=["http", "stdio"])
def target(request: pytest.FixtureRequest, server: RealServer, almanac: str) -> list[str]:
    if request.param == "http":
        return [f"{server.url}/mcp"]
    return [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(server.data_dir), "mcp"]


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_the_official_typescript_client_lists_searches_pages_and_reads(
    generation: str, target: list[str], almanac: str, tmp_path: Path
) -> None:
    kind = "http" if len(target) == 1 else "stdio"
    seen = run_json("walk.mjs", generation, "barometer 920", kind, *target, home=tmp_path)
    assert seen["server"]["name"] == "mcp-knowledge"
    assert set(seen["tools"]) == TOOLS
    assert seen["hits"] == seen["text"]
    assert seen["hits"][0]["documentId"] == almanac
    assert seen["resource"]["content"] == seen["hits"][0]["content"]
    assert len(seen["blocks"]) == 81
    assert seen["pages"] == 41
    assert seen["failure"] == {
        "isError": True,
        "text": "DOCUMENT_NOT_FOUND: There is no document with this id.",
    }
    assert f"document://{almanac}/normalized" in seen["resources"]
    assert len(seen["templates"]) == 3


class Inspector:
    """The Inspector's command line on one server.

    It starts a stdio server anew for each question; the shared secret lets one process read another's cursors.
    """

    def __init__(self, target: list[str], home: Path) -> None:
        secret = base64.b64encode(b"s" * 32).decode()
        self.target = target if len(target) == 1 else ["-e", f"DOCUMENT_CURSOR_SECRET={secret}", *target]
        self.home = home

    def ask(self, method: str, *options: str) -> Any:
        patience = ("--connect-timeout", "120000")  # milliseconds, for a machine that is busy with other tests
        return run_json(INSPECTOR, "--cli", *self.target, "--method", method, *patience, *options, home=self.home)

    def call(self, tool: str, **arguments: Any) -> Any:
        pairs = [item for name, value in arguments.items() for item in ("--tool-arg", f"{name}={value}")]
        return self.ask("tools/call", "--tool-name", tool, *pairs)


def test_the_inspector_lists_searches_and_pages(target: list[str], almanac: str, tmp_path: Path) -> None:
    inspector = Inspector(target, tmp_path)
    assert {tool["name"] for tool in inspector.ask("tools/list", "--strict")["tools"]} == TOOLS
    found = inspector.call("search_documents", query="barometer 920", limit=2)
    assert found["structuredContent"]["hits"][0]["documentId"] == almanac
    first = json.loads(inspector.call("get_document", document_id=almanac, block_limit=50)["content"][0]["text"])
    assert first["returnedBlocks"] == 50
    rest = inspector.call("get_document", document_id=almanac, block_limit=50, block_cursor=first["nextBlockCursor"])
    assert json.loads(rest["content"][0]["text"])["returnedBlocks"] == 31
    uri = f"document://{almanac}/normalized"
    assert uri in {item["uri"] for item in inspector.ask("resources/list")["resources"]}
    assert json.loads(inspector.ask("resources/read", "--uri", uri)["contents"][0]["text"])["blocks"]


@pytest.fixture(scope="module")
def conformance_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("conformance")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(CLIENTS.parent / "conformance_app.py"), str(folder / "data")],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    port = process.stdout.readline().strip()
    assert port, (folder / "log").read_text()
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.communicate(timeout=30)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_official_conformance_suite_passes(revision: str, conformance_url: str, tmp_path: Path) -> None:
    """Only what the list beside the clients names may fail, and everything it names must."""
    result = run(
        CONFORMANCE,
        "server",
        "--url",
        conformance_url,
        "--requirements",
        revision,
        "--expected-failures",
        str(CLIENTS / f"conformance-{revision}.yml"),
        home=tmp_path,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert "all failures are expected" in result.stdout
