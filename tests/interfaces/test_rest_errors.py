import logging
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_kit import API, assert_error

from mcp_knowledge.interfaces.rest.operations import Resource
from mcp_knowledge.services.library import Library

COLLECTIONS = f"{API}/collections"


@pytest.mark.parametrize(
    "path",
    ["/nope", "/api", "/api/v1", "/api/v1/nope", "/api/v1/documents/", "/health/", "/api/v2/documents"],
)
async def test_an_unknown_address_is_not_found(client: httpx2.AsyncClient, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        assert_error(await client.request(method, path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/health", "GET, HEAD"),
        ("PUT", f"{API}/documents", "GET, HEAD, POST"),
        ("POST", f"{API}/documents/doc_1", "DELETE, GET, HEAD, PATCH"),
        ("GET", f"{API}/search", "POST"),
        ("HEAD", f"{API}/search", "POST"),
        ("OPTIONS", f"{API}/jobs", "GET, HEAD"),
        ("BREW", f"{API}/jobs", "GET, HEAD"),
        ("GET", f"{API}/documents/purge", "POST"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    client: httpx2.AsyncClient, method: str, path: str, allow: str
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allow
    if method != "HEAD":
        assert_error(answer, 405, "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize("path", ["/health", "/ready", "/metrics", f"{API}/documents", "/openapi.json", "/docs"])
async def test_head_is_get_without_the_body(client: httpx2.AsyncClient, path: str) -> None:
    head, get = await client.head(path), await client.get(path)
    assert head.status_code == get.status_code
    assert head.content == b""
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize("given_id", ["a", "A-1._z", "x" * 128])
async def test_a_good_request_id_comes_back(client: httpx2.AsyncClient, given_id: str) -> None:
    assert (await client.get("/health", headers={"X-Request-Id": given_id})).headers["x-request-id"] == given_id
    answer = await client.get("/nope", headers={"X-Request-Id": given_id})
    assert answer.json()["error"]["requestId"] == given_id


@pytest.mark.parametrize("given_id", ["", "x" * 129, "two words", "a/b", "ä", 'quote"', "<script>"])
async def test_a_bad_request_id_is_replaced(client: httpx2.AsyncClient, given_id: str) -> None:
    answer = await client.get("/nope", headers={b"X-Request-Id": given_id.encode()})
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.json()["error"]["requestId"] == answer.headers["x-request-id"]
    assert len(answer.headers.get_list("x-request-id")) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "INVALID_JSON"),
        (b"{", "INVALID_JSON"),
        (b"{'name': 'x'}", "INVALID_JSON"),
        (b'{"name": "x"} {}', "INVALID_JSON"),
        (b'{"name": NaN}', "INVALID_JSON"),
        (b'{"name": Infinity}', "INVALID_JSON"),
        (b'{"name": 1e999}', "INVALID_JSON"),
        (b'{"name": "\xff"}', "INVALID_JSON"),
        (b'{"name": "\\ud800"}', "INVALID_JSON"),
        (b'{"name": ' + b"9" * 5000 + b"}", "INVALID_JSON"),
        (b"[" * 100_000, "INVALID_JSON"),
        (b'{"a":' * 100_000, "INVALID_JSON"),
        (b"\xef\xbb\xbf{}", "INVALID_JSON"),
        (b"\x00", "INVALID_JSON"),
        (b"[]", "INVALID_REQUEST"),
        (b'"text"', "INVALID_REQUEST"),
        (b"null", "INVALID_REQUEST"),
        (b"7", "INVALID_REQUEST"),
    ],
)
async def test_a_body_that_is_no_json_object_is_refused(client: httpx2.AsyncClient, body: bytes, code: str) -> None:
    for address in (COLLECTIONS, f"{API}/search", f"{API}/search/explain"):
        assert_error(await client.post(address, content=body), 400, code)


async def test_a_json_body_of_over_a_mebibyte_is_too_large(client: httpx2.AsyncClient) -> None:
    body = b'{"name": "' + b"x" * 1024 * 1024 + b'"}'
    assert_error(await client.post(COLLECTIONS, content=body), 413, "PAYLOAD_TOO_LARGE")

    async def unannounced() -> Any:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    assert_error(await client.post(COLLECTIONS, content=unannounced()), 413, "PAYLOAD_TOO_LARGE")
    answer = await client.post(COLLECTIONS, content=b"{}", headers={"Content-Length": "9" * 40})
    assert_error(answer, 413, "PAYLOAD_TOO_LARGE")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(
    st.sampled_from(["name", "description", "title", "metadata", "collectionId", "query", "limit", "filters"]),
    JSON,
)


@given(body=FIELDS)
@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_json_whatsoever_causes_a_surprise(client: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    import json

    content = json.dumps(body).encode()
    for method, path in (
        ("POST", "/collections"),
        ("PATCH", "/collections/col_none"),
        ("PATCH", "/documents/doc_none"),
        ("POST", "/search"),
    ):
        answer = await client.request(method, API + path, content=content)
        assert answer.status_code < 500, (method, path, body, answer.text)


async def test_a_surprise_is_told_without_detail_and_logged_with_its_cause(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("the secret inner cause")

    monkeypatch.setattr(Library, "get_document", fail)
    with caplog.at_level(logging.ERROR):
        answer = await client.get(f"{API}/documents/doc_1", headers={"X-Request-Id": "trace-me"})
    assert_error(answer, 500, "INTERNAL_ERROR")
    assert "secret" not in answer.text
    assert "RuntimeError" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    (record,) = [item for item in caplog.records if item.exc_info]
    assert "the secret inner cause" in str(record.exc_info)


async def test_every_answer_carries_the_safe_headers(client: httpx2.AsyncClient) -> None:
    own = ("/health", "/metrics", "/nope", f"{API}/documents", "/mcp")
    for path in (*own, "/docs", "/", "/connect/test", "/static/app.css"):
        headers = (await client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer", path
        assert headers["x-request-id"], path
        assert headers["cache-control"] in ("no-store", "no-cache", "private, no-cache"), path
        if headers.get("content-type", "").startswith("text/html"):
            assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'"), path
            assert "unsafe" not in headers["content-security-policy"], path
            assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert path not in own or headers["cache-control"] == "no-store", path


def test_a_path_names_its_methods_in_order() -> None:
    async def handler(_: Any) -> Any: ...

    assert Resource("/x", {"POST": handler, "GET": handler}).allow == "GET, HEAD, POST"
    assert Resource("/x", {"POST": handler}).allow == "POST"
