"""Helpers of the tests that read pages without a browser."""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

import httpx2
from access_kit import FROM_OUR_PAGES, PAGE
from rest_kit import API

from mcp_knowledge.interfaces.web.pages import router

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}  # as a browser asks
FORM = {**HTML, "Origin": "null", "Sec-Fetch-Site": "same-origin"}  # as it sends a form under `no-referrer`
# What the policy of our pages forbids, and what markup of a document would look like.
_INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:")

# Those would take away what the others ask for; an answer of the last ones never ends.
LEFT_OUT = {
    "POST /system/purge",
    "POST /evaluate/{set_id}/delete",
    "POST /evaluate/runs/{run_id}/delete",
    "POST /documents/{document_id}/delete",
    "POST /keys/{key_id}/revoke",
    "GET /events",
    f"GET {API}/events",
}


def routes(items: Any = router.routes) -> Iterator[tuple[str, str]]:
    """Method and path of every page and form."""
    for route in items:
        if hasattr(route, "original_router"):
            yield from routes(route.original_router.routes)
        else:
            yield from ((method, route.path) for method in route.methods if method != "HEAD")


async def page(client: httpx2.AsyncClient, path: str, status: int = 200, headers: Mapping[str, str] = HTML) -> str:
    """A page's HTML, which has no script or style of its own."""
    answer = await client.get(path, headers={**HTML, **headers})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert not _INLINE.search(answer.text), answer.text
    return answer.text


async def send(visitor: httpx2.AsyncClient, path: str, /, referer: str = "/", **fields: str) -> httpx2.Response:
    """The answer to a form of our pages."""
    headers = {**PAGE, **FROM_OUR_PAGES, "Referer": f"http://127.0.0.1{referer}"}
    return await visitor.post(path, data=fields, headers=headers)


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def row_of(html: str, name: str) -> str:
    """What a reader sees of the table's row that has this text."""
    (row,) = [row for row in re.findall(r"<tr id=.*?</tr>", html, re.DOTALL) if name in row]
    return text_of(row)


def snippets_of(html: str) -> dict[str, str]:
    """The texts to copy, by id."""
    return {
        name: unescape(text) for name, text in re.findall(r'<pre id="([^"]+)"[^>]*><code>(.*?)</code>', html, re.DOTALL)
    }
