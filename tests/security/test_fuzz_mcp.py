"""Broken, confused and hostile MCP messages: each is answered or refused in the protocol's words, and the next as well.

`make fuzz` goes on for longer, with messages that differ each time.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from front_door import add
from fuzz_budget import tries
from hypothesis import given
from hypothesis import strategies as st
from leaks import LEAKS
from mcp_fuzz import META, Sent, hello, requests, texts

from mcp_knowledge.errors import ERROR_CODES

pytestmark = pytest.mark.fuzz

USUAL = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
GUIDE = b"# Guide\n\n" + b"The harbour has motors and otters. " * 60
INTERNAL = -32603
UNKNOWN = ("doc_none", "chk_none")


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def check_message(text: bytes) -> dict[str, Any]:
    """An answer of the protocol, that blames nobody on our side and shows nothing from inside."""
    assert b"\n" not in text
    answer: dict[str, Any] = json.loads(text, parse_constant=no_constant)
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer)
    if "error" in answer:
        assert not LEAKS.search(text), text
        assert answer["error"]["code"] != INTERNAL, text
        assert answer["error"]["message"]
    elif answer["result"].get("isError"):
        assert not LEAKS.search(text), text
        code, separator, sentence = answer["result"]["content"][0]["text"].partition(": ")
        assert code in ERROR_CODES and code != "INTERNAL_ERROR" and separator and sentence, text
    return answer


async def check_http(client: httpx2.AsyncClient, sent: Sent) -> None:
    headers = {name: value for name, value in {**USUAL, **sent.headers}.items() if value is not None}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    answer = await client.post("/mcp", content=sent.body, headers=encoded)
    assert answer.status_code < 500, answer.text
    assert answer.headers["x-request-id"] and answer.headers["x-content-type-options"] == "nosniff"
    if answer.status_code == 202:
        assert answer.content == b""
        return
    assert answer.headers["content-type"] == "application/json", answer.text
    check_message(answer.content)


@pytest.fixture
async def known(client: httpx2.AsyncClient) -> tuple[str, ...]:
    """Ids that exist, and some that do not."""
    document = await add(client, "guide.md", GUIDE, metadata='{"year": 2024}')
    chunks = (await client.get(f"/api/v1/documents/{document['id']}/chunks")).json()["items"]
    return (document["id"], chunks[0]["id"], *UNKNOWN)


@pytest.mark.both_databases
@given(data=st.data())
@tries(250)
async def test_any_message_over_http_is_answered_in_the_protocols_words(
    client: httpx2.AsyncClient, known: tuple[str, ...], data: st.DataObject
) -> None:
    await check_http(client, data.draw(requests(known)))


class Pipe:
    """The stdio server as a client sees it: lines in, lines out.

    Args:
        modern: the client speaks the newest revision; else one that begins with a handshake. The first message
            decides, for as long as the process lives.
    """

    def __init__(self, data_dir: Path, modern: bool) -> None:
        command = [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(data_dir), "mcp"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=data_dir.parent
        )
        self.asked = 0
        self.meta = {"_meta": META} if modern else {}
        if not modern:
            self.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello("2025-11-25")}))
            assert "result" in self.read()
        self.check(b"{")

    def write(self, line: str | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return check_message(self.process.stdout.readline().rstrip(b"\n"))

    def check(self, line: bytes) -> None:
        """Send a line, then a good request: everything until its answer must be in the protocol's words."""
        self.asked += 1
        number = f"good-{self.asked}"
        params = {"name": "list_collections", **self.meta}
        self.write(line.replace(b"\n", b" "))
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}))
        while True:
            answer = self.read()
            if answer.get("id") == number:
                assert answer["result"]["structuredContent"] == {"items": []}, answer
                return


@pytest.fixture(scope="module", params=["handshake", "modern"])
def pipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    opened = Pipe(tmp_path_factory.mktemp("stdio") / "data", modern=request.param == "modern")
    yield opened
    opened.process.kill()
    opened.process.communicate()


@given(line=texts(UNKNOWN))
@tries(150)
def test_any_line_over_stdio_is_answered_in_the_protocols_words(pipe: Pipe, line: bytes) -> None:
    pipe.check(line)


def test_after_all_that_the_process_ends_in_order(pipe: Pipe) -> None:
    pipe.check(b"{")
    rest, log = pipe.process.communicate(timeout=30)
    assert (rest, pipe.process.returncode) == (b"", 0)
    assert b"Traceback" not in log, log[-3000:]
