import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from access_kit import FROM_ELSEWHERE, PASSPHRASE, House, house, with_passphrase
from front_door import running_client
from rest_kit import API, app_of, assert_error

from mcp_knowledge.domain.access import MAX_PASSPHRASE_CHARS, SESSION_MS
from mcp_knowledge.interfaces.rest.bodies import LARGE_BYTES
from mcp_knowledge.services import access as access_service
from mcp_knowledge.settings import Settings

SESSION = f"{API}/session"


@pytest.fixture
async def protected(settings: Settings) -> AsyncIterator[House]:
    async with house(with_passphrase(settings)) as running:
        yield running


@asynccontextmanager
async def from_address(running: House, address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client at another address."""
    app = app_of(running.client)
    transport = httpx2.ASGITransport(app=app, client=(address, 5))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def attempt(client: httpx2.AsyncClient, passphrase: str = "wrong") -> httpx2.Response:
    return await client.post(SESSION, json={"passphrase": passphrase})


async def test_without_a_passphrase_everyone_is_in(client: httpx2.AsyncClient) -> None:
    assert (await client.get(SESSION)).json() == {"passphraseRequired": False, "authenticated": True}
    answer = await attempt(client, "anything")
    assert (answer.status_code, answer.json()) == (200, {"authenticated": True})
    assert "set-cookie" not in answer.headers


async def test_signing_in_and_out(protected: House) -> None:
    client = protected.client
    assert (await client.get(SESSION)).json() == {"passphraseRequired": True, "authenticated": False}
    answer = await attempt(client, PASSPHRASE)
    assert (answer.status_code, answer.json()) == (200, {"authenticated": True})
    assert PASSPHRASE not in answer.headers["set-cookie"]
    parts = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert parts == {"httponly", "path=/", "samesite=strict", f"max-age={SESSION_MS // 1000}"}

    assert (await client.get(SESSION)).json()["authenticated"] is True
    assert (await client.get(f"{API}/documents")).status_code == 200

    answer = await client.delete(SESSION)
    assert answer.status_code == 204 and answer.content == b""
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert (await client.get(SESSION)).json()["authenticated"] is False
    assert_error(await client.get(f"{API}/documents"), 401, "UNAUTHORIZED")


async def test_a_key_is_authenticated_too(protected: House) -> None:
    key = await protected.make_key("read")
    assert (await protected.client.get(SESSION, headers=key)).json()["authenticated"] is True
    wrong = {"Authorization": "Bearer key_wrong"}
    assert (await protected.client.get(SESSION, headers=wrong)).json()["authenticated"] is False


async def test_the_cookie_is_for_https_alone_in_the_server_profile(settings: Settings) -> None:
    async with house(with_passphrase(settings).model_copy(update={"app_profile": "server"})) as served:
        assert "Secure" in (await attempt(served.client, PASSPHRASE)).headers["set-cookie"].split("; ")
        assert "Secure" in (await served.client.delete(SESSION)).headers["set-cookie"].split("; ")
        session = await served.sign_in()
        made = await served.client.post(f"{API}/evaluations", json={"name": "A set"}, headers=session)
        for path, form in (("/theme", {"theme": "dark"}), ("/evaluate/use", {"set": made.json()["id"]})):
            answer = await served.client.post(path, data=form, headers=session)
            assert answer.status_code == 303, answer.text
            assert {"Secure", "HttpOnly", "SameSite=lax"} <= set(answer.headers["set-cookie"].split("; "))


@pytest.mark.parametrize("passphrase", ["", PASSPHRASE.lower(), PASSPHRASE + " ", PASSPHRASE[:-1], "x" * 1000])
async def test_a_wrong_passphrase_opens_nothing(protected: House, passphrase: str) -> None:
    answer = await attempt(protected.client, passphrase)
    assert_error(answer, 401, "UNAUTHORIZED")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("body", [{}, {"passphrase": 1}, {"passphrase": None}, {"passphrase": "x" * 1001}, {"x": "y"}])
async def test_a_body_that_is_no_try_is_not_counted_as_one(protected: House, body: dict[str, object]) -> None:
    for _ in range(12):
        assert_error(await protected.client.post(SESSION, json=body), 400, "INVALID_ARGUMENT")
    assert (await attempt(protected.client, PASSPHRASE)).status_code == 200


@pytest.mark.parametrize("path", [SESSION, "/login", "/logout", "/theme"])
async def test_strangers_send_no_bodies_so_large_that_they_take_turns(protected: House, path: str) -> None:
    sent_bytes = 0

    async def passphrase_without_end() -> AsyncIterator[bytes]:
        nonlocal sent_bytes
        while sent_bytes < 2 * LARGE_BYTES:
            sent_bytes += 1024
            yield b"a" * 1024

    answer = await protected.client.post(path, content=passphrase_without_end())
    assert answer.status_code == (303 if path == "/logout" else 413)
    assert sent_bytes < LARGE_BYTES


async def test_the_longest_passphrase_may_be_written_in_escapes(protected: House) -> None:
    body = b'{"passphrase": "' + b"\\ud83d\\ude00" * MAX_PASSPHRASE_CHARS + b'"}'
    assert_error(await protected.client.post(SESSION, content=body), 401, "UNAUTHORIZED")


async def test_another_site_cannot_sign_a_browser_in_or_out(protected: House) -> None:
    for method in ("POST", "DELETE"):
        answer = await protected.client.request(
            method, SESSION, headers=FROM_ELSEWHERE, json={"passphrase": PASSPHRASE}
        )
        assert_error(answer, 403, "FORBIDDEN")
        assert "set-cookie" not in answer.headers


async def test_ten_failed_tries_close_the_door_for_this_address_until_the_first_is_old(
    protected: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = protected.client
    for _ in range(10):
        assert_error(await attempt(client), 401, "UNAUTHORIZED")
    for passphrase in ("wrong", PASSPHRASE, PASSPHRASE):
        refused = await attempt(client, passphrase)
        assert_error(refused, 429, "TOO_MANY_ATTEMPTS", "5 minutes")
        assert 240 < int(refused.headers["retry-after"]) <= 300
        assert "set-cookie" not in refused.headers
    async with from_address(protected, "192.0.2.4") as other:
        assert (await attempt(other, PASSPHRASE)).status_code == 200, "another address is let in"

    monkeypatch.setattr(access_service, "ATTEMPTS_WINDOW_MS", 0)  # as if the time had passed
    assert (await attempt(client, PASSPHRASE)).status_code == 200


async def test_the_address_is_the_connections_whatever_a_header_says(protected: House) -> None:
    for number in range(10):
        headers = {"X-Forwarded-For": f"192.0.2.{number}", "Forwarded": f"for=192.0.2.{number}", "X-Real-IP": "1.2.3.4"}
        answer = await protected.client.post(SESSION, json={"passphrase": "wrong"}, headers=headers)
        assert_error(answer, 401, "UNAUTHORIZED")
    answer = await protected.client.post(
        SESSION, json={"passphrase": PASSPHRASE}, headers={"X-Forwarded-For": "192.0.2.77"}
    )
    assert_error(answer, 429, "TOO_MANY_ATTEMPTS")


async def test_neighbours_in_one_ipv6_network_share_their_tries(protected: House) -> None:
    for number in range(10):
        async with from_address(protected, f"2001:db8::{number}") as client:
            assert_error(await attempt(client), 401, "UNAUTHORIZED")
    async with from_address(protected, "2001:db8::77") as client:
        assert_error(await attempt(client, PASSPHRASE), 429, "TOO_MANY_ATTEMPTS")
    async with from_address(protected, "2001:db8:0:1::77") as client:
        assert (await attempt(client, PASSPHRASE)).status_code == 200


async def test_fifty_tries_at_once_are_no_more_than_ten(protected: House) -> None:
    answers = await asyncio.gather(*(attempt(protected.client) for _ in range(50)))
    assert sorted(answer.status_code for answer in answers) == [401] * 10 + [429] * 40
    assert_error(await attempt(protected.client, PASSPHRASE), 429, "TOO_MANY_ATTEMPTS")


async def test_what_is_no_try_is_not_counted(protected: House) -> None:
    bodies: tuple[object, ...] = ({}, {"passphrase": 7}, {"passphrase": "x" * 1001}, [])
    for body in bodies:
        for _ in range(4):
            assert (await protected.client.post(SESSION, json=body)).status_code == 400
        assert (await protected.client.post(SESSION, json=body, headers=FROM_ELSEWHERE)).status_code == 403
    assert (await attempt(protected.client, PASSPHRASE)).status_code == 200


async def test_the_lock_lets_those_in_who_are_in(protected: House) -> None:
    session, key = await protected.sign_in(), await protected.make_key("read")
    await asyncio.gather(*(attempt(protected.client) for _ in range(11)))
    for headers in (session, key):
        assert (await protected.client.get(f"{API}/documents", headers=headers)).status_code == 200


async def test_signing_in_often_is_no_fault(protected: House) -> None:
    for _ in range(15):
        assert (await attempt(protected.client, PASSPHRASE)).status_code == 200
    for _ in range(9):
        await attempt(protected.client)
    assert (await attempt(protected.client, PASSPHRASE)).status_code == 200
    assert_error(await attempt(protected.client), 401, "UNAUTHORIZED")
    assert_error(await attempt(protected.client, PASSPHRASE), 429, "TOO_MANY_ATTEMPTS")


async def test_sessions_outlive_a_restart_but_not_a_change_of_the_passphrase(settings: Settings) -> None:
    async with house(with_passphrase(settings)) as first:
        session = await first.sign_in()
    async with running_client(with_passphrase(settings)) as client:
        assert (await client.get(f"{API}/documents", headers=session)).status_code == 200
    async with running_client(with_passphrase(settings, "A new passphrase")) as client:
        assert_error(await client.get(f"{API}/documents", headers=session), 401, "UNAUTHORIZED")
        assert (await client.get(SESSION, headers=session)).json()["authenticated"] is False
    async with running_client(with_passphrase(settings)) as client:
        assert (await client.get(f"{API}/documents", headers=session)).status_code == 200


async def test_the_right_cookie_is_found_among_others(protected: House) -> None:
    session = (await protected.sign_in())["Cookie"]
    for cookies in (
        f"a=b; {session}; c=d",
        f"{session};mk_session=other",
        f"mk_session=other; {session}",
        f"theme=dark;{session}",
    ):
        assert (await protected.client.get(f"{API}/documents", headers={"Cookie": cookies})).status_code == 200, cookies
    for cookies in (session.replace("mk_", "xmk_"), session + "x", session.upper(), f'mk_session="{session[11:]}"'):
        assert (await protected.client.get(f"{API}/documents", headers={"Cookie": cookies})).status_code == 401, cookies


async def test_thousands_of_sessions_in_one_request_are_not_all_looked_at(protected: House) -> None:
    session = (await protected.sign_in())["Cookie"]
    for others, status in ((7, 200), (5000, 401)):
        cookies = ";".join(["mk_session=x"] * others + [session])
        answer = await protected.client.get(f"{API}/documents", headers={"Cookie": cookies})
        assert answer.status_code == status, others


async def test_a_cookie_is_found_when_a_proxy_splits_the_header(protected: House) -> None:
    session = (await protected.sign_in())["Cookie"]
    for cookies in (("theme=dark", session), (session, "theme=dark"), ("mk_session=other", session)):
        split = [("Cookie", cookie) for cookie in cookies]
        assert (await protected.client.get(f"{API}/documents", headers=split)).status_code == 200, cookies
        assert (await protected.client.get(SESSION, headers=split)).json()["authenticated"] is True, cookies


async def test_strange_bytes_in_credentials_are_only_wrong(protected: House) -> None:
    for name, value in (
        (b"authorization", b"Bearer key_\xe4\xff"),
        (b"authorization", b"Bearer key_" + b"x" * 8000),
        (b"authorization", b"bearer\tkey_x"),
        (b"cookie", b"mk_session=\xff\xfe; mk_session="),
        (b"cookie", b"mk_session=" + b"A" * 20_000),
        (b"cookie", b";;=;mk_session"),
    ):
        answer = await protected.client.get(f"{API}/documents", headers=[(name, value)])
        assert_error(answer, 401, "UNAUTHORIZED")
