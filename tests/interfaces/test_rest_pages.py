from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from front_door import add, running_client
from pdf_files import make_pdf, text_page
from rest_kit import API

from mcp_knowledge.settings import load_settings

PDF = make_pdf([text_page("Otters sleep on the river bank."), text_page("Herons wait for fish in the reeds.")])


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with running_client(load_settings(data_dir=tmp_path)) as connected:
        yield connected


async def code_of(client: httpx2.AsyncClient, path: str, status: int) -> str:
    answer = await client.get(API + path)
    assert answer.status_code == status, answer.text
    code: str = answer.json()["error"]["code"]
    return code


async def test_a_page_is_a_picture_that_a_client_can_keep(client: httpx2.AsyncClient) -> None:
    document = await add(client, "animals.pdf", PDF)
    chunk = (await client.get(f"{API}/documents/{document['id']}/chunks")).json()["items"][0]
    address = f"{API}/documents/{document['id']}/pages/1?width=300"
    first = await client.get(address)
    assert (first.status_code, first.headers["content-type"]) == (200, "image/png")
    assert int.from_bytes(first.content[16:20], "big") == 300
    again = await client.get(address, headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert (await client.get(address)).content == first.content
    marked = await client.get(f"{address}&chunkId={chunk['id']}")
    assert marked.content != first.content
    assert marked.headers["etag"] != first.headers["etag"]
    widest = await client.get(f"{API}/documents/{document['id']}/pages/2?width=99999999999999999999")
    assert int.from_bytes(widest.content[16:20], "big") == 2000


async def test_what_cannot_be_shown_has_a_code(client: httpx2.AsyncClient) -> None:
    document = await add(client, "animals.pdf", PDF)
    note = await add(client, "note.md", b"# Otters\n\nThey sleep on the river bank.")
    pages = f"/documents/{document['id']}/pages"
    for number in ("0", "3", "-1", "1.0", "one", "9" * 30, "%D9%A1"):
        assert await code_of(client, f"{pages}/{number}", 404) == "PAGE_NOT_FOUND", number
    assert await code_of(client, f"{pages}/1?width=wide", 400) == "INVALID_ARGUMENT"
    assert await code_of(client, f"{pages}/1?chunkId=chk_none", 404) == "CHUNK_NOT_FOUND"
    assert await code_of(client, "/documents/doc_none/pages/1", 404) == "DOCUMENT_NOT_FOUND"
    assert await code_of(client, f"/documents/{note['id']}/pages/1", 404) == "PAGES_UNAVAILABLE"
    chunk = (await client.get(f"{API}/documents/{note['id']}/chunks")).json()["items"][0]
    assert await code_of(client, f"{pages}/1?chunkId={chunk['id']}", 404) == "CHUNK_NOT_FOUND"


async def test_a_file_that_could_not_be_read_has_no_pages_to_show(client: httpx2.AsyncClient) -> None:
    document = await add(client, "damaged.pdf", b"%PDF-1.7\nnothing that anybody can read")
    assert document["status"] == "failed"
    assert await code_of(client, f"/documents/{document['id']}/pages/1", 422) == "PAGE_UNREADABLE"
