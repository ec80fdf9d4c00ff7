import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from front_door import running_client
from hypothesis import given
from hypothesis import strategies as st
from rest_kit import API, assert_error

from mcp_knowledge.interfaces.rest.hosts import HostRules
from mcp_knowledge.settings import load_settings


@pytest.fixture
async def listed_client(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    settings = load_settings(data_dir=tmp_path / "data", allowed_hosts="docs.example.org, Proxy.Example.org:8443")
    async with running_client(settings) as client:
        yield client


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:3000",
        "LOCALHOST:1",
        "LocalHost.:1",
        "localhost:",
        "127.0.0.1:3000",
        "127.9.9.9",
        "127.0.0.1.",
        "[::1]",
        "[::1]:80",
        "[0:0::1]:80",
    ],
)
async def test_loopback_names_are_answered_on_any_port(client: httpx2.AsyncClient, host: str) -> None:
    assert (await client.get("/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:3000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.1.5",
        "0.0.0.0",
        "",
        "localhost@evil.example",
        "localhost:80@evil.example",
        "user@localhost",
        "user:password@localhost:3000",
        "localhost:evil",
        "localhost:80:80",
        "localhost:123456",
        "localhost..",
        "localhost/",
        "localhost/../evil.example",
        "localhost#evil.example",
        "localhost,localhost",
        "localhost evil.example",
        "[::2]",
        "[::1",
        "::1",
        "[::1].evil.example",
        "[::1]evil.example:80",
        "[::1%25lo]",
        "[localhost]",
        "2130706433",
        "0x7f.1",
        "127.1",
    ],
)
async def test_other_names_are_turned_away_everywhere(client: httpx2.AsyncClient, host: str) -> None:
    for path in ("/health", f"{API}/documents", "/", "/docs", "/nope", "/mcp"):
        assert_error(await client.get(path, headers={"Host": host}), 421, "HOST_NOT_ALLOWED")


def test_a_listed_address_is_one_in_every_spelling() -> None:
    rules = HostRules(load_settings(allowed_hosts="[FD00:0::1],192.0.2.7,[fd00::2]:8443"))
    assert all(map(rules.allows_host, ("[fd00::1]", "[fd00:0:0::1]:3000", "192.0.2.7:1", "[fd00::2]:8443")))
    assert not any(map(rules.allows_host, ("[fd00::2]", "[fd00::2]:1", "[fd00::3]", "192.0.2.8")))


@pytest.fixture(scope="module")
def rules() -> HostRules:
    return HostRules(load_settings(host="127.0.0.1", allowed_hosts=""))


@given(text=st.text(st.characters(max_codepoint=255), max_size=6))
def test_nothing_may_stand_around_a_name(rules: HostRules, text: str) -> None:
    for host, grammar in (
        (f"localhost{text}", r"localhost\.?(:[0-9]{0,5})?"),
        (f"{text}localhost", "localhost"),
        (f"[::1]{text}", r"\[::1\](:[0-9]{0,5})?"),
        (f"[::{text}]", r"\[::0{0,3}1\]|\[::ffff:7f[0-9a-f]{2}:.*|\[::(0:)*0{0,3}1\]"),
        (f"127.0.0.{text}", r"127\.0\.0\.[0-9]{1,3}\.?(:[0-9]{0,5})?"),
    ):
        assert not rules.allows_host(host) or re.fullmatch(grammar, host.lower()), host


async def test_a_second_host_header_does_not_help(client: httpx2.AsyncClient) -> None:
    for hosts in (("localhost", "evil.example"), ("evil.example", "localhost")):
        answer = await client.get("/health", headers=[("Host", host) for host in hosts])
        assert_error(answer, 421, "HOST_NOT_ALLOWED")


async def test_an_operator_behind_a_proxy_is_told_which_host_came_and_what_to_set(client: httpx2.AsyncClient) -> None:
    strange = await client.get("/health", headers={"Host": "docs.example.org:8443"})
    assert "'docs.example.org:8443'" in strange.json()["error"]["message"]
    unreadable = await client.get("/health", headers={"Host": "<b>evil"})
    assert "evil" not in unreadable.text
    headers = {"Host": "127.0.0.1:3000", "Origin": "https://docs.example.org"}
    assert "ALLOWED_HOSTS" in (await client.post("/login", headers=headers)).json()["error"]["message"]


async def test_listed_names_are_answered(listed_client: httpx2.AsyncClient) -> None:
    for host in ("docs.example.org", "DOCS.example.org:9", "docs.example.org.", "proxy.example.org:8443", "localhost"):
        assert (await listed_client.get("/health", headers={"Host": host})).status_code == 200, host
    for host in ("proxy.example.org", "proxy.example.org:1", "other.example.org", "a.docs.example.org"):
        assert_error(await listed_client.get("/health", headers={"Host": host}), 421, "HOST_NOT_ALLOWED")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:8080"},
        {"Origin": "null"},
        {"Origin": "file://"},
        {"Origin": "http://localhost:3000.evil.example"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "none"},
        {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_other_sites_cannot_change_anything(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    headers |= {"Host": "localhost:3000"}
    for path in (f"{API}/collections", f"{API}/search", f"{API}/documents", "/mcp"):
        assert_error(await client.post(path, json={"name": "x"}, headers=headers), 403, "FORBIDDEN")
    assert (await client.get(f"{API}/collections", headers=headers)).json()["items"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost:3000"},
        {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
)
async def test_our_own_pages_and_programs_can(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.post(
        f"{API}/collections", json={"name": "Mine"}, headers={**headers, "Host": "localhost:3000"}
    )
    assert answer.status_code == 201


async def test_a_listed_host_may_be_the_origin_behind_a_proxy(listed_client: httpx2.AsyncClient) -> None:
    headers = {"Host": "127.0.0.1:3000", "Origin": "https://docs.example.org"}
    answer = await listed_client.post(f"{API}/collections", json={"name": "Mine"}, headers=headers)
    assert answer.status_code == 201


async def test_another_port_of_a_listed_host_is_another_site(listed_client: httpx2.AsyncClient) -> None:
    for origin in ("http://docs.example.org:8080", "https://proxy.example.org", "https://proxy.example.org:1"):
        headers = {"Host": "docs.example.org:3000", "Origin": origin}
        answer = await listed_client.post(f"{API}/collections", json={"name": "Mine"}, headers=headers)
        assert_error(answer, 403, "FORBIDDEN")


def test_bound_to_all_addresses_a_literal_address_is_no_rebinding() -> None:
    rules = HostRules(load_settings(host="0.0.0.0", allow_insecure_bind=True))
    assert rules.allows_host("192.168.1.5:3000")
    assert rules.allows_host("[fe80::1]:3000")
    assert not rules.allows_host("evil.example:3000")
    linked = HostRules(load_settings(host="fe80::1%eth0", allow_insecure_bind=True))
    assert linked.allows_host("[fe80::1]:3000"), "browsers do not tell the zone"
    assert not linked.allows_host("[fe80::2]:3000")
    bound = HostRules(load_settings(host="192.168.1.5", allow_insecure_bind=True))
    assert bound.allows_host("192.168.1.5:3000")
    assert not bound.allows_host("192.168.1.6:3000")
