"""Slow, stalled and greedy clients, against a server process that has little patience and may open few files."""

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import psutil
import pytest
from front_door import FreshServer, wait_until
from impatient_server import WINDOW_S

from mcp_knowledge.interfaces.connections import most_connections
from mcp_knowledge.interfaces.protocol import MAX_PIPELINED
from mcp_knowledge.interfaces.rest.bodies import LARGE_BYTES, WINDOW_BYTES

DESCRIPTORS = 256
MOST = most_connections(DESCRIPTORS)
HOST = b"Host: localhost\r\n"
HEALTH = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
EVENTS = b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n"
JSON = b"Content-Type: application/json\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=edge\r\n"
PART = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
LAST = b"\r\n--edge--\r\n"


class ImpatientServer(FreshServer):
    def command(self) -> list[str]:
        program = Path(__file__).with_name("impatient_server.py")
        return [sys.executable, str(program), str(self.data_dir), str(DESCRIPTORS)]

    def connect(self) -> socket.socket:
        """A connection that takes little before it is read from."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", int(self.url.rpartition(":")[2])))
        return connection

    def serves(self, connection: socket.socket) -> bool:
        """Whether it holds its end of a connection."""
        assert self.process is not None
        own = connection.getsockname()
        return any(item.raddr == own for item in psutil.Process(self.process.pid).net_connections("tcp4"))

    def open_originals(self) -> list[str]:
        """Files below the folder of the originals that it has open."""
        assert self.process is not None
        files = psutil.Process(self.process.pid).open_files()
        return [file.path for file in files if Path(file.path).is_relative_to(self.data_dir / "documents")]

    def temporary_files(self) -> list[Path]:
        """Of uploads under way."""
        return list(self.data_dir.glob("documents/uploads/*"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImpatientServer]:
    """One server for the whole module."""
    running = ImpatientServer(tmp_path_factory.mktemp("server") / "data")
    running.start()
    yield running
    running.stop()


def post(path: bytes, headers: bytes, length: int) -> bytes:
    return b"POST %s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n" % (path, HOST, headers, length)


def upload(length: int) -> bytes:
    return post(b"/api/v1/documents", FORM, len(PART) + length + len(LAST)) + PART


def all_of(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    received = b""
    while True:
        try:
            piece = connection.recv(65_536)
        except ConnectionResetError:
            return received
        if not piece:
            return received
        received += piece


def answer_of(connection: socket.socket) -> bytes:
    """One answer whose length is announced."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(4096)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(length - len(body))
    return head + b"\r\n\r\n" + body


def status_and_code(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)["error"]["code"]


def many(server: ImpatientServer, number: int, request: bytes, stack: ExitStack) -> list[socket.socket]:
    """So many connections on which this was sent; closed with the stack."""
    connections = [stack.enter_context(server.connect()) for _ in range(number)]
    for connection in connections:
        connection.sendall(request)
    return connections


def test_a_head_that_does_not_end_is_answered_with_408(server: ImpatientServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        assert status_and_code(all_of(connection)) == (408, "REQUEST_TIMEOUT")


def test_whoever_sends_nothing_is_left_without_a_word_before_and_between_requests(server: ImpatientServer) -> None:
    with server.connect() as connection:
        assert all_of(connection) == b""
    with server.connect() as connection:
        connection.sendall(HEALTH)
        answer = all_of(connection)
        assert answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b'{"ok":true}')


@pytest.mark.parametrize(
    "start",
    [
        post(b"/api/v1/search", JSON, 100) + b"{",
        post(b"/mcp", JSON, 100) + b"{",
        post(b"/api/v1/session", JSON, 100) + b"{",
        upload(100_000) + b"a" * 90_000,
        b"POST /api/v1/search HTTP/1.1\r\n" + HOST + JSON + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
    ids=["search", "mcp", "sign in", "upload", "chunks"],
)
def test_a_body_that_stops_is_answered_with_408_and_leaves_nothing(server: ImpatientServer, start: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(start)
        assert status_and_code(all_of(connection)) == (408, "REQUEST_TIMEOUT")
    assert server.temporary_files() == []


def test_a_body_that_drips_takes_no_longer_than_one_that_stops(server: ImpatientServer) -> None:
    with server.connect() as connection:
        connection.sendall(post(b"/api/v1/search", JSON, 1_000_000))
        pace = threading.Event()
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            while not pace.wait(0.05):
                connection.sendall(b" ")


def test_a_slow_upload_that_gets_on_is_taken(server: ImpatientServer) -> None:
    pieces, pace = 6, threading.Event()
    with server.connect() as connection:
        connection.sendall(upload(pieces * WINDOW_BYTES))
        for _ in range(pieces):
            pace.wait(WINDOW_S / 3)  # twice as long in all as a stalled one has
            connection.sendall(b"slow " * (WINDOW_BYTES // 5) + b"." * (WINDOW_BYTES % 5))
        connection.sendall(LAST)
        assert answer_of(connection).startswith(b"HTTP/1.1 202 Accepted")


def test_a_client_that_reads_nothing_is_cut_off_and_its_file_closed(server: ImpatientServer) -> None:
    document = server.upload("large.pdf", b"%PDF-1.7\n" + bytes(4_000_000))["id"]
    with server.connect() as connection:
        connection.sendall(b"GET /api/v1/documents/%s/file HTTP/1.1\r\n%s\r\n" % (document.encode(), HOST))
        assert connection.recv(1024).startswith(b"HTTP/1.1 200 OK")
        assert server.serves(connection)
        wait_until(lambda: not server.serves(connection), what="the server to give up")
        assert len(all_of(connection)) < 1_000_000  # so little had been sent
    wait_until(lambda: not server.open_originals(), what="the file to be closed")


def test_a_request_that_is_answered_without_its_body_may_send_the_rest_and_go_on(server: ImpatientServer) -> None:
    with server.connect() as connection:
        connection.sendall(post(b"/nowhere", JSON, 300_000) + b"a" * 1000)
        assert answer_of(connection).startswith(b"HTTP/1.1 404 ")
        connection.sendall(b"a" * 299_000 + HEALTH)
        assert answer_of(connection).startswith(b"HTTP/1.1 200 ")
    with server.connect() as connection:
        connection.sendall(post(b"/nowhere", JSON, 300_000) + b"a" * 1000)
        assert all_of(connection).startswith(b"HTTP/1.1 404 ")  # and no more: who stops there is left


def test_requests_sent_ahead_are_answered_in_order_up_to_a_number(server: ImpatientServer) -> None:
    with server.connect() as connection:
        connection.sendall(HEALTH * (MAX_PIPELINED + 10))
        answers = all_of(connection).split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200"] * (MAX_PIPELINED + 1) + [b"400"]


def is_served(server: ImpatientServer) -> bool:
    with suppress(httpx2.TransportError):
        return server.request("GET", "/health").status_code == 200
    return False


def test_many_silent_connections_keep_nobody_out(server: ImpatientServer) -> None:
    with ExitStack() as stack:
        many(server, 4 * MOST, b"GET /he", stack)
        wait_until(lambda: is_served(server), what="the moment to pass in which so many come at once")
        assert server.request("POST", "/api/v1/search", json={"query": "anything"}).status_code == 200


def test_where_everybody_is_served_newcomers_are_told_to_come_again(server: ImpatientServer) -> None:
    with ExitStack() as stack:
        connections = many(server, 3 * MOST, post(b"/api/v1/search", JSON, 1000) + b"{", stack)
        answers = [all_of(connection) for connection in connections]
        refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503 ")]
        assert {status_and_code(answer) for answer in refused} == {(503, "SERVICE_UNAVAILABLE")}
        assert all(b"\r\nretry-after: " in answer for answer in refused)
        assert server.request("GET", "/health").status_code == 200


def test_streams_are_counted_and_their_places_come_back_however_their_clients_left(server: ImpatientServer) -> None:
    places = MOST // 2

    def opened(stack: ExitStack) -> list[bytes]:
        return [item.recv(4096) for item in many(server, places, EVENTS + HEALTH, stack)]

    def all_welcome() -> bool:
        with ExitStack() as stack:
            return all(answer.startswith(b"HTTP/1.1 200 ") for answer in opened(stack))

    with ExitStack() as stack:
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in opened(stack))
        answer = server.request("GET", "/api/v1/events")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert int(answer.headers["retry-after"]) > 0
        assert server.request("GET", "/health").status_code == 200
    wait_until(all_welcome, what="all places to be free again")


def test_large_uploads_that_stall_make_way_for_one_that_does_not(server: ImpatientServer) -> None:
    content = b"%PDF-1.7\n" + bytes(200_000)
    with ExitStack() as stack:
        many(server, MOST // 2, upload(10_000_000) + b"a" * (LARGE_BYTES + 1), stack)
        assert server.upload("living.pdf", content)["status"] == "pending"
    wait_until(lambda: not server.temporary_files(), what="the others' files to go")


def test_the_server_stops_in_order_among_all_of_them(server: ImpatientServer) -> None:
    document = server.upload("large.pdf", b"%PDF-1.7\n" + bytes(4_000_000))["id"]
    requests = (
        b"GET /hea",
        EVENTS,
        upload(10_000_000) + b"a" * 100_000,
        post(b"/api/v1/search", JSON, 100) + b"{",
        b"GET /api/v1/documents/%s/file HTTP/1.1\r\n%s\r\n" % (document.encode(), HOST),
    )
    with ExitStack() as stack:
        for request in requests:
            many(server, 4, request, stack)
        process = server.process
        assert process is not None
        process.terminate()
        wait_until(lambda: process.poll() is not None, 30, "the server to end")
    assert process.returncode == 0
    assert "Traceback" not in server.log.read_text()
