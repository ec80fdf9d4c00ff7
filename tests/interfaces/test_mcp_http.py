import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp_corpus import HANDBOOK, LONG, RealServer

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN = {"MCP-Protocol-Version": "2026-07-28"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def almanac(server: RealServer) -> str:
    server.add("handbook.md", HANDBOOK.encode())
    document_id: str = server.add("almanac.md", LONG.encode())["id"]
    return document_id


@pytest.fixture(scope="module")
def web(server: RealServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=30) as client:
        yield client


def send(web: httpx2.Client, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes | str) else json.dumps(body)
    return web.post("/mcp", content=content, headers={**HEADERS, **headers})


def message(method: str, modern: bool = False, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **({"_meta": META} if modern else {})}}


def routed(method: str, name: str | None = None) -> dict[str, str]:
    return {**MODERN, "Mcp-Method": method, **({} if name is None else {"Mcp-Name": name})}


def error(answer: httpx2.Response, status: int, code: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    data = answer.json()
    assert data["jsonrpc"] == "2.0"
    assert data["error"]["code"] == code
    text: str = data["error"]["message"]
    return text


def test_a_post_is_answered_in_place_as_json_without_a_session(web: httpx2.Client) -> None:
    answer = send(web, message("tools/list"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    assert len(answer.json()["result"]["tools"]) == 6


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_older_revision_is_negotiated_and_spoken(web: httpx2.Client, version: str) -> None:
    client: dict[str, Any] = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    hello = send(web, message("initialize", **client)).json()["result"]
    assert hello["protocolVersion"] == version
    assert hello["serverInfo"]["name"] == "mcp-knowledge"
    assert "search_documents" in hello["instructions"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert send(web, ready, **{"MCP-Protocol-Version": version}).status_code == 202
    called = message("tools/call", name="list_collections", arguments={})
    answer = send(web, called, **{"MCP-Protocol-Version": version}).json()
    assert json.loads(answer["result"]["content"][0]["text"]) == {"items": []}


def test_the_newest_revision_needs_no_handshake(web: httpx2.Client) -> None:
    found = send(web, message("server/discover", modern=True), **routed("server/discover")).json()["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert "search_documents" in found["instructions"]
    assert found["ttlMs"] > 0
    listed = send(web, message("tools/list", modern=True), **routed("tools/list")).json()["result"]
    assert len(listed["tools"]) == 6
    assert listed["resultType"] == "complete"


def test_an_unknown_revision_is_refused_with_those_that_work(web: httpx2.Client) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    answer = send(
        web, message("tools/list", _meta=meta), **{**routed("tools/list"), "MCP-Protocol-Version": "2031-01-01"}
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["data"]["supported"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_other_methods_are_refused_at_once(web: httpx2.Client, method: str) -> None:
    answer = web.request(method, "/mcp", headers={"Accept": "text/event-stream"})
    error(answer, 405, -32600)
    assert answer.headers["allow"] == "POST"


def test_a_head_request_is_refused_too(web: httpx2.Client) -> None:
    assert web.head("/mcp").status_code == 405


def test_the_address_is_exact(web: httpx2.Client) -> None:
    for path in ("/mcp/", "/mcp/x", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"):
        answer = web.post(path, json={}) if path.startswith("/mcp") else web.get(path)
        assert answer.status_code == 404, path
        assert answer.json()["error"]["code"] == "NOT_FOUND"


def test_what_is_no_mcp_message_is_refused_with_a_json_body(web: httpx2.Client) -> None:
    error(send(web, "{"), 400, -32700)
    error(send(web, b"\xff\xfe"), 400, -32700)
    error(send(web, "[" * 100_000), 400, -32700)
    error(send(web, "9" * 10_000), 400, -32700)
    error(send(web, ""), 400, -32700)
    for body in ([], [message("ping")], "text", 5, None, {}, {"jsonrpc": "1.0", "id": 1, "method": "ping"}):
        assert "pydantic" not in error(send(web, json.dumps(body)), 400, -32600)
    no_ids: tuple[Any, ...] = (None, 1.5, [], {})
    for number in no_ids:
        error(send(web, {**message("ping"), "id": number}), 400, -32600)
    error(send(web, message("ping"), **{"Content-Type": "text/plain"}), 415, -32600)
    error(send(web, message("ping"), Accept="text/html"), 406, -32600)


def test_an_oversized_message_is_refused_however_it_announces_its_size(web: httpx2.Client) -> None:
    large = json.dumps(message("tools/call", name="search_documents", arguments={"query": "x" * 2_000_000}))
    error(send(web, large), 413, -32600)

    def pieces() -> Any:
        for start in range(0, len(large), 65_536):
            yield large[start : start + 65_536].encode()

    error(web.post("/mcp", content=pieces(), headers=HEADERS), 413, -32600)


def test_a_client_that_names_no_acceptable_type_gets_json(server: RealServer) -> None:
    """Raw bytes, because every client library adds an Accept header."""
    body = json.dumps(message("tools/list")).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: {urlsplit(server.url).netloc}\r\nContent-Length: {len(body)}\r\n"
    request = f"{head}Content-Type: application/json\r\nMCP-Protocol-Version: 2025-06-18  \r\nConnection: close\r\n\r\n"
    with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), timeout=30) as connection:
        connection.sendall(request.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"search_documents"' in answer


@pytest.mark.parametrize("arguments", [[], "text", 5, True, [{"query": "x"}]])
@pytest.mark.parametrize("modern", [False, True])
def test_arguments_that_are_no_object_are_the_tools_error(web: httpx2.Client, arguments: Any, modern: bool) -> None:
    body = message("tools/call", modern, name="search_documents", arguments=arguments)
    answer = send(web, body, **(routed("tools/call", "search_documents") if modern else {})).json()
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"].startswith("INVALID_TOOL_ARGUMENTS: ")


def test_a_tool_without_required_arguments_needs_none_at_all(web: httpx2.Client) -> None:
    for params in ({"name": "list_collections"}, {"name": "list_collections", "arguments": None}):
        assert "result" in send(web, message("tools/call", **params)).json()


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "no_such_tool", "arguments": {}}, -32602),
        ("tools/call", {"arguments": {}}, -32602),
        ("tools/call", {"name": 5}, -32602),
        ("tools/delete", {}, -32601),
        ("prompts/list", {}, -32601),
        ("resources/subscribe", {"uri": "document://doc_1"}, -32601),
        ("resources/read", {"uri": "document://doc_none"}, -32602),
        ("resources/list", {"cursor": "x"}, -32602),
    ],
)
def test_a_broken_request_is_a_protocol_error(
    web: httpx2.Client, method: str, params: dict[str, Any], code: int
) -> None:
    assert send(web, message(method, **params)).json()["error"]["code"] == code


def test_foreign_hosts_and_origins_are_turned_away(web: httpx2.Client) -> None:
    for headers, status, code in (
        ({"Host": "evil.example"}, 421, "HOST_NOT_ALLOWED"),
        ({"Origin": "http://evil.example"}, 403, "FORBIDDEN"),
    ):
        answer = send(web, message("tools/list"), **headers)
        assert answer.status_code == status
        assert answer.json()["error"]["code"] == code
    assert send(web, message("tools/list"), Host="localhost").status_code == 200


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=60)
    | JSON.map(json.dumps)
    | st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0")},
        optional={
            "id": st.integers() | st.text(max_size=5) | JSON,
            "method": st.sampled_from(["tools/call", "tools/list", "resources/read", "resources/list", "ping", "x"]),
            "params": st.fixed_dictionaries(
                {},
                optional={
                    "name": st.sampled_from(["search_documents", "get_document", "list_document_catalog"]) | JSON,
                    "arguments": st.dictionaries(st.sampled_from(["query", "limit", "filters", "cursor"]), JSON) | JSON,
                    "uri": st.text(max_size=20) | JSON,
                    "cursor": JSON,
                    "_meta": JSON | st.just(META),
                },
            )
            | JSON,
        },
    ).map(json.dumps),
    version=st.sampled_from(["2025-06-18", "2025-11-25", "2026-07-28", "nonsense", ""]),
)
def test_no_noise_brings_more_than_a_refusal(web: httpx2.Client, body: bytes | str, version: str) -> None:
    answer = send(web, body, **({"MCP-Protocol-Version": version} if version else {}))
    assert answer.status_code < 500, answer.text
    assert answer.status_code == 202 or answer.headers["content-type"] == "application/json"
    assert "Traceback" not in answer.text
    assert "pydantic" not in answer.text
    assert "-32603" not in answer.text
    assert "INTERNAL_ERROR" not in answer.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_python_client_searches_and_pages(server: RealServer, almanac: str, mode: str) -> None:
    async with Client(f"{server.url}/mcp", mode=mode) as client:
        assert len((await client.list_tools()).tools) == 6
        found = await client.call_tool("search_documents", {"query": "barometer 920", "limit": 1})
        assert found.structured_content["hits"][0]["documentId"] == almanac
        blocks = 0
        arguments: dict[str, Any] = {"document_id": almanac, "block_limit": 30}
        while True:
            result = await client.call_tool("get_document", arguments)
            page = json.loads(result.content[0].model_dump()["text"])
            blocks += page["returnedBlocks"]
            if not page["truncated"]:
                break
            arguments["block_cursor"] = page["nextBlockCursor"]
        assert blocks == page["totalBlocks"] == 81
