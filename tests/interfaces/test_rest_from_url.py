import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from front_door import FINISH_S, POLL_S, Server, wait_finished
from rest_kit import API, assert_error, upload
from web_host import WebHost, answer, reaching_loopback, redirect, web_host

from mcp_knowledge.app import create_app
from mcp_knowledge.settings import Settings, load_settings

FROM_URL = f"{API}/documents/from-url"
PDF = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>> endobj
4 0 obj <</Length 59>> stream
BT /F1 12 Tf 72 700 Td (Words on a page of this PDF.) Tj ET
endstream endobj
5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
trailer <</Root 1 0 R>>
"""
BLOCKED = """
http://127.0.0.1/ http://127.0.0.1:{port}/health http://[::1]/ http://[::1]:{port}/ http://localhost/
http://localhost:{port}/api/v1/documents http://2130706433/ http://0x7f000001:{port}/ http://0177.0.0.1/ http://127.1/
http://0.0.0.0:{port}/ http://[::]:{port}/ http://[::ffff:127.0.0.1]:{port}/ http://169.254.169.254/latest/meta-data/
http://[fd00:ec2::254]/ http://metadata.google.internal/computeMetadata/v1/ http://10.0.0.1/ http://192.168.0.1/
http://１２７.0.0.1/ file:///etc/passwd ftp://files.example/a http://user:secret@files.example/
"""


@asynccontextmanager
async def web_client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the real application, with a fetcher for which loopback is the public internet."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        app.state.services = reaching_loopback(app.state.services)
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client
        assert not list(app.state.services.intake.upload_dir().iterdir())


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    async with web_client(settings) as connected:
        yield connected


@pytest.fixture
async def host() -> AsyncIterator[WebHost]:
    async with web_host() as running:
        yield running


async def add(client: httpx2.AsyncClient, url: str, **fields: object) -> httpx2.Response:
    return await client.post(FROM_URL, json={"url": url, **fields})


async def added(client: httpx2.AsyncClient, url: str, **fields: object) -> dict[str, object]:
    """The document, once it is ready or has failed."""
    received = await add(client, url, **fields)
    assert received.status_code == 202, received.text
    assert received.json() == {"id": received.json()["id"], "status": "pending", "revision": 1, "duplicate": False}
    return await wait_finished(client, received.json()["id"])


async def test_a_page_becomes_a_document_that_search_finds(client: httpx2.AsyncClient, host: WebHost) -> None:
    page = b"<title>Travel costs</title><h1>Rules</h1><p>The head of office approves zeppelin tickets.</p>"
    host.answers["/rules?v=2"] = answer(page, "Content-Type: text/html; charset=utf-8")
    collection = (await client.post(f"{API}/collections", json={"name": "Rules"})).json()["id"]
    document = await added(
        client, host.url("/rules?v=2#top"), collectionId=collection, metadata={"owner": {"team": "travel"}}
    )
    assert document["status"] == "ready"
    assert document["title"] == "Travel costs"
    assert document["originalFilename"] == "rules.html"
    assert document["mimeType"] == "text/html"
    assert document["collectionId"] == collection
    assert document["sourceUrl"] == host.url("/rules?v=2")
    assert document["sourcePath"] is None
    assert isinstance(document["metadata"], dict)
    assert document["metadata"]["owner"] == {"team": "travel"}
    found = (await client.post(f"{API}/search", json={"query": "zeppelin"})).json()
    assert [hit["documentId"] for hit in found["hits"]] == [document["id"]]


async def test_the_source_is_the_address_as_given_and_not_where_it_redirects(
    client: httpx2.AsyncClient, host: WebHost
) -> None:
    host.answers["/short"] = redirect("/files/Long%20name.txt")
    host.answers["/files/Long%20name.txt"] = answer(b"Some words.", "Content-Type: text/plain")
    document = await added(client, host.url("/short"))
    assert document["sourceUrl"] == host.url("/short")
    assert document["originalFilename"] == "Long name.txt"


async def test_the_same_file_is_a_duplicate_whether_fetched_or_uploaded(
    client: httpx2.AsyncClient, host: WebHost
) -> None:
    host.answers["/a.txt"] = host.answers["/b"] = answer(b"The same words.", "Content-Type: text/plain")
    first = (await upload(client, "mine.txt", b"The same words."))["id"]
    for path in ("/a.txt", "/b", "/a.txt"):
        again = await add(client, host.url(path))
        assert again.status_code == 200
        assert again.json()["id"] == first
        assert again.json()["duplicate"] is True


async def test_two_fetches_of_one_file_at_the_same_time_make_one_document(
    client: httpx2.AsyncClient, host: WebHost
) -> None:
    host.answers["/a.txt"] = answer(b"Words.", "Content-Type: text/plain")
    answers = await asyncio.gather(*(add(client, host.url("/a.txt")) for _ in range(6)))
    assert len({item.json()["id"] for item in answers}) == 1
    assert sorted(item.status_code for item in answers) == [200] * 5 + [202]


async def test_a_zip_file_is_imported_as_an_archive(client: httpx2.AsyncClient, host: WebHost) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("folder/a.txt", "Words in an archive.")
    host.answers["/all"] = answer(packed.getvalue(), "Content-Type: application/zip")
    received = await add(client, host.url("/all"))
    assert received.status_code == 202
    assert received.json() == {"archiveId": received.json()["archiveId"], "status": "queued"}
    async with asyncio.timeout(FINISH_S):
        while True:
            archive_import = (await client.get(f"{API}/archives/{received.json()['archiveId']}")).json()
            if archive_import["state"] not in ("queued", "extracting"):
                break
            await asyncio.sleep(POLL_S)  # a condition is polled here
    assert archive_import["state"] == "completed"
    assert archive_import["originalFilename"] == "all.zip"
    document = await wait_finished(client, archive_import["documentIds"][0])
    assert document["sourcePath"] == "folder/a.txt"


async def test_a_pdf_that_is_sent_as_text_is_read_as_a_pdf(client: httpx2.AsyncClient, host: WebHost) -> None:
    host.answers["/paper"] = answer(PDF, "Content-Type: text/plain")
    document = await added(client, host.url("/paper"))
    assert document["status"] == "ready"
    assert document["originalFilename"] == "paper.pdf"
    assert document["mimeType"] == "application/pdf"


async def test_a_page_in_an_old_encoding_is_read_as_its_header_says(client: httpx2.AsyncClient, host: WebHost) -> None:
    page = "<title>Цены</title><p>Цена билета составляет двадцать рублей.</p>".encode("koi8-r")
    host.answers["/"] = answer(page, "Content-Type: text/html; charset=koi8-r")
    document = await added(client, host.url("/"))
    assert document["title"] == "Цены"
    assert document["originalFilename"] == "Цены.html"
    chunks = (await client.get(f"{API}/documents/{document['id']}/chunks")).json()["items"]
    assert "двадцать рублей" in chunks[0]["content"]


async def test_a_page_without_text_fails_as_an_empty_document(client: httpx2.AsyncClient, host: WebHost) -> None:
    host.answers["/"] = answer(b"<html><body><script>render()</script></body></html>", "Content-Type: text/html")
    document = await added(client, host.url("/"))
    assert document["status"] == "failed"
    assert str(document["latestError"]).startswith("DOCUMENT_EMPTY: ")


async def test_what_goes_wrong_has_its_code_and_adds_nothing(host: WebHost, settings: Settings) -> None:
    host.answers |= {
        "/private": redirect("http://127.0.0.1/"),
        "/large": answer(b"x" * 2000, "Content-Type: text/plain"),
        "/picture": answer(b"\x89PNG\r\n", "Content-Type: image/png"),
        "/program.pdf": answer(b"\x7fELF", "Content-Type: application/pdf"),
        "/stalls": lambda reader, _: reader.read(),
        "/ok": answer(b"Words.", "Content-Type: text/plain"),
    }
    strict = load_settings(data_dir=settings.data_dir, max_upload_bytes=1000, url_fetch_timeout_ms=300)
    async with web_client(strict) as client:
        for path, status, code, mentions in (
            ("/private", 400, "SSRF_BLOCKED", "public"),
            ("/missing", 502, "URL_FETCH_FAILED", "404"),
            ("/stalls", 504, "URL_FETCH_TIMEOUT", "too long"),
            ("/large", 413, "PAYLOAD_TOO_LARGE", "1,000"),
            ("/picture", 415, "DOCUMENT_UNSUPPORTED_FORMAT", "image/png"),
            ("/program.pdf", 415, "DOCUMENT_UNSUPPORTED_FORMAT", "application/pdf"),
        ):
            assert_error(await add(client, host.url(path)), status, code, mentions)
        unknown = await add(client, host.url("/ok"), collectionId="col_none")
        assert_error(unknown, 404, "COLLECTION_NOT_FOUND")
        assert (await client.get(f"{API}/documents")).json()["items"] == []
    assert not any(" /ok " in request for request in host.requests)


@pytest.mark.parametrize(
    ("body", "code", "mentions"),
    [
        ({}, "INVALID_ARGUMENT", "url"),
        ({"url": 3}, "INVALID_ARGUMENT", "url"),
        ({"url": ""}, "INVALID_ARGUMENT", "url"),
        ({"url": "files.example/a"}, "INVALID_ARGUMENT", "url: An address begins with http"),
        ({"url": "https://"}, "INVALID_ARGUMENT", "host"),
        ({"url": "https://files.example/" + "a" * 3000}, "INVALID_ARGUMENT", "2,048"),
        ({"url": "https://files.example/\x00"}, "INVALID_ARGUMENT", "url"),
        ({"url": "https://files.example/", "urls": []}, "INVALID_ARGUMENT", "urls"),
        ({"url": "https://files.example/", "collectionId": 3}, "INVALID_ARGUMENT", "collectionId"),
        ({"url": "https://files.example/", "metadata": []}, "INVALID_METADATA", ""),
        ({"url": "https://files.example/", "metadata": {"a": "\x00"}}, "INVALID_METADATA", ""),
        ([], "INVALID_REQUEST", ""),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(
    client: httpx2.AsyncClient, body: object, code: str, mentions: str
) -> None:
    assert_error(await client.post(FROM_URL, json=body), 400, code, mentions)


@pytest.mark.parametrize("url", BLOCKED.split())
def test_a_server_with_default_settings_fetches_nothing_but_the_public_internet(server: Server, url: str) -> None:
    url = url.replace("{port}", server.url.rpartition(":")[2])
    assert_error(server.request("POST", FROM_URL, json={"url": url}), 400, "SSRF_BLOCKED")
