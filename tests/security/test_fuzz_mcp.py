"""Broken, confused and hostile MCP messages: each is answered or refused in the protocol's words, and the next as well.

`make fuzz` goes on for longer, with messages that differ each time.
"""

import json
import queue
import subprocess
import sys
import threading
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
ANSWER_S = 30
ENDLESS = "subscriptions/listen"  # answered when it ends
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
@tries(120)
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
        self.said: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()
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
        return check_message(self.said.get(timeout=ANSWER_S))

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.put(line.rstrip(b"\n"))

    def check(self, line: bytes) -> None:
        """Send a line, then a good request: both are answered, and all in the protocol's words."""
        self.asked += 1
        number = f"good-{self.asked}"
        params = {"name": "list_collections", **self.meta}
        line = line.replace(b"\n", b" ")
        self.write(line)
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}))
        awaited = [number, *answered_ids(line)]
        while awaited:
            answer = self.read()
            if answer["id"] in awaited:
                awaited.remove(answer["id"])
            if answer["id"] == number:
                assert answer["result"]["structuredContent"] == {"items": []}, answer


def answered_ids(line: bytes) -> list[Any]:
    """The id of the answer that a line must get."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return [None]
    if not isinstance(message, dict):
        return [None]
    number = message.get("id")
    is_request = isinstance(message.get("method"), str) and isinstance(number, int | str)
    return [number] if is_request and not isinstance(number, bool) and message["method"] != ENDLESS else []


@pytest.fixture(scope="module", params=["handshake", "modern"])
def pipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    opened = Pipe(tmp_path_factory.mktemp("stdio") / "data", modern=request.param == "modern")
    yield opened
    opened.process.kill()
    opened.process.wait()


@given(line=texts(UNKNOWN))
@tries(80)
def test_any_line_over_stdio_is_answered_in_the_protocols_words(pipe: Pipe, line: bytes) -> None:
    pipe.check(line)


def test_after_all_that_the_process_ends_in_order(pipe: Pipe) -> None:
    pipe.check(b"{")
    assert pipe.process.stdin is not None and pipe.process.stderr is not None
    pipe.process.stdin.close()
    assert pipe.process.wait(timeout=ANSWER_S) == 0
    log = pipe.process.stderr.read()
    assert b"Traceback" not in log, log[-3000:]
