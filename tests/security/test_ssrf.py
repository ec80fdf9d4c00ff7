"""Fetching reaches the public internet and nothing else, whatever an address, a name server or a web host says. A
listening socket on this machine is the witness: nothing may connect to it.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from front_door import running_client
from hostile_addresses import hostile_addresses, spellings
from web_host import Play, answer, certificates, fetcher, left, redirect, web_host

from mcp_knowledge.adapters.fetcher import WebFetcher
from mcp_knowledge.app import open_services
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.cli.ingest import ingest_sources
from mcp_knowledge.settings import Settings, load_settings

HERE, NEXT_DOOR = "127.0.0.1", "127.0.0.2"  # the public internet of these tests, and what is none
REFUSALS = {"SSRF_BLOCKED", "INVALID_ARGUMENT"}


@dataclass
class Witness:
    """A port of this machine, and how many have connected to it."""

    port: int
    met: list[Any] = field(default_factory=list)


@asynccontextmanager
async def witness(port: int = 0, hosts: tuple[str, ...] = (HERE, NEXT_DOOR, "::1")) -> AsyncIterator[Witness]:
    """Listens at every address of this machine that is told, at one port."""
    seen = Witness(port)

    async def meet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.met.append(writer.get_extra_info("sockname"))
        writer.write(answer(b"secret", "Content-Type: text/plain"))
        writer.close()

    async with AsyncExitStack() as stack:
        for host in hosts:
            server = await asyncio.start_server(meet, host, seen.port)
            stack.callback(server.close)
            seen.port = server.sockets[0].getsockname()[1]
        yield seen


async def refusal(web: WebFetcher, url: str) -> str:
    """The code with which an address is refused; what was fetched if it is not."""
    try:
        async with web.fetch(url) as fetched:
            return f"fetched {fetched.path.read_bytes()!r}"
    except KnowledgeError as error:
        return error.code


# Addresses


async def test_no_spelling_of_an_inner_address_is_connected_to_or_looked_up(settings: Settings, uploads: Path) -> None:
    looked_up: list[str] = []

    async def resolve(host: str, _port: int) -> list[str]:
        looked_up.append(host)
        return [HERE]

    async with witness() as inside:
        web = WebFetcher(settings, lambda: uploads, resolve=resolve)
        addresses = list(hostile_addresses(inside.port))
        found = {url: await refusal(web, url) for url in addresses}
    assert len(addresses) > 500
    assert {url: code for url, code in found.items() if code not in REFUSALS} == {}
    assert (inside.met, looked_up, left(uploads)) == ([], [], [])


async def test_no_public_door_leads_to_an_inner_address(settings: Settings) -> None:
    async with witness() as inside, running_client(settings) as client:
        addresses = list(hostile_addresses(inside.port))
        for url in addresses[::9]:
            answered = await client.post("/api/v1/documents/from-url", json={"url": url})
            assert answered.status_code == 400 and answered.json()["error"]["code"] in REFUSALS, url
        for url in addresses[4::30]:
            page = await client.post("/documents/from-url", data={"url": url}, headers={"Accept": "text/html"})
            assert page.status_code == 400, url
        assert (await client.get("/api/v1/documents")).json()["items"] == []
    assert inside.met == []


async def test_the_command_line_leads_to_no_inner_address(settings: Settings) -> None:
    async with witness() as inside, open_services(settings) as services:
        urls = [url for url in list(hostile_addresses(inside.port))[::20] if url.lower().startswith("http")]
        report = await ingest_sources(services, urls, None, None, wait=True, quiet=True)
    assert {item.reason.partition(":")[0] for item in report.skipped} <= REFUSALS
    assert (len(report.skipped), report.ready, inside.met) == (len(urls), [], [])


# Name servers


def names(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let the system's own look-up of `files.example` give these answers in turn, the last one for ever."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host not in ("files.example", b"files.example"):
            return real(host, port, *rest, **more)
        asked.append(str(host))
        numbers = answers[min(len(asked), len(answers)) - 1]
        return [item for number in numbers for item in real(number, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def believing(settings: Settings, uploads: Path) -> WebFetcher:
    """With the system's look-up; one address of this machine passes for public."""
    return WebFetcher(settings, lambda: uploads, judge=lambda number: number == HERE)


async def test_the_address_that_was_judged_is_the_one_that_is_connected_to(
    settings: Settings, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web_host() as host, witness(host.port, (NEXT_DOOR,)) as inside:
        host.answers["/"] = answer(b"public")
        asked = names(monkeypatch, [HERE], [NEXT_DOOR])
        assert await refusal(believing(settings, uploads), host.url("/")) == "fetched b'public'"
        assert len(asked) == 1
        assert await refusal(believing(settings, uploads), host.url("/")) == "SSRF_BLOCKED"
    assert inside.met == [] and len(host.requests) == 1


async def test_a_name_that_turns_while_many_fetch_from_it_leads_nobody_inside(
    settings: Settings, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web_host() as host, witness(host.port, (NEXT_DOOR,)) as inside:
        host.answers["/"] = answer(b"public")
        names(monkeypatch, *([HERE], [NEXT_DOOR], [HERE, NEXT_DOOR]) * 10)
        web = believing(settings, uploads)
        found = await asyncio.gather(*(refusal(web, host.url("/")) for _ in range(30)))
    assert (found.count("fetched b'public'"), found.count("SSRF_BLOCKED"), inside.met) == (10, 20, [])


@pytest.mark.parametrize("bad", [NEXT_DOOR, "::1", "10.0.0.1", "::ffff:127.0.0.1"])
async def test_one_inner_address_among_public_ones_spoils_the_answer(
    settings: Settings, uploads: Path, bad: str
) -> None:
    async with witness() as inside:
        for place in (0, 1, 9):
            numbers = ["8.8.8.8"] * 9
            numbers.insert(place, bad)

            async def resolve(_host: str, _port: int, numbers: list[str] = numbers) -> list[str]:
                return numbers

            web = WebFetcher(settings, lambda: uploads, resolve=resolve)
            assert await refusal(web, f"http://files.example:{inside.port}/") == "SSRF_BLOCKED"
    assert inside.met == []


# Web hosts


def inward(port: int) -> Iterator[str]:
    """Where a redirect could lead; some of these browsers take for a whole address."""
    yield from (f"http://{host}:{port}/" for host in spellings(HERE))
    yield from (
        f"//{NEXT_DOOR}:{port}/",
        f"/\\{NEXT_DOOR}:{port}/",
        f"\t//{NEXT_DOOR}:{port}/",
        f"https://[::1]:{port}/",
    )
    yield from (
        f"http://localhost:{port}/",
        f"http://metadata.google.internal:{port}/",
        f"http://x@{NEXT_DOOR}:{port}/",
    )
    yield from (
        f"ftp://{NEXT_DOOR}:{port}/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_INFO",
        "data:text/plain,x",
    )


async def test_no_redirect_leads_inside_at_any_hop(settings: Settings, uploads: Path) -> None:
    async with web_host() as host, witness(host.port, (NEXT_DOOR, "::1")) as inside:
        web = fetcher(settings, uploads)
        host.answers |= {"/3": redirect("/2"), "/2": redirect("/1", "308 Permanent Redirect")}
        for location in inward(host.port):
            host.answers["/1"] = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
            for path in ("/1", "/3"):
                # `/` itself answers 404 here: what is taken for a path of the same host ends there.
                assert await refusal(web, host.url(path)) in ("SSRF_BLOCKED", "URL_FETCH_FAILED"), location
    assert inside.met == []
    assert not any(request.startswith("GET / ") for request in host.requests)


async def test_of_two_locations_none_leads_inside_and_no_other_header_leads_anywhere(
    settings: Settings, uploads: Path
) -> None:
    async with web_host() as host, witness(host.port, (NEXT_DOOR,)) as inside:
        there = f"http://{NEXT_DOOR}:{host.port}/"
        host.answers |= {
            "/two": answer(b"", "Location: /public", f"Location: {there}", status="302 Found"),
            "/public": answer(
                b"public",
                f"Refresh: 0; url={there}",
                f"Content-Location: {there}",
                f'Alt-Svc: http/1.1="{there[7:-1]}"',
            ),
            "/early": f"HTTP/1.1 103 Early Hints\r\nLink: <{there}>; rel=preload\r\n\r\n".encode() + answer(b"public"),
        }
        web = fetcher(settings, uploads)
        for path in ("/two", "/public", "/public", "/early"):
            assert await refusal(web, host.url(path)) == "fetched b'public'", path
    assert inside.met == []


async def test_a_name_answers_from_the_address_that_it_named_and_proves_that_it_is_itself(
    settings: Settings, uploads: Path, tmp_path: Path
) -> None:
    mine, other = certificates("files.example"), certificates("other.example")
    async with web_host(mine.server(tmp_path)) as host, witness(host.port, (NEXT_DOOR,)) as inside:
        host.answers["/"] = answer(b"public")
        leading = {"files.example": [HERE], "other.example": [HERE]}
        web = fetcher(settings, uploads, leading, tls=mine.client())
        assert await refusal(web, host.url("/", scheme="https")) == "fetched b'public'"
        assert await refusal(web, host.url("/", "other.example", "https")) == "URL_FETCH_FAILED"
        assert await refusal(
            fetcher(settings, uploads, leading, tls=other.client()), host.url("/", scheme="https")
        ) == ("URL_FETCH_FAILED")
        host.answers["/down"] = redirect(f"http://{NEXT_DOOR}:{host.port}/")
        assert await refusal(web, host.url("/down", scheme="https")) == "SSRF_BLOCKED"
    assert inside.met == []


async def without_end(writer: asyncio.StreamWriter, head: bytes, piece: bytes) -> None:
    writer.write(head)
    while not writer.is_closing():
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)


def endless(head: bytes, piece: bytes) -> Play:
    async def play(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await without_end(writer, head, piece)

    return play


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"y" * 100),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 10_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"extension" * 100),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: y\r\n"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", b"x" * 10_000),
        (b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n\r\n", b"x" * 10_000),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\0", b"name" * 100),
    ],
    ids=lambda value: value[:60].decode("latin-1").strip() if isinstance(value, bytes) else None,
)
async def test_what_never_ends_is_left(uploads: Path, tmp_path: Path, head: bytes, piece: bytes) -> None:
    settings = load_settings(data_dir=tmp_path, url_fetch_timeout_ms=500, max_upload_bytes=1_000_000)
    async with web_host() as host:
        host.answers["/"] = endless(head, piece)
        found = await refusal(fetcher(settings, uploads), host.url("/"))
    assert found in ("URL_FETCH_FAILED", "URL_FETCH_TIMEOUT", "PAYLOAD_TOO_LARGE")
    assert left(uploads) == []
