import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_corpus import HANDBOOK, LONG, RealServer

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
def data_dir(server: RealServer) -> Path:
    server.add("handbook.md", HANDBOOK.encode())
    server.add("almanac.md", LONG.encode())
    return server.data_dir


def command(data_dir: Path) -> list[str]:
    return [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(data_dir), "mcp"]


class Pipe:
    """The stdio server as a client sees it: lines in, lines out."""

    def __init__(self, data_dir: Path) -> None:
        self.process = subprocess.Popen(
            command(data_dir),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=data_dir.parent,
        )

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and read lines until its answer; every line must be a protocol message."""
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        assert self.process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            if answer.get("id") == number:
                return answer

    def close(self) -> tuple[str, int]:
        """End of input; what was still on standard output, and the exit code."""
        rest, _ = self.process.communicate(timeout=30)
        return rest, self.process.returncode


@pytest.fixture
def pipe(data_dir: Path) -> Iterator[Pipe]:
    opened = Pipe(data_dir)
    with opened.process:
        yield opened
        opened.process.kill()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_python_client_searches_and_pages_beside_a_running_server(data_dir: Path, mode: str) -> None:
    program, *arguments = command(data_dir)
    server = StdioServerParameters(command=program, args=arguments, cwd=data_dir.parent)
    async with Client(server, mode=mode) as client:
        assert len((await client.list_tools()).tools) == 6
        found = await client.call_tool("search_documents", {"query": "INV-0042", "limit": 1})
        (hit,) = found.structured_content["hits"]
        assert "INV-0042" in hit["content"]
        result = await client.call_tool("get_document", {"document_id": hit["documentId"], "block_limit": 3})
        page = json.loads(result.content[0].model_dump()["text"])
        assert page["returnedBlocks"] == 3
        assert page["nextBlockCursor"]


def test_nothing_but_protocol_messages_reaches_standard_output(pipe: Pipe) -> None:
    pipe.write("this is no JSON")
    pipe.write('{"jsonrpc":"2.0"}')
    pipe.write("[]")
    found = pipe.ask(1, "tools/call", name="search_documents", arguments={"query": "INV-0042"}, _meta=META)
    assert found["result"]["structuredContent"]["hits"]
    wrong = pipe.ask(2, "tools/call", name="search_documents", arguments=["INV-0042"], _meta=META)
    assert wrong["result"]["content"][0]["text"].startswith("INVALID_TOOL_ARGUMENTS: ")
    unknown = pipe.ask(3, "tools/call", name="nothing", arguments={}, _meta=META)
    assert unknown["error"]["code"] == -32602
    assert pipe.close() == ("", 0)


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        ("this is no JSON", None, -32700),
        ('{"jsonrpc": "2.0", "id": 7, "method": 5}', 7, -32600),
        ('{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": []}', "a", -32600),
        ('{"id": 7, "method": "ping"}', 7, -32600),
        ('[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', None, -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered(pipe: Pipe, line: str, number: Any, code: int) -> None:
    pipe.write(line)
    assert pipe.process.stdout is not None
    answer = json.loads(pipe.process.stdout.readline())
    assert (answer["id"], answer["error"]["code"]) == (number, code)


def test_what_was_asked_before_the_end_of_input_is_answered(pipe: Pipe) -> None:
    for number in range(20):
        arguments = {"query": f"INV-0042 {number}\ud800"}
        params = {"name": "search_documents", "arguments": arguments, "_meta": META}
        pipe.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}))
    rest, exit_code = pipe.close()
    answers = [json.loads(line) for line in rest.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(20))
    assert all(answer["result"]["structuredContent"]["hits"] for answer in answers)
    assert exit_code == 0


def test_a_client_that_goes_away_while_it_is_answered_ends_the_process(pipe: Pipe) -> None:
    assert pipe.process.stdin is not None and pipe.process.stdout is not None and pipe.process.stderr is not None
    pipe.ask(1, "server/discover", _meta=META)
    pipe.process.stdout.close()
    pipe.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "server/discover", "params": {"_meta": META}}))
    pipe.process.stdin.close()
    assert pipe.process.wait(timeout=30) == 1
    said = pipe.process.stderr.read()
    assert "its client went away" in said and "Traceback" not in said


def test_the_process_ends_when_its_client_goes_away(pipe: Pipe) -> None:
    assert pipe.ask(1, "server/discover", _meta=META)["result"]["supportedVersions"] == ["2026-07-28"]
    assert pipe.close() == ("", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_although_its_input_is_open(pipe: Pipe, number: signal.Signals) -> None:
    pipe.ask(1, "server/discover", _meta=META)
    pipe.process.send_signal(number)
    assert pipe.process.wait(timeout=30) == -number


def test_documents_added_by_the_server_are_found_by_a_stdio_process_that_runs_already(
    pipe: Pipe, server: RealServer
) -> None:
    def hits() -> list[Any]:
        arguments = {"query": "FERRY-7731", "mode": "hybrid", "limit": 1, "filters": {"kind": "ferry"}}
        answer = pipe.ask(1, "tools/call", name="search_documents", arguments=arguments, _meta=META)
        found: list[Any] = answer["result"]["structuredContent"]["hits"]
        return found

    assert hits() == []
    document = server.add("ferry.txt", b"The ferry FERRY-7731 sails on Sundays.", metadata='{"kind": "ferry"}')
    assert [hit["documentId"] for hit in hits()] == [document["id"]]
