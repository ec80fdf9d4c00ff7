"""The login page, without scripts."""

import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from access_kit import FROM_ELSEWHERE, FROM_OUR_PAGES, PAGE, PASSPHRASE, House, house, with_passphrase
from rest_kit import API, assert_error

from mcp_knowledge.settings import Settings


@pytest.fixture
async def protected(settings: Settings) -> AsyncIterator[House]:
    async with house(with_passphrase(settings)) as running:
        yield running


async def submit(client: httpx2.AsyncClient, passphrase: str = PASSPHRASE, next_address: str = "/") -> httpx2.Response:
    form = {"passphrase": passphrase, "next": next_address}
    return await client.post("/login", data=form, headers={**PAGE, **FROM_OUR_PAGES})


def next_of(page: httpx2.Response) -> str:
    found = re.search(r'name="next" value="([^"]*)"', page.text)
    assert found is not None
    return found[1].replace("&amp;", "&")


async def test_signing_in_leads_to_the_page_that_was_asked_for(protected: House) -> None:
    client = protected.client
    asked = await client.get("/playground?query=notice%20period&mode=lexical", headers=PAGE)
    assert asked.status_code == 303
    page = await client.get(asked.headers["location"], headers=PAGE)
    assert page.status_code == 200
    assert 'type="password"' in page.text and "Sign out" not in page.text and 'href="/playground"' not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")

    answer = await submit(client, next_address=next_of(page))
    assert answer.status_code == 303
    assert answer.headers["location"] == "/playground?query=notice%20period&mode=lexical"
    shown = await client.get(answer.headers["location"], headers=PAGE)
    assert shown.status_code == 200 and "Sign out" in shown.text
    assert (await client.get("/login?next=/imports", headers=PAGE)).headers["location"] == "/imports", "in already"


async def test_a_wrong_passphrase_is_said_and_the_way_on_is_kept(protected: House) -> None:
    page = await submit(protected.client, "wrong", "/imports")
    assert page.status_code == 401
    assert "This is not the passphrase." in page.text and next_of(page) == "/imports"
    assert "set-cookie" not in page.headers and "wrong" not in page.text
    for _ in range(9):
        await submit(protected.client, "wrong")
    page = await submit(protected.client)
    assert page.status_code == 429 and "Try again in 5 minutes." in page.text


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        " //evil.example",
        "javascript:alert(1)",
        "evil",
        "",
        "/login?next=/login",
        "/imports\r\nSet-Cookie: a=b",
    ],
)
async def test_the_way_on_stays_on_this_site(protected: House, address: str) -> None:
    page = await protected.client.get("/login", params={"next": address}, headers=PAGE)
    assert next_of(page) == "/"
    answer = await submit(protected.client, next_address=address)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_text_from_the_address_is_only_text(protected: House) -> None:
    page = await protected.client.get("/login", params={"next": '/"><script>alert(1)</script>'}, headers=PAGE)
    assert "<script>alert" not in page.text


async def test_a_link_on_another_site_gets_a_second_chance_to_bring_the_session(protected: House) -> None:
    """SameSite=Strict keeps the cookie back on the first request: the page asks again, from here."""
    arriving = await protected.client.get("/login?next=/imports", headers={**PAGE, **FROM_ELSEWHERE})
    assert '<meta http-equiv="refresh" content="0; url=/imports">' in arriving.text
    again = await protected.client.get("/login?next=/imports", headers={**PAGE, "Sec-Fetch-Site": "same-origin"})
    assert "http-equiv" not in again.text


async def test_who_tried_too_often_is_told_when_to_come_back(protected: House) -> None:
    for _ in range(10):
        assert (await submit(protected.client, "wrong")).status_code == 401
    page = await submit(protected.client)
    assert page.status_code == 429 and "Try again in 5 minutes" in page.text
    assert 240 < int(page.headers["retry-after"]) <= 300


async def test_signing_out_ends_in_the_login_page(protected: House) -> None:
    await submit(protected.client)
    assert (await protected.client.get("/", headers=PAGE)).status_code == 200
    answer = await protected.client.post("/logout", headers={**PAGE, **FROM_OUR_PAGES})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert (await protected.client.get("/", headers=PAGE)).status_code == 303


async def test_another_site_cannot_sign_a_visitor_in(protected: House) -> None:
    form = {"passphrase": PASSPHRASE, "next": "/"}
    answer = await protected.client.post("/login", data=form, headers=FROM_ELSEWHERE)
    assert_error(answer, 403, "FORBIDDEN")
    assert "set-cookie" not in answer.headers


async def test_a_form_that_is_no_form_is_refused(protected: House) -> None:
    large = await protected.client.post("/login", content=b"passphrase=" + b"x" * 30_000)
    assert_error(large, 413, "PAYLOAD_TOO_LARGE")
    many = await protected.client.post("/login", content=b"&".join(b"a=b" for _ in range(20)))
    assert_error(many, 400, "INVALID_REQUEST")
    assert (await protected.client.post("/login", content=b"\xff\xfe=%zz")).status_code == 401


async def test_an_expired_session_leads_from_a_form_to_the_login_page(protected: House) -> None:
    answer = await protected.client.post("/documents/doc_1/reindex", headers={**PAGE, **FROM_OUR_PAGES})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert_error(await protected.client.delete(f"{API}/documents/doc_1", headers=PAGE), 401, "UNAUTHORIZED")


async def test_without_a_passphrase_there_is_nothing_to_sign_in_to(client: httpx2.AsyncClient) -> None:
    assert "Sign out" not in (await client.get("/", headers=PAGE)).text
    assert (await client.get("/login?next=/imports", headers=PAGE)).headers["location"] == "/imports"
    answer = await submit(client, "anything", "/playground")
    assert (answer.status_code, answer.headers["location"]) == (303, "/playground")
    assert "set-cookie" not in answer.headers
