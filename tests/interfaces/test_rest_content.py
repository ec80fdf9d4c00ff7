import asyncio
import gc

import httpx2
import pytest
from front_door import add, wait_finished
from hypothesis import given
from hypothesis import strategies as st
from rest_kit import API, assert_error, upload

from mcp_knowledge.app import create_app
from mcp_knowledge.interfaces.rest.content import attachment, byte_range
from mcp_knowledge.ports import BlockPage
from mcp_knowledge.settings import Settings

DOCUMENTS = f"{API}/documents"
CONTENT = b"0123456789"


@pytest.mark.parametrize(
    ("asked", "status", "content", "content_range"),
    [
        (None, 200, CONTENT, None),
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=5-500", 206, b"56789", "bytes 5-9/10"),
        (f"bytes={'9' * 40}-", 416, b"", "bytes */10"),
        ("Bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=0-", 200, CONTENT, None),
        ("bytes=-500", 200, CONTENT, None),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=5-2", 200, CONTENT, None),
        ("bytes=0-1,3-4", 200, CONTENT, None),
        ("lines=0-1", 200, CONTENT, None),
        ("bytes=-", 200, CONTENT, None),
        ("bytes=1-99999999999999999999999999", 206, CONTENT[1:], "bytes 1-9/10"),
    ],
)
async def test_an_original_comes_whole_or_in_the_part_asked_for(
    client: httpx2.AsyncClient, asked: str | None, status: int, content: bytes, content_range: str | None
) -> None:
    receipt = await upload(client, "a.txt", CONTENT)
    headers = {} if asked is None else {"Range": asked}
    answer = await client.get(f"{DOCUMENTS}/{receipt['id']}/file", headers=headers)
    assert answer.status_code == status
    assert answer.content == content
    assert answer.headers.get("content-range") == content_range
    assert answer.headers["x-content-type-options"] == "nosniff"
    if status != 416:
        assert answer.headers["content-type"] == "text/plain"
        assert answer.headers["accept-ranges"] == "bytes"
        assert answer.headers["content-length"] == str(len(content))
        head = await client.head(f"{DOCUMENTS}/{receipt['id']}/file", headers=headers)
        assert head.status_code == status
        assert head.content == b""
        assert head.headers["content-length"] == str(len(content))


async def test_a_download_goes_on_only_with_the_bytes_that_it_began_with(client: httpx2.AsyncClient) -> None:
    document = await add(client, "a.txt", CONTENT)
    file = f"{DOCUMENTS}/{document['id']}/file"
    begun = (await client.get(file)).headers["etag"]
    rest = {"Range": "bytes=5-", "If-Range": begun}
    assert (await client.get(file, headers=rest)).status_code == 206

    revision = {"file": ("a.txt", b"quite another text")}
    await client.post(f"{DOCUMENTS}/{document['id']}/revisions", files=revision)
    await wait_finished(client, document["id"])
    whole = await client.get(file, headers=rest)
    assert (whole.status_code, whole.content) == (200, b"quite another text")
    dated = {"Range": "bytes=5-", "If-Range": "Sun, 06 Nov 1994 08:49:37 GMT"}
    assert (await client.get(file, headers=dated)).status_code == 200


@given(st.text(max_size=30), st.integers(1, 1000))
def test_any_range_header_gives_a_part_of_the_file_or_none(header: str, size: int) -> None:
    for text in (header, f"bytes={header}"):
        part = byte_range(text, size)
        if part is not None:
            assert 0 <= part[0] < part[1] <= size


@pytest.mark.parametrize(
    ("filename", "header"),
    [
        ("plain name.txt", 'attachment; filename="plain name.txt"'),
        ("Grüße.txt", "attachment; filename=\"Gr__e.txt\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt"),
        ('a"b\\c.txt', "attachment; filename=\"a_b_c.txt\"; filename*=UTF-8''a%22b%5Cc.txt"),
        ("50%.txt", "attachment; filename=\"50_.txt\"; filename*=UTF-8''50%25.txt"),
        (
            "x\r\nSet-Cookie: a=b",
            "attachment; filename=\"x__Set-Cookie: a=b\"; filename*=UTF-8''x%0D%0ASet-Cookie%3A%20a%3Db",
        ),
    ],
)
def test_an_attachment_is_named_after_rfc_6266(filename: str, header: str) -> None:
    assert attachment(filename) == header


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_file_name_can_break_out_of_its_header(filename: str) -> None:
    header = attachment(filename)
    assert header.isascii() and header.isprintable()
    assert header.count('"') == 2


async def test_an_html_original_is_never_shown_as_a_page(client: httpx2.AsyncClient) -> None:
    receipt = await upload(client, "a.html", b"<script>alert(1)</script>")
    answer = await client.get(f"{DOCUMENTS}/{receipt['id']}/file")
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_an_address_of_a_file_may_carry_arguments_that_mean_nothing(client: httpx2.AsyncClient) -> None:
    receipt = await upload(client, "a.txt", b"as it is")
    answer = await client.get(f"{DOCUMENTS}/{receipt['id']}/file?v=20261130&download=1")
    assert (answer.status_code, answer.content) == (200, b"as it is")


TEXT = "\n\n".join(
    f"# Section {n}\n\nThe code of section {n} is SEC-{n:04}. " + "More words follow here. " * 60 for n in range(6)
)


async def test_the_normalized_form_of_a_large_document_comes_whole_in_pieces(client: httpx2.AsyncClient) -> None:
    texts = [f"Nr {number}" for number in range(1_203)]
    document = await add(client, "large.txt", "\n\n".join(texts).encode())
    answer = await client.get(f"{DOCUMENTS}/{document['id']}/normalized")
    assert "content-length" not in answer.headers and answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert set(found) == {"metadata", "blocks"}
    assert [block["text"] for block in found["blocks"]] == texts


async def test_whoever_stops_reading_a_large_document_keeps_none_of_its_blocks_in_memory(settings: Settings) -> None:
    at_once: list[int] = []

    def write(page: BlockPage) -> bytes:
        at_once.append(pages_alive())
        return b"piece"

    def pages_alive() -> int:
        return sum(isinstance(item, BlockPage) for item in gc.get_objects())

    app = create_app(settings)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            document = await add(client, "large.txt", "\n\n".join(map(str, range(250))).encode())
        contents = app.state.services.contents
        before = pages_alive()
        readers = [contents.normalized(document["id"], write) for _ in range(20)]
        assert await asyncio.gather(*(anext(reader) for reader in readers)) == [b"piece"] * 20
        assert max(*at_once, pages_alive()) - before <= 4


async def test_a_ready_document_shows_its_normalized_form_and_its_chunks(client: httpx2.AsyncClient) -> None:
    document = await add(client, "sections.md", TEXT.encode())
    assert document["status"] == "ready", document["latestError"]
    address = f"{DOCUMENTS}/{document['id']}"
    normalized = (await client.get(f"{address}/normalized")).json()
    assert normalized["blocks"][0]["type"] == "heading"
    assert normalized["blocks"][0]["text"] == "Section 0"
    assert "location" in normalized["blocks"][0]

    chunks, cursor = [], None
    while True:
        query = {"limit": "4"} | ({"cursor": cursor} if cursor else {})
        answer = (await client.get(f"{address}/chunks", params=query)).json()
        chunks += answer["items"]
        cursor = answer["nextCursor"]
        if cursor is None:
            break
        last_cursor = cursor
    assert [item["sequence"] for item in chunks] == list(range(document["chunkCount"]))
    assert {item["documentId"] for item in chunks} == {document["id"]}
    assert {item["revisionId"] for item in chunks} == {document["currentRevisionId"]}

    other = await add(client, "other.md", b"# Other\n\nAnother text.")
    assert_error(
        await client.get(f"{DOCUMENTS}/{other['id']}/chunks", params={"cursor": last_cursor}), 400, "INVALID_CURSOR"
    )

    middle = chunks[4]
    answer = (await client.get(f"{API}/chunks/{middle['id']}", params={"before": "2", "after": "1"})).json()
    assert [item["sequence"] for item in answer["items"]] == [2, 3, 4, 5]
    assert answer["items"][2] == middle
    assert (await client.get(f"{API}/chunks/{middle['id']}")).json() == {"items": [middle]}
    first = (await client.get(f"{API}/chunks/{chunks[0]['id']}", params={"before": "5"})).json()
    assert [item["sequence"] for item in first["items"]] == [0]


async def test_neighbours_are_counted_from_0_to_5(client: httpx2.AsyncClient) -> None:
    for query in ("before=6", "after=-1", "after=x", "around=1"):
        answer = await client.get(f"{API}/chunks/chk_none?{query}")
        assert_error(answer, 400, "INVALID_ARGUMENT", query.partition("=")[0])
    assert_error(await client.get(f"{API}/chunks/chk_none"), 404, "CHUNK_NOT_FOUND")


async def test_revisions_tell_what_made_them(client: httpx2.AsyncClient) -> None:
    document = await add(client, "a.md", b"# One\n\nText.")
    (revision,) = (await client.get(f"{DOCUMENTS}/{document['id']}/revisions")).json()["items"]
    assert revision["id"] == document["currentRevisionId"]
    assert revision["current"] is True
    assert revision["parserName"] and revision["chunkerVersion"] and revision["embeddingDimensions"] == 384
    assert revision["chunkCount"] == document["chunkCount"] >= 1
