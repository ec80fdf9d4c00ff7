"""Stylesheets and scripts as a browser fetches them."""

import httpx2
import pytest


async def test_a_file_that_a_browser_has_is_not_sent_again(client: httpx2.AsyncClient) -> None:
    plain = await client.get("/static/live.js")
    known = await client.get("/static/live.js", headers={"If-None-Match": plain.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    other = await client.get("/static/live.js", headers={"If-None-Match": '"another"'})
    assert other.content == plain.content


async def test_files_travel_compressed_to_whoever_takes_that(client: httpx2.AsyncClient) -> None:
    sizes = {}
    for encoding in ("gzip, br", "identity"):
        async with client.stream("GET", "/static/app.css", headers={"Accept-Encoding": encoding}) as answer:
            assert answer.headers.get("content-encoding", "identity") in encoding
            assert answer.headers["vary"] == "Accept-Encoding"
            assert answer.headers["content-type"] == "text/css; charset=utf-8"
            sizes[encoding] = int(answer.headers["content-length"])
            assert b"--page" in await answer.aread()
    assert sizes["gzip, br"] < sizes["identity"] / 3
    head = await client.head("/static/app.css", headers={"Accept-Encoding": "identity"})
    assert (head.headers["content-length"], head.content) == (str(sizes["identity"]), b"")


@pytest.mark.parametrize(
    "path",
    ["nothing.js", "..%2fpages.py", "%2e%2e%2fpages.py", "pages.py", "", "%00.js", "x" * 300 + ".js", "a%2fb.js"],
)
async def test_nothing_but_the_files_is_there(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(f"/static/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
