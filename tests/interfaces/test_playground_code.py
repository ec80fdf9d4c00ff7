"""What the playground offers as code must run: the command in a shell, the program in Python, the call over MCP."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from access_kit import PASSPHRASE, bearer
from front_door import Server, missing_tool, wait_until

LEAVE = "# Leave policy\n\n## Carrying over\n\nFive unused days of annual leave may be carried over: $HOME `id` 🙂.\n"
METADATA = {"team": 'it\'s "audit" $HOME', "year": 2024, "day": "2024-05-01", "draft": True}
QUERIES = [
    "annual leave",
    'it\'s "annual leave" `id` $(id) $HOME \\ !! %s {} 🙂',
    "unused\ndays\tof leave; rm -rf 'x' #",
    "--data @/etc/passwd leave",
    "'''leave\"\"\" {q} \\n",
    "\u202eleave \x01\x7f\u2028",
]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"mode": "lexical", "limit": 2, "collapse": "document", "expand": "neighbors", "before": 1, "after": 0},
    {"fusion": "relative", "limit": 50, "expand": "document"},
    {"filters": json.dumps({"team": METADATA["team"], "year": {"gte": 2000, "lte": 2024.5}, "draft": True})},
    {"filters": json.dumps({"none": {"exists": False}, "year": {"in": [2024, "x", None]}, "a": {"neq": 1}})},
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server with a passphrase and documents, and an API key for it."""
    server = Server(tmp_path_factory.mktemp("code") / "data", {"DASHBOARD_PASSPHRASE": PASSPHRASE}).start()
    session = server.request("POST", "/api/v1/session", json={"passphrase": PASSPHRASE})
    headers = {"Cookie": f"mk_session={session.cookies['mk_session']}", "Sec-Fetch-Site": "same-origin"}
    wanted = {"name": "Writer", "scopes": ["write"]}
    key = server.request("POST", "/api/v1/api-keys", json=wanted, headers=headers).json()["secret"]
    for number in range(3):
        server.request(
            "POST",
            "/api/v1/documents",
            files={"file": (f"leave-{number}.md", f"{LEAVE}\n{number}\n".encode())},
            data={"metadata": json.dumps(METADATA)},
            headers=bearer(key),
        )
    listing = f"/api/v1/documents?{urlencode({'status': 'ready'})}"
    wait_until(lambda: len(server.request("GET", listing, headers=bearer(key)).json()["items"]) == 3)
    yield server, key
    server.stop()


def offered(server: Server, key: str, values: dict[str, Any]) -> tuple[list[str], dict[str, str], str]:
    """The hits that the page shows, the code that it offers, by language, and the whole page."""
    answer = server.request("GET", f"/playground?{urlencode(values)}", headers={"Accept": "text/html"} | bearer(key))
    assert answer.status_code == 200, answer.text
    codes = re.findall(r'class="code code-(\w+)">\s*<pre[^>]*><code>(.*?)</code>', answer.text, re.DOTALL)
    hits = re.findall(r'<h3><a href="[^"]*passage=(chk_[0-9a-f]+)#', answer.text)
    return hits, {name: unescape(text) for name, text in codes}, answer.text


def run(command: list[str], key: str, where: Path) -> str:
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MCP_KNOWLEDGE_KEY": key}
    done = subprocess.run(command, env=environment, cwd=where, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("number", range(max(len(QUERIES), len(SETTINGS))))
def test_every_way_finds_what_the_page_shows(service: tuple[Server, str], number: int, tmp_path: Path) -> None:
    server, key = service
    if shutil.which("curl") is None:
        missing_tool("curl is not installed: its command was not tried")
    values = {"q": QUERIES[number % len(QUERIES)], **SETTINGS[number % len(SETTINGS)]}
    shown, codes, html = offered(server, key, values)
    assert shown and key not in html
    body = json.loads(run(["sh", "-c", codes["curl"]], key, tmp_path))
    assert [hit["chunkId"] for hit in body["hits"]] == shown
    (tmp_path / "search.py").write_text(codes["python"], "utf-8")
    printed = run([sys.executable, "-I", "search.py"], key, tmp_path)
    assert re.findall(r"^\d+ (chk_[0-9a-f]+) Leave policy$", printed, re.MULTILINE) == shown
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    answer = server.request("POST", "/mcp", content=codes["mcp"].encode(), headers=headers | bearer(key)).json()
    assert answer["result"].get("isError") is not True, answer
    found = [hit["chunkId"] for hit in answer["result"]["structuredContent"]["hits"]]
    if values.get("fusion"):  # which the page says: not over MCP
        assert sorted(found) == sorted(shown)
        assert "Over MCP, this server merges by rank" in html and "20 results at most" in html
    else:
        assert found == shown


async def test_a_key_is_asked_for_where_one_is_needed(service: tuple[Server, str], client: httpx2.AsyncClient) -> None:
    _, codes, html = offered(*service, {"q": "leave"})
    assert [name for name, text in codes.items() if "MCP_KNOWLEDGE_KEY" in text] == ["curl", "python"]
    assert "Put an API key into the environment variable" in html
    without = (await client.get("/playground?q=leave")).text
    assert "This request as code" in without and "KEY" not in without
