"""Two API processes on one database: whichever is asked, access is the same."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from access_kit import PASSPHRASE, House, bearer, house, with_passphrase
from front_door import running_client
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from rest_kit import API, app_of, assert_error

from mcp_knowledge.settings import Settings, load_settings

Pair = tuple[House, House]


@pytest.fixture(params=["sqlite", "postgres"])
async def pair(request: pytest.FixtureRequest, settings: Settings) -> AsyncIterator[Pair]:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_dsn")
        settings = load_settings(data_dir=settings.data_dir, database_driver="postgres", database_url=url)
    async with house(with_passphrase(settings)) as first, house(with_passphrase(settings)) as second:
        yield first, second


async def test_who_signs_in_at_one_is_signed_in_at_the_other(pair: Pair) -> None:
    first, second = pair
    session = await first.sign_in()
    assert (await second.client.get(f"{API}/documents", headers=session)).status_code == 200
    made = await second.client.post(f"{API}/collections", json={"name": "Shared"}, headers=session)
    assert made.status_code == 201


async def test_a_page_begun_at_one_goes_on_at_the_other(pair: Pair) -> None:
    first, second = pair
    session = await first.sign_in()
    for number in range(3):
        await first.client.post(f"{API}/collections", json={"name": f"Shelf {number}"}, headers=session)
    page = (await first.client.get(f"{API}/collections", params={"limit": "2"}, headers=session)).json()
    rest = await second.client.get(f"{API}/collections", params={"cursor": page["nextCursor"]}, headers=session)
    assert [item["name"] for item in rest.json()["items"]] == ["Shelf 0"]


async def test_a_key_revoked_at_one_is_dead_at_the_other(pair: Pair) -> None:
    first, second = pair
    admin = await first.make_key("admin")
    made = (await first.client.post(f"{API}/api-keys", json={"name": "Guest"}, headers=admin)).json()
    guest = bearer(made["secret"])
    for house_asked in (first, second, first, second):
        assert (await house_asked.client.get(f"{API}/documents", headers=guest)).status_code == 200
    assert (await second.client.delete(f"{API}/api-keys/{made['id']}", headers=admin)).status_code == 204
    for house_asked in (first, second):
        assert_error(await house_asked.client.get(f"{API}/documents", headers=guest), 401, "UNAUTHORIZED")


async def test_failed_tries_are_counted_over_both(pair: Pair) -> None:
    async def attempt(number: int) -> int:
        body = {"passphrase": "wrong"}
        return (await pair[number % 2].client.post(f"{API}/session", json=body)).status_code

    outcomes = await asyncio.gather(*(attempt(number) for number in range(24)))
    assert (outcomes.count(401), outcomes.count(429)) == (10, 14)
    for running in pair:
        answer = await running.client.post(f"{API}/session", json={"passphrase": PASSPHRASE})
        assert_error(answer, 429, "TOO_MANY_ATTEMPTS")


async def test_an_mcp_client_lists_tools_at_either_with_one_key(pair: Pair) -> None:
    key = await pair[0].make_key("read")
    for running in pair:
        transport = running.client._transport  # no public way to it
        async with (
            httpx2.AsyncClient(transport=transport, headers=key) as http,
            Client(streamable_http_client("http://127.0.0.1/mcp", http_client=http)) as client,
        ):
            assert "search_documents" in {tool.name for tool in (await client.list_tools()).tools}
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            answer = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            assert_error(answer, 401, "UNAUTHORIZED")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert_error(await http.get("/.well-known/oauth-protected-resource/mcp"), 404, "NOT_FOUND")


async def test_a_process_that_only_ingests_answers_its_supervisor_and_nobody_else(
    settings: Settings, postgres_dsn: str
) -> None:
    shared = {"data_dir": settings.data_dir, "database_driver": "postgres", "database_url": postgres_dsn}
    async with house(with_passphrase(load_settings(**shared))) as api:
        reader, session = await api.make_key("read"), await api.sign_in()
        paths = (await api.client.get("/openapi.json", headers=reader)).json()["paths"]
        async with running_client(with_passphrase(load_settings(**shared, role="worker"))) as worker:
            for path in ("/health", "/ready"):
                assert (await worker.get(path)).status_code == 200
            for headers, status in (({}, 401), (bearer("key_wrong"), 401), (reader, 200), (session, 200)):
                assert (await worker.get("/metrics", headers=headers)).status_code == status
            for path in {*paths, "/", "/login", "/mcp", "/docs", "/static/app.css"} - {"/health", "/ready", "/metrics"}:
                for headers in ({}, reader, session):
                    answer = await worker.post(path.replace("{", "").replace("}", ""), headers=headers)
                    assert_error(answer, 404, "NOT_FOUND")
            assert_error(await worker.get("/health", headers={"Host": "evil.example"}), 421, "HOST_NOT_ALLOWED")


async def test_a_use_at_one_shows_at_the_other(pair: Pair) -> None:
    first, second = pair
    key = await first.make_key("read")
    assert (await second.client.get(f"{API}/documents", headers=key)).status_code == 200
    await app_of(second.client).state.services.access.close()
    session = await first.sign_in()
    (item,) = (await first.client.get(f"{API}/api-keys", headers=session)).json()["items"]
    assert item["lastUsedAt"] is not None
