"""Ways in which clients abuse a server: each holds connections of one kind for a while, and notes what it was told."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

MIB = 1024 * 1024
HOST = b"Host: localhost\r\n"
_BOUNDARY = b"edge"
_PART = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'


@dataclass
class Field:
    """Where an attack takes place.

    Args:
        file, long, small: ids of documents: with an original of 30 MB, with 180 KB of text, with a sentence.
        told: what the attackers got: the status of an answer, or how the connection ended.
    """

    host: str
    port: int
    seconds: float
    file: str
    long: str
    small: str
    told: Counter[str] = field(default_factory=Counter)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self, receive_bytes: int = 4096) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection with a small buffer, so that what is not read waits at the server."""
        try:
            connected = await asyncio.wait_for(
                asyncio.open_connection(self.host, self.port, limit=receive_bytes), self.seconds
            )
        except (OSError, TimeoutError) as error:
            self.told[type(error).__name__] += 1
            return None
        self.writers.append(connected[1])
        return connected

    async def send(self, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection on which this was sent."""
        connected = await self.connect()
        if connected is not None:
            with suppress(OSError):
                connected[1].write(request)
        return connected

    async def answer(self, reader: asyncio.StreamReader) -> None:
        """Note the status of the answer, or that none came."""
        try:
            line = await asyncio.wait_for(reader.readline(), self.seconds)
            self.told[line.split(b" ")[1].decode() if line else "closed"] += 1
        except TimeoutError:
            self.told["nothing"] += 1
        except (OSError, IndexError):
            self.told["cut off"] += 1

    async def leave(self) -> None:
        """Close everything."""
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


Attack = Callable[[Field], Awaitable[None]]


def post(path: bytes, media_type: bytes, length: int | None) -> bytes:
    """The head of a POST; without a length in chunks."""
    size = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    return b"POST %s HTTP/1.1\r\n%sContent-Type: %s\r\n%s\r\n\r\n" % (path, HOST, media_type, size)


async def many(number: int, one: Callable[[], Awaitable[object]]) -> None:
    """The same, so many times at once."""
    await asyncio.gather(*(one() for _ in range(number)))


async def ask_and_hold(where: Field, number: int, request: bytes) -> None:
    """Send a request on so many connections, note what comes, and stay."""

    async def one() -> None:
        connected = await where.send(request)
        if connected is not None:
            await where.answer(connected[0])

    began = time.monotonic()
    await many(number, one)
    await asyncio.sleep(max(0.0, began + where.seconds - time.monotonic()))


async def idle_streams(where: Field) -> None:
    """1,000 clients follow events."""
    await ask_and_hold(where, 1000, b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n")


async def silent(where: Field) -> None:
    """3,000 connections that send nothing."""
    await ask_and_hold(where, 3000, b"")


async def slow_heads(where: Field) -> None:
    """3,000 requests whose heads come a byte every 2 seconds."""

    async def one() -> None:
        connected = await where.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        if connected is None:
            return
        answer = asyncio.create_task(where.answer(connected[0]))
        while not answer.done():
            connected[1].write(b"a")
            await asyncio.sleep(2)

    await many(3000, one)


async def half_uploads(where: Field) -> None:
    """1,000 uploads that stop in the midst of the file."""
    head = post(b"/api/v1/documents", b"multipart/form-data; boundary=" + _BOUNDARY, 50 * MIB)
    await ask_and_hold(where, 1000, head + _PART + b"a" * 20_000)


async def large_half_uploads(where: Field) -> None:
    """200 uploads that stop after 2 MB."""
    head = post(b"/api/v1/documents", b"multipart/form-data; boundary=" + _BOUNDARY, 50 * MIB)
    await ask_and_hold(where, 200, head + _PART + b"a" * (2 * MIB))


async def half_json(where: Field) -> None:
    """1,500 searches whose bodies stop just before they are too large."""
    await ask_and_hold(where, 1500, post(b"/api/v1/search", b"application/json", MIB) + b" " * (MIB - 10))


async def endless_bodies(where: Field) -> None:
    """Bodies in chunks without end, 10 clients for each kind of route."""
    piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    routes = (
        (b"/api/v1/search", b"application/json", b""),
        (b"/api/v1/documents", b"multipart/form-data; boundary=" + _BOUNDARY, _PART),
        (b"/mcp", b"application/json", b""),
        (b"/login", b"application/x-www-form-urlencoded", b""),
        (b"/api/v1/session", b"application/json", b""),
        (b"/nowhere", b"application/json", b""),
        (b"/health", b"application/json", b""),
    )

    async def one(path: bytes, media_type: bytes, start: bytes) -> None:
        first = b"%x\r\n%s\r\n" % (len(start), start) if start else b""
        connected = await where.send(post(path, media_type, None) + first)
        if connected is None:
            return
        reader, writer = connected
        answer = asyncio.create_task(where.answer(reader))
        with suppress(OSError):
            async with asyncio.timeout(where.seconds):
                while not writer.transport.is_closing():
                    writer.write(piece)
                    await writer.drain()
        await answer

    with suppress(TimeoutError):
        await asyncio.gather(*(one(*route) for route in routes for _ in range(10)), return_exceptions=True)


async def unread_downloads(where: Field) -> None:
    """300 downloads of 30 MB that nobody reads."""
    await ask_and_hold(where, 300, b"GET /api/v1/documents/%s/file HTTP/1.1\r\n%s\r\n" % (where.file.encode(), HOST))


async def unread_answers(where: Field) -> None:
    """1,000 answers of 250 KB of JSON that nobody reads."""
    path = b"/api/v1/documents/%s/normalized" % where.long.encode()
    await ask_and_hold(where, 1000, b"GET %s HTTP/1.1\r\n%s\r\n" % (path, HOST))


async def pipelined(where: Field) -> None:
    """200 connections that send 5,000 requests each in one go."""
    await ask_and_hold(where, 200, (b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n") * 5000)


async def pipelined_streams(where: Field) -> None:
    """500 clients that follow events, ask for more on the same connection, and go."""
    request = b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n" + b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    await ask_and_hold(where, 500, request)


async def garbage(where: Field) -> None:
    """2,000 connections that speak TLS."""
    await ask_and_hold(where, 2000, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(300))


async def flood(where: Field) -> None:
    """6,000 connections at once, each asking for its health and staying."""
    await ask_and_hold(where, 6000, b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")


def busy(path: bytes, body: bytes | None) -> Attack:
    """64 clients that ask for something costly again and again."""

    def request(where: Field) -> bytes:
        method = b"GET" if body is None else b"POST"
        content = (body or b"").replace(b"LONG", where.long.encode())
        address = path.replace(b"LONG", where.long.encode())
        head = b"%s %s HTTP/1.1\r\n%sContent-Type: application/json\r\n" % (method, address, HOST)
        return head + b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)

    async def attack(where: Field) -> None:
        until = time.monotonic() + where.seconds
        filled = request(where)

        async def one() -> None:
            while time.monotonic() < until:
                connected = await where.send(filled)
                if connected is None:
                    return
                reader, writer = connected
                await where.answer(reader)
                with suppress(OSError, TimeoutError):
                    async with asyncio.timeout(where.seconds):
                        while await reader.read(65_536):
                            pass
                writer.transport.abort()
                where.writers.remove(writer)

        await many(64, one)

    return attack


_LONG = (b"where did the harbour ledger of the quiet engine go " * 40)[:1990]
ATTACKS: dict[str, Attack] = {
    "1,000 follow events": idle_streams,
    "3,000 send nothing": silent,
    "3,000 slow heads": slow_heads,
    "1,000 uploads stop": half_uploads,
    "200 uploads stop after 2 MB": large_half_uploads,
    "1,500 JSON bodies stop at 1 MB": half_json,
    "70 bodies without end": endless_bodies,
    "300 downloads not read": unread_downloads,
    "1,000 large answers not read": unread_answers,
    "200 send 5,000 requests at once": pipelined,
    "500 follow events, pipelined": pipelined_streams,
    "2,000 speak TLS": garbage,
    "6,000 connect": flood,
    "64 search, 2,000 characters": busy(b"/api/v1/search", b'{"query":"%s","limit":50}' % _LONG),
    "64 search, whole documents": busy(
        b"/api/v1/search", b'{"query":"harbour ledger","limit":50,"expand":{"type":"document"}}'
    ),
    "64 ask why not": busy(b"/api/v1/search/why-not", b'{"query":"harbour ledger","documentId":"LONG"}'),
    "64 read a long document": busy(b"/api/v1/documents/LONG/normalized", None),
    "64 list the catalog": busy(b"/api/v1/document-catalog?limit=100", None),
}

# Those that are attached when the server is told to stop.
AT_THE_END = (
    "1,000 follow events",
    "3,000 slow heads",
    "1,000 uploads stop",
    "300 downloads not read",
    "70 bodies without end",
)
