"""Addresses and headers as no client of ours writes them, to a real server: one coded answer each, and no fault."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import httpx2
import pytest
from front_door import Server
from fuzz_budget import tries
from hypothesis import given
from hypothesis import strategies as st
from leaks import LEAKS
from page_kit import LEFT_OUT, routes

from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.rest.table import OPERATIONS

pytestmark = pytest.mark.fuzz

# In the place of an id: what is percent-encoded here reaches the server as bytes.
SEGMENTS = (
    *(
        "%00",
        "%ff%fe",
        "%ed%a0%80",
        "%C0%AF",
        "%2e%2e",
        "..%2f..",
        "%0d%0aSet-Cookie:%20a=b",
        "%E2%80%AE",
        "%f4%90%80%80",
    ),
    *("%", "%zz", "%u0000", "'%20OR%201=1--", "%7B%7B7*7%7D%7D", "a" * 8000, "%F0%9F%A6%A6", "-1", "1e999", "%20", "*"),
    *("doc_" + "0" * 32, "%24%7Bjndi:x%7D", "%09", "%7f", "%c2%80", "null", "%5c%5c", ";x=1", "0x7f", "%25s%25n"),
)
READ = [item.path for item in OPERATIONS if item.method == "GET"]
PAGES = [path for method, path in routes() if method == "GET"]
ADDRESSES = sorted({*READ, *PAGES} - {route.partition(" ")[2] for route in LEFT_OUT if route.startswith("GET")})
WITH_IDS = [path for path in ADDRESSES if "{" in path]
HEEDED = (
    *("Range", "If-Range", "If-None-Match", "Last-Event-ID", "Authorization", "Cookie", "X-Request-Id", "Accept"),
    *("Content-Type", "Referer", "User-Agent", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Accept-Encoding"),
)


@pytest.fixture(scope="module")
def web(server: Server) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=30) as client:
        yield client


def ask(web: httpx2.Client, target: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> httpx2.Response:
    """GET a target as it is, without the client mending it."""
    return web.get("/", headers=headers, extensions={"target": target})


def check(answer: httpx2.Response) -> None:
    assert answer.status_code < 500, (answer.url, answer.text)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", answer.headers["x-request-id"])
    assert not LEAKS.search(repr(answer.headers.raw).encode().replace(b"text/x-python", b"")), answer.headers
    if answer.status_code >= 400 and answer.content:
        assert not LEAKS.search(answer.content) or answer.headers["content-type"].startswith("text/html"), answer.text
        if answer.headers["content-type"] == "application/json":
            told = answer.json()["error"]
            if "jsonrpc" in answer.json():
                return
            assert ERROR_CODES[told["code"]].status == answer.status_code
            assert told["requestId"] == answer.headers["x-request-id"]


def filled(path: str, segment: str) -> bytes:
    return re.sub(r"\{\w+\}", lambda _: segment, path).encode()


@pytest.mark.parametrize("segment", SEGMENTS)
def test_nothing_in_the_place_of_an_id_gives_a_fault(web: httpx2.Client, segment: str) -> None:
    for path in WITH_IDS:
        check(ask(web, filled(path, segment)))


raw_values = st.one_of(
    st.sampled_from(SEGMENTS),
    st.binary(max_size=12).map(lambda data: quote(data, safe="")),
    st.text(max_size=12).map(lambda text: quote(text, safe="", errors="replace")),
)
names = st.sampled_from(
    (
        "limit",
        "cursor",
        "search",
        "filters",
        "fields",
        "sort",
        "status",
        "collectionId",
        "q",
        "width",
        "query",
        "after",
        "",
    )
)


@given(path=st.sampled_from(ADDRESSES), pairs=st.lists(st.tuples(names, raw_values), max_size=5), segment=raw_values)
@tries(80)
def test_no_query_string_gives_a_fault(
    web: httpx2.Client, path: str, pairs: list[tuple[str, str]], segment: str
) -> None:
    query = "&".join(f"{name}={value}" for name, value in pairs)
    check(ask(web, filled(path, segment.replace("/", "")) + b"?" + query.encode("ascii", "replace")))


@given(
    path=st.sampled_from(ADDRESSES),
    headers=st.lists(
        st.tuples(st.sampled_from(HEEDED), st.text(st.characters(max_codepoint=255), max_size=30)), max_size=4
    ),
)
@tries(60)
def test_no_header_gives_a_fault(web: httpx2.Client, path: str, headers: list[tuple[str, str]]) -> None:
    clean = [
        (name.encode(), re.sub(rb"[\0-\x1f\x7f]", b" ", value.encode("latin-1")).strip()) for name, value in headers
    ]
    check(ask(web, filled(path, "doc_none"), clean))


@pytest.mark.parametrize("path", ["/api/v1/documents", "/documents", "/api/v1/document-catalog", "/playground", "/mcp"])
def test_a_huge_query_string_gives_no_fault(web: httpx2.Client, path: str) -> None:
    for query in ("x" * 60_000, "&".join(f"a{number}=1" for number in range(6000)), "filters=" + "%5B" * 15_000):
        check(ask(web, f"{path}?{query}".encode()))
    assert ask(web, f"{path}?search={'y' * 200_000}".encode()).status_code in (400, 414, 431)
    assert web.get("/health").json() == {"ok": True}
