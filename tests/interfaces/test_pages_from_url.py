import io
import zipfile
from collections.abc import AsyncIterator

import httpx2
import pytest
from front_door import wait_finished
from web_host import WebHost, answer, reaching_loopback, web_host

from mcp_knowledge.app import create_app
from mcp_knowledge.settings import Settings

PAGE = "/documents/from-url"


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        app.state.services = reaching_loopback(app.state.services)
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        headers = {"Accept": "text/html"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as connected:
            yield connected


@pytest.fixture
async def host() -> AsyncIterator[WebHost]:
    async with web_host() as running:
        yield running


async def test_the_list_and_a_page_of_its_own_have_the_form(client: httpx2.AsyncClient) -> None:
    for address in ("/", PAGE):
        text = (await client.get(address)).text
        assert f'method="post" action="{PAGE}"' in text
        assert 'name="url"' in text


async def test_a_fetched_document_is_announced_on_the_list(client: httpx2.AsyncClient, host: WebHost) -> None:
    host.answers["/a.txt"] = answer(b"Words.", "Content-Type: text/plain")
    added = await client.post(PAGE, data={"url": f"  {host.url('/a.txt')} "})
    assert added.status_code == 303
    assert added.headers["location"].startswith("/?notice=added&about=doc_")
    document_id = added.headers["location"].partition("about=")[2]
    assert (await wait_finished(client, document_id))["sourceUrl"] == host.url("/a.txt")
    assert "can be searched as soon as it is ready" in (await client.get(added.headers["location"])).text
    again = await client.post(PAGE, data={"url": host.url("/a.txt")})
    assert again.headers["location"] == f"/?notice=known&about={document_id}"


async def test_a_fetched_archive_leads_to_its_import(client: httpx2.AsyncClient, host: WebHost) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "Words.")
    host.answers["/all.zip"] = answer(packed.getvalue(), "Content-Type: application/zip")
    added = await client.post(PAGE, data={"url": host.url("/all.zip")})
    assert added.status_code == 303
    assert added.headers["location"].startswith("/imports/arc_")
    assert "all.zip" in (await client.get(added.headers["location"])).text


@pytest.mark.parametrize(
    ("url", "status", "mentions"),
    [
        ("http://127.0.0.1/", 400, "not on the public internet"),
        ("http://files.example:1/", 502, "No connection to this host"),
        ("example.com", 400, "An address begins with http"),
        ("", 400, "An address begins with http"),
    ],
)
async def test_a_failure_is_told_in_plain_words_beside_the_address(
    client: httpx2.AsyncClient, url: str, status: int, mentions: str
) -> None:
    refused = await client.post(PAGE, data={"url": url})
    assert refused.status_code == status
    assert mentions in refused.text
    assert f'value="{url}"' in refused.text
    assert "url:" not in refused.text


async def test_the_address_shows_as_text_and_never_as_markup(client: httpx2.AsyncClient) -> None:
    refused = await client.post(PAGE, data={"url": 'http://x/"><script>alert(1)</script>\x00'})
    assert refused.status_code == 400
    assert "<script>alert" not in refused.text


@pytest.mark.parametrize(
    "body", [b"url=" + b"a" * 20_000, b"&".join(b"a=b" for _ in range(50)), b"\xff\xfe=%FF&url=%FF", b""]
)
async def test_a_form_that_no_page_sends_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await client.post(PAGE, content=body, headers=headers)).status_code in (400, 413)
