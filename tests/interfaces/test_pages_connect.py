"""Connecting clients: what the page gives to copy is parsed here and used by the official client."""

import json
import logging
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from access_kit import FROM_ELSEWHERE, PASSPHRASE, House, bearer, house, with_passphrase
from front_door import add, running_client
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from page_kit import page, row_of, send, snippets_of, text_of
from rest_kit import API, app_of

from mcp_knowledge.interfaces.web.clients import Endpoint, guides
from mcp_knowledge.settings import Settings, load_settings

TOOLS = 6
HOSTILE = "<script>alert(1)</script>"


async def tools_over_http(client: httpx2.AsyncClient, server: dict[str, Any]) -> int:
    """How many tools a client sees that is configured with this `url` and these `headers`."""
    transport = httpx2.ASGITransport(app=app_of(client), raise_app_exceptions=False)
    async with (
        httpx2.AsyncClient(transport=transport, headers=server.get("headers", {})) as http,
        Client(streamable_http_client(server["url"], http_client=http)) as connected,
    ):
        return len((await connected.list_tools()).tools)


def entry(text: str, root: str = "mcpServers") -> dict[str, Any]:
    """The one server of a configuration."""
    configuration = json.loads(text)
    assert list(configuration) == [root] and list(configuration[root]) == ["knowledge"]
    server: dict[str, Any] = configuration[root]["knowledge"]
    return server


@asynccontextmanager
async def signed_in(settings: Settings) -> AsyncIterator[tuple[House, httpx2.AsyncClient]]:
    """A service with a passphrase, and a client with a session."""
    async with house(with_passphrase(settings)) as running:
        transport = httpx2.ASGITransport(app=app_of(running.client), raise_app_exceptions=False)
        headers = await running.sign_in()
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as visitor:
            yield running, visitor


async def test_every_configuration_is_for_this_address_and_works(client: httpx2.AsyncClient) -> None:
    html = await page(client, "/connect", headers={"Host": "localhost:4711"})
    assert "No key is needed: only programs on this machine reach this server." in html
    texts = snippets_of(html)
    for name, root in (("cursor-config", "mcpServers"), ("vs-code-config", "servers"), ("other-http", "mcpServers")):
        server = entry(texts[name], root)
        assert server["url"] == "http://localhost:4711/mcp" and "headers" not in server
        assert await tools_over_http(client, server) == TOOLS
    assert entry(texts["vs-code-config"], "servers")["type"] == "http"
    assert texts["other-address"] == "http://localhost:4711/mcp"
    assert shlex.split(texts["claude-code-command"]) == [
        *("claude", "mcp", "add", "--transport", "http", "knowledge", "http://localhost:4711/mcp")
    ]
    method, address, *options = shlex.split(texts["rest-curl"].replace("\\\n", " "))
    assert (method, address) == ("curl", "http://localhost:4711/api/v1/search")
    body = options[options.index("-d") + 1]
    assert (await client.post(address, content=body)).status_code == 200


async def test_a_client_on_this_machine_can_start_the_server_itself(settings: Settings) -> None:
    async with running_client(settings) as client:
        await add(client, "tea.txt", b"Green tea with honey.")
        texts = snippets_of(await page(client, "/connect"))
        server = entry(texts["claude-desktop-config"])
        assert server == entry(texts["other-stdio"])
        async with Client(StdioServerParameters(command=server["command"], args=server["args"])) as connected:
            answer = await connected.call_tool("search_documents", {"query": "honey"})
        assert answer.structured_content and answer.structured_content["hits"][0]["title"] == "tea"


async def test_elsewhere_claude_desktop_gets_a_bridge_and_no_path_of_ours_is_told(settings: Settings) -> None:
    changes = {"allowed_hosts": ("docs.example", "docs.example:8443")}
    async with running_client(settings.model_copy(update=changes)) as client:
        for headers, address in (
            ({"Host": "docs.example", "X-Forwarded-Proto": "https"}, "https://docs.example/mcp"),
            ({"Host": "docs.example:8443"}, "http://docs.example:8443/mcp"),
            ({"Host": "127.0.0.1:3000", "X-Forwarded-For": "10.0.0.9"}, "http://127.0.0.1:3000/mcp"),
        ):
            html = await page(client, "/connect", headers=headers)
            server = entry(snippets_of(html)["claude-desktop-config"])
            assert server["command"] == "npx" and server["args"][:3] == ["-y", "mcp-remote", address]
            assert ("--allow-http" in server["args"]) == address.startswith("http://docs")
            assert "other-stdio" not in html and str(settings.data_dir) not in html


async def test_a_visitor_from_another_machine_is_told_no_path_of_ours(client: httpx2.AsyncClient) -> None:
    transport = httpx2.ASGITransport(app=app_of(client), client=("192.168.1.9", 5))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as stranger:
        assert "other-stdio" not in await page(stranger, "/connect")


async def test_a_host_that_no_browser_sends_is_not_repeated(client: httpx2.AsyncClient) -> None:
    for host in ("localhost:$(reboot)", "localhost:80;ls", "[::1]:x", "localhost:123456"):
        assert host not in await page(client, "/connect", 421, headers={"Host": host})
    texts = snippets_of(await page(client, "/connect", headers={"Host": "localhost:"}))
    assert texts["other-address"] == "http://127.0.0.1:3000/mcp"


def test_an_address_in_brackets_is_quoted_for_shells() -> None:
    texts = {
        item.id: item.text for guide in guides(Endpoint("http://[::1]:3000", "key_x", None)) for item in guide.snippets
    }
    assert shlex.split(texts["claude-code-command"])[6:] == [
        *("http://[::1]:3000/mcp", "--header", "Authorization: Bearer key_x")
    ]
    assert '"http://[::1]:3000/mcp"' in texts["claude-code-command"]


async def test_a_key_made_on_the_spot_is_shown_once_in_every_configuration(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with signed_in(settings) as (running, visitor):
        before = await page(visitor, "/connect?client=cursor")
        assert '<details name="client" id="cursor" open>' in before and "YOUR_API_KEY" in before
        answer = await send(visitor, "/connect/key", client="cursor", name="Cursor of Ada")
        assert answer.status_code == 200 and answer.headers["cache-control"] == "no-store"
        texts = snippets_of(answer.text)
        secret = texts.pop("secret")
        assert secret.startswith("key_") and "YOUR_API_KEY" not in answer.text
        assert '<details name="client" id="cursor" open>' in answer.text
        for name in ("cursor-config", "vs-code-config", "other-http", "claude-code-command", "rest-curl"):
            assert f"Bearer {secret}" in texts[name], name
        assert await tools_over_http(running.client, entry(texts["cursor-config"])) == TOOLS
        assert await tools_over_http(running.client, entry(texts["vs-code-config"], "servers")) == TOOLS
        with pytest.raises(Exception):  # noqa: B017  # the SDK wraps the 401 in whatever it likes
            await tools_over_http(running.client, entry(snippets_of(before)["cursor-config"]))
        for path in ("/connect", "/keys", "/connect/key"):
            later = await visitor.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
            assert later.status_code == 200 and secret not in later.text
        assert "search and read" in row_of(await page(visitor, "/keys"), "Cursor of Ada")
        assert (await running.client.delete(f"{API}/documents/x", headers=bearer(secret))).status_code == 403
        assert "POST /connect/key 200" in caplog.text and secret not in caplog.text


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\x07b"])
async def test_a_key_needs_a_name(settings: Settings, name: str) -> None:
    async with signed_in(settings) as (_, visitor):
        for path, fields in (("/connect/key", {"client": "cursor"}), ("/keys", {"scope": "write"})):
            answer = await send(visitor, path, name=name, **fields)
            assert answer.status_code == 400
            assert "Give it a name of up to 200 characters" in answer.text
        assert "There are no keys" in await page(visitor, "/keys")


async def test_keys_are_made_with_a_scope_listed_and_revoked(settings: Settings) -> None:
    async with signed_in(settings) as (running, visitor):
        made = await send(visitor, "/keys", name=HOSTILE, scope="admin")
        assert made.headers["cache-control"] == "no-store" and HOSTILE not in made.text
        key = bearer(snippets_of(made.text)["secret"])
        assert (await running.client.get(f"{API}/api-keys", headers=key)).status_code == 200
        html = await page(visitor, "/keys")
        assert "also make keys made just now used" in row_of(html, "&lt;script&gt;")
        assert (await send(visitor, "/keys", name="x", scope="root")).status_code == 400
        (key_id,) = [item["id"] for item in (await visitor.get(f"{API}/api-keys")).json()["items"]]
        answer = await send(visitor, f"/keys/{key_id}/revoke")
        assert (answer.status_code, answer.headers["location"]) == (303, "/keys?notice=revoked")
        assert (await running.client.get("/", headers=key)).status_code == 401
        assert (await send(visitor, f"/keys/{key_id}/revoke")).headers["location"] == "/keys?notice=gone"
        assert "INVALID_CURSOR" in await page(visitor, "/keys?after=odd", 400)


async def test_no_key_and_no_other_site_makes_keys_that_reach_further(settings: Settings) -> None:
    async with signed_in(settings) as (running, visitor):
        for key in (await running.make_key("read"), await running.make_key("write")):
            for path in ("/keys", "/connect/key", "/keys/key_1/revoke", "/keys/", "/connect/key/"):
                answer = await running.client.post(path, data={"name": "Mine", "scope": "admin"}, headers=key)
                assert answer.status_code == 403, path
        elsewhere = await visitor.post("/keys", data={"name": "Mine"}, headers=FROM_ELSEWHERE)
        assert elsewhere.status_code == 403
        names = [item["name"] for item in (await visitor.get(f"{API}/api-keys")).json()["items"]]
        assert names == ["A key", "A key"]


async def test_the_test_goes_the_way_of_a_client_with_the_key_that_is_given(settings: Settings) -> None:
    async with signed_in(settings) as (_, visitor):
        await add(visitor, "tea.txt", b"Green tea.")
        document_id = (await visitor.get(f"{API}/documents")).json()["items"][0]["id"]
        await visitor.patch(f"{API}/documents/{document_id}", json={"title": HOSTILE})
        made = await send(visitor, "/keys", name="Reader", scope="read")
        secret = snippets_of(made.text)["secret"]
        answer = await send(visitor, "/connect/test", client="vs-code", key=secret)
        assert answer.headers["cache-control"] == "no-store" and HOSTILE not in answer.text
        text = text_of(answer.text)
        assert "It works" in text and "2025-11-25" in text and "list_document_catalog" in text
        assert f"answered, and found “{HOSTILE}”" in text
        assert f"As the key {secret[:12]}…" in text
        assert secret in snippets_of(answer.text)["vs-code-config"]

        as_visitor = await send(visitor, "/connect/test")
        assert "As you, signed in in this browser" in text_of(as_visitor.text)
        key_id = (await visitor.get(f"{API}/api-keys")).json()["items"][0]["id"]
        await visitor.delete(f"{API}/api-keys/{key_id}")
        revoked = text_of((await send(visitor, "/connect/test", key=secret)).text)
        assert "It does not work The key is not known here. It was revoked" in revoked
        for given in (PASSPHRASE, "key_" + "x" * 300, "key_ä", "key_\x07"):
            refused = await send(visitor, "/connect/test", key=given)
            assert "This is not a key." in refused.text and "YOUR_API_KEY" in refused.text


async def test_the_test_needs_no_key_where_none_is_needed(client: httpx2.AsyncClient) -> None:
    text = text_of((await send(client, "/connect/test", client="cursor")).text)
    assert "It works" in text and "nothing to find yet" in text and "As anybody, without a key" in text


async def test_a_search_that_fails_is_told_apart_from_a_connection_that_does(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_knowledge.services.search import Search

    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(Search, "search", broken)
    text = text_of((await send(client, "/connect/test")).text)
    assert "The connection works, but the search failed. Something went wrong on our side." in text
    assert "secret of ours" not in text


async def test_open_to_a_network_without_a_passphrase_the_page_says_what_that_means(settings: Settings) -> None:
    changes = {"host": "0.0.0.0", "allow_insecure_bind": True}
    async with running_client(load_settings(**{**settings.model_dump(), **changes})) as client:
        assert "everyone who reaches this address may search here, and change everything" in await page(
            client, "/connect"
        )
