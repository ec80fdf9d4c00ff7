import json
import socket

import pytest
from front_door import Server


def exchange(server: Server, request: bytes) -> tuple[str, dict[str, str], bytes]:
    """Send bytes as they are; the answer's status line, headers and body."""
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    return status, {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}, body


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01 this is TLS\r\n\r\n",
        b"GET /\xc3\xbc HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n{}",
        b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n: nameless\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_the_one_error_shape(server: Server, request_bytes: bytes) -> None:
    status, headers, body = exchange(server, request_bytes)
    assert status == "HTTP/1.1 400 Bad Request"
    assert headers["content-type"] == "application/json"
    error = json.loads(body)["error"]
    assert error["code"] == "INVALID_REQUEST"
    assert error["requestId"] == headers["x-request-id"]
    assert error["requestId"] in server.log.read_text(), "whoever is told an id can ask what it was"
    assert (
        'http_requests_total{method="other",route="unmatched",status="400"}' in server.request("GET", "/metrics").text
    )


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: mine \r\nConnection: close\r\n\r\n", 200),
        (b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 421),
        (b"GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 421),
        (b"GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 421),
        (b"GET http://x@localhost/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 421),
        (b"GET http://localhost:1/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 200),
        (b"GET /health HTTP/1.0\r\n\r\n", 421),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n", 421),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        (b"GET /api/v1/documents/%00%ff%2e%2e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        (b"HEAD /api/v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 200),
        (
            b"POST /api/v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            b"Content-Length: 99999999999\r\n\r\n--b",
            413,
        ),
    ],
)
def test_unusual_requests_get_a_proper_answer(server: Server, head: bytes, status: int) -> None:
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head)
        answer = connection.recv(65_536)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nx-request-id: " in answer
    if b"X-Request-Id: mine" in head:
        assert b"\r\nx-request-id: mine\r\n" in answer
    if head.startswith(b"HEAD"):
        assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"GET /", b"a" * 4096),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ", b"a" * 4096),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X-Many: b\r\n" * 400),
        (
            b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
            b"X-Trailer: b\r\n" * 400,
        ),
        (
            b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2;extension=",
            b"a" * 4096,
        ),
    ],
    ids=["address", "one header", "many headers", "trailers", "chunk extension"],
)
def test_a_head_that_never_ends_is_cut_off(server: Server, start: bytes, piece: bytes) -> None:
    status, _, body = exchange(server, start + piece * 100)
    assert status == "HTTP/1.1 431 Request Header Fields Too Large"
    assert json.loads(body)["error"]["code"] == "REQUEST_HEAD_TOO_LARGE"
    assert server.request("GET", "/health").status_code == 200


def test_a_head_beyond_the_limit_is_refused_and_one_below_it_is_not(server: Server) -> None:
    too_large = "HTTP/1.1 431 Request Header Fields Too Large"
    for size, expected in ((60_000, "HTTP/1.1 200 OK"), (66_000, too_large), (100_000, too_large)):
        lines = b"Host: localhost\r\nConnection: close\r\nX-Long: " + b"a" * size
        status, _, body = exchange(server, b"GET /health HTTP/1.1\r\n" + lines + b"\r\n\r\n")
        assert status == expected
    error = json.loads(body)["error"]
    assert error["code"] == "REQUEST_HEAD_TOO_LARGE"
    assert "65,536 bytes" in error["message"]


SEARCH = b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
QUERY = b'{"query":"x"}'
NEXT = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 13\r\n\r\n0\r\n\r\n",
        b"Content-Length: 13\r\nContent-Length: 13\r\n\r\n" + QUERY,
        b"Content-Length: 13\r\nContent-Length: 14\r\n\r\n" + QUERY,
        b"Content-Length: 13, 13\r\n\r\n" + QUERY,
        b"Content-Length: +13\r\n\r\n" + QUERY,
        b"Content-Length: 0x0d\r\n\r\n" + QUERY,
        b"Content-Length: 99999999999999999999999999\r\n\r\n" + QUERY,
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
        b"X-Folded: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"X-Nul: a\0b\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0d\n" + QUERY + b"\n0\n\n",
        b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + QUERY,
    ],
)
def test_a_request_whose_end_others_may_see_elsewhere_is_refused_and_nothing_after_it_is_read(
    server: Server, rest: bytes
) -> None:
    status, headers, body = exchange(server, SEARCH + rest + NEXT)
    assert status == "HTTP/1.1 400 Bad Request"
    assert headers["connection"] == "close"
    assert json.loads(body)["error"]["code"] == "INVALID_REQUEST"


def test_chunks_are_refused_in_http_1_0(server: Server) -> None:
    chunks = b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + QUERY + b"\r\n0\r\n\r\n"
    assert exchange(server, SEARCH.replace(b"HTTP/1.1", b"HTTP/1.0") + chunks)[0] == "HTTP/1.1 400 Bad Request"


def test_what_follows_a_body_passes_for_no_header(server: Server) -> None:
    chunks = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nd\r\n" + QUERY + b"\r\n0\r\n"
    trailers = b"Host: evil.example\r\nAuthorization: Bearer key_none\r\nX-Request-Id: trailer\r\n\r\n"
    status, headers, _ = exchange(server, SEARCH + chunks + trailers)
    assert status == "HTTP/1.1 200 OK"
    assert headers["x-request-id"] != "trailer"


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
def test_a_request_that_offers_another_protocol_is_answered_in_this_one_body_and_all(
    server: Server, protocol: bytes
) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: %s\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n" % protocol
    length = b"Content-Length: %d\r\n\r\n" % len(QUERY)
    first, _, body = exchange(server, SEARCH + offer + length + QUERY + NEXT)
    assert first == "HTTP/1.1 200 OK" and body.startswith(b'{"hits":')
    assert body.count(b"HTTP/1.1 200 OK") == 1 and body.endswith(b'{"ok":true}')


def test_what_cannot_be_read_is_answered_after_what_was_asked_before(server: Server) -> None:
    status, _, body = exchange(server, SEARCH + b"Content-Length: 13\r\n\r\n" + QUERY + b"nonsense\r\n\r\n")
    assert status == "HTTP/1.1 200 OK"
    assert body.startswith(b'{"hits":') and b"HTTP/1.1 400 Bad Request" in body


def test_more_headers_than_anybody_needs_are_refused(server: Server) -> None:
    for number, expected in ((90, "HTTP/1.1 200 OK"), (200, "HTTP/1.1 431 Request Header Fields Too Large")):
        lines = b"Host: localhost\r\nConnection: close\r\n" + b"X-One: b\r\n" * number
        assert exchange(server, b"GET /health HTTP/1.1\r\n" + lines + b"\r\n")[0] == expected
