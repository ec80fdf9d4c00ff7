"""Originals in a bucket while the network or the server does what it should not."""

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from front_door import wait_until
from s3_server import SECRET, S3Server
from tcp_proxy import Fault, TcpProxy

from mcp_knowledge.adapters.s3 import S3BlobStore
from mcp_knowledge.adapters.s3_connection import Bucket, Patience
from mcp_knowledge.adapters.s3_uploads import PART_BYTES
from mcp_knowledge.errors import KnowledgeError, StartupError

KEY = "originals/a/rev_1"
LARGE = os.urandom(2 * PART_BYTES + 1000)
SMALL = b"a small original"
# A server that says nothing is given up after a second. Whatever else a test does is over long before.
PATIENCE = Patience(connect_s=1.0, silence_s=1.0, retry_s=30.0, check_s=2.0)
HASTE = replace(PATIENCE, retry_s=0.5)
OWNER = "this database"
BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
THROTTLED = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"
ELSEWHERE = b"HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Line:
    """A store that reaches its bucket through a proxy, and one that reaches the same without."""

    def __init__(self, server: S3Server, proxy: TcpProxy, folder: Path) -> None:
        self.server, self.proxy, self.folder = server, proxy, folder
        self.bucket = server.new_bucket(proxy.url)
        self.blobs = self.store()
        self.direct = S3BlobStore(replace(self.bucket, endpoint=server.url), folder, OWNER)

    def store(self, patience: Patience = PATIENCE, bucket: Bucket | None = None) -> S3BlobStore:
        return S3BlobStore(bucket or self.bucket, self.folder, OWNER, patience)

    async def put(self, content: bytes, blobs: S3BlobStore | None = None) -> None:
        blobs = blobs or self.blobs
        path = blobs.upload_dir() / "upload"
        path.write_bytes(content)
        await blobs.put_file(KEY, path)
        assert not path.exists()

    async def content(self, blobs: S3BlobStore | None = None) -> bytes:
        return b"".join([piece async for piece in (blobs or self.blobs).read(KEY)])

    async def keys(self) -> list[str]:
        found = self.blobs.keys()
        return [key async for key, _ in found]


@pytest.fixture
def line(s3_server: S3Server, tmp_path: Path) -> Iterator[Line]:
    proxy = TcpProxy(s3_server.address)
    yield Line(s3_server, proxy, tmp_path)
    proxy.close()


# Large files


async def test_a_file_larger_than_a_part_goes_up_in_parts(line: Line) -> None:
    await line.put(LARGE)

    assert line.server.etag(line.bucket, KEY).endswith("-3")
    assert line.server.unfinished_uploads(line.bucket) == 0
    assert await line.content() == LARGE


async def test_a_file_of_one_part_goes_up_as_it_is(line: Line) -> None:
    await line.put(LARGE[:PART_BYTES])

    assert re.fullmatch("[0-9a-f]{32}", line.server.etag(line.bucket, KEY))


# Broken and silent connections


@pytest.mark.parametrize(
    "fault",
    [Fault("cut"), Fault("cut", 100), Fault("cut", 3_000_000), Fault("stall", 3_000_000)],
    ids=["before the answer", "in its head", "in its body", "silent"],
)
async def test_a_download_goes_on_where_it_broke(line: Line, fault: Fault) -> None:
    await line.put(LARGE)
    line.proxy.inject(fault)

    async with line.blobs.local_copy(KEY) as path:
        assert path.read_bytes() == LARGE
    assert line.proxy.faults_left == 0
    assert list(line.folder.iterdir()) == []


async def test_a_part_of_a_file_goes_on_where_it_broke(line: Line) -> None:
    await line.put(LARGE)
    line.proxy.inject(Fault("cut", 1_000_000), Fault("cut", 1_000_000))

    assert b"".join([piece async for piece in line.blobs.read(KEY, 1000, 5_000_000)]) == LARGE[1000:5_001_000]
    assert line.proxy.faults_left == 0


async def test_a_slow_reader_gets_everything_though_the_line_breaks_after_the_library_gave_up(line: Line) -> None:
    await line.put(LARGE)
    pieces = line.store(replace(PATIENCE, retry_s=0.01)).read(KEY)
    received = await anext(pieces)
    line.proxy.inject()  # breaks what is open

    async for piece in pieces:
        received += piece

    assert received == LARGE


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (SMALL, Fault("cut", 100, "up")),
        (SMALL, Fault("cut", 10, "down")),
        (SMALL, Fault("stall", 10, "down")),
        (LARGE, Fault("cut", 100, "up")),
        (LARGE, Fault("cut", 10, "down")),
        (LARGE, Fault("stall", 100, "up")),
    ],
)
async def test_an_upload_whose_line_breaks_arrives_whole(line: Line, content: bytes, fault: Fault) -> None:
    line.proxy.inject(fault)

    await line.put(content)

    assert line.proxy.faults_left == 0
    assert await line.content(line.direct) == content


@pytest.mark.parametrize("fault", [Fault("cut", 50, "up"), Fault("cut", 10), Fault("stall", 10)])
async def test_a_deletion_whose_line_breaks_is_made_again(line: Line, fault: Fault) -> None:
    await line.put(SMALL)
    line.proxy.inject(fault)

    await line.blobs.delete(KEY)

    assert line.proxy.faults_left == 0
    assert await line.keys() == []


@pytest.mark.parametrize("answer", [BUSY, THROTTLED], ids=["503", "429"])
async def test_a_server_that_is_busy_is_asked_again(line: Line, answer: bytes) -> None:
    await line.put(SMALL, line.direct)
    operations: list[Callable[[], Awaitable[object]]] = [
        line.content,
        line.keys,
        lambda: line.put(SMALL),
        lambda: line.blobs.delete(KEY),
    ]
    for operation in operations:
        line.proxy.inject(Fault("answer", reply=answer))
        await operation()
        assert line.proxy.faults_left == 0


# Outages


async def test_whatever_is_begun_in_an_outage_succeeds_when_it_is_over(line: Line) -> None:
    await line.put(SMALL)
    operations: list[Callable[[], Awaitable[object]]] = [
        line.content,
        line.keys,
        lambda: line.put(LARGE),
        lambda: line.blobs.delete(KEY),
    ]
    for operation in operations:
        line.proxy.refuse()
        waiting = asyncio.ensure_future(operation())
        assert not await line.blobs.healthy()
        assert not waiting.done()
        line.proxy.restore()
        await waiting
    assert await line.blobs.healthy()
    assert await line.keys() == []
    assert line.server.unfinished_uploads(line.bucket) == 0


async def test_an_outage_that_goes_on_is_nobodys_fault_and_loses_no_upload(line: Line) -> None:
    hasty = line.store(HASTE)
    await line.put(SMALL)
    line.proxy.refuse()
    path = hasty.upload_dir() / "upload"
    path.write_bytes(LARGE)
    operations: list[Callable[[], Awaitable[object]]] = [
        lambda: line.content(hasty),
        lambda: hasty.put_file(KEY, path),
        lambda: hasty.delete(KEY),
        lambda: anext(hasty.keys()),
    ]
    for operation in operations:
        with pytest.raises(KnowledgeError, match="cannot be reached right now") as raised:
            await operation()
        assert raised.value.code == "SERVICE_UNAVAILABLE"
        assert line.proxy.url not in raised.value.message
    assert path.read_bytes() == LARGE
    line.proxy.restore()
    assert await line.content(hasty) == SMALL


async def test_an_upload_that_fails_for_good_leaves_no_parts(line: Line) -> None:
    # The parts break off again and again, while the request that begins and the one that aborts come through.
    line.proxy.inject(*[Fault("cut", 1_000_000, "up")] * 100)
    with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
        await line.put(LARGE, line.store(HASTE))

    assert line.server.unfinished_uploads(line.bucket) == 0
    assert await line.keys() == []


async def test_an_upload_that_nobody_waits_for_any_more_leaves_no_parts(line: Line) -> None:
    line.proxy.inject(Fault("answer", reply=BUSY))  # the upload has begun when this is gone
    upload = asyncio.create_task(line.put(LARGE))
    await asyncio.to_thread(wait_until, lambda: line.proxy.faults_left == 0)
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload

    await line.blobs.close()

    assert line.server.unfinished_uploads(line.bucket) == 0
    assert await line.content() == LARGE  # no document will hold it: it goes as an orphan


async def test_a_check_of_a_silent_server_ends_in_time(line: Line) -> None:
    line.proxy.inject(*[Fault("stall")] * 10)

    async with asyncio.timeout(PATIENCE.check_s * 2):
        assert not await line.blobs.healthy()


# The start


async def test_a_start_tells_a_missing_bucket(line: Line) -> None:
    with pytest.raises(StartupError, match=r"There is no bucket 'no-such-bucket' at http://.*S3_BUCKET"):
        await line.store(bucket=replace(line.bucket, name="no-such-bucket")).open()


async def test_a_missing_bucket_makes_no_document_unavailable(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    blobs = line.store(bucket=replace(line.bucket, name="no-such-bucket"))
    operations: list[Callable[[], Awaitable[object]]] = [
        lambda: line.content(blobs),
        lambda: line.put(SMALL, blobs),
        lambda: line.put(LARGE, blobs),
        lambda: blobs.delete(KEY),
        lambda: anext(blobs.keys()),
    ]
    for operation in operations:
        with pytest.raises(KnowledgeError, match=r"SERVICE_UNAVAILABLE.*The log says why"):
            await operation()
        assert "There is no bucket" in caplog.text
        caplog.clear()
    assert not await blobs.healthy()


async def test_a_start_tells_credentials_that_do_not_do(line: Line) -> None:
    key, secret = line.server.new_user()
    with line.server.asking_for_credentials():
        for stranger in (
            replace(line.bucket, access_key_id="AKIAUNKNOWN"),
            replace(line.bucket, access_key_id=key, secret_access_key="wrong-secret"),
        ):
            with pytest.raises(StartupError, match=r"does not know these credentials.*AWS_ACCESS_KEY_ID") as raised:
                await line.store(bucket=stranger).open()
            assert "wrong-secret" not in str(raised.value) and SECRET not in str(raised.value)
        with pytest.raises(StartupError, match=r"AWS_ACCESS_KEY_ID.*lack a right to the bucket.*list.*read.*write"):
            await line.store(bucket=replace(line.bucket, access_key_id=key, secret_access_key=secret)).open()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (ELSEWHERE, r"is in another region: set S3_REGION"),
        (PAGE, r"\(S3_ENDPOINT\) does not answer as S3 does"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", r"does not answer as S3 does"),
    ],
    ids=["redirect", "page", "404"],
)
async def test_a_start_tells_a_server_of_another_kind(line: Line, answer: bytes, sentence: str) -> None:
    line.proxy.inject(*[Fault("answer", reply=answer)] * 5)
    with pytest.raises(StartupError, match=sentence):
        await line.blobs.open()


async def test_an_outage_stops_no_start_and_is_told(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    line.proxy.refuse()
    await line.blobs.open()
    assert "S3_ENDPOINT) cannot be reached" in caplog.text

    line.proxy.restore()
    await line.put(SMALL)
    assert await line.keys() == [KEY]


async def test_a_bucket_belongs_to_one_database(line: Line) -> None:
    def store(owner: str, endpoint: str = line.server.url) -> S3BlobStore:
        return S3BlobStore(replace(line.bucket, endpoint=endpoint), line.folder, owner, PATIENCE)

    await asyncio.gather(*(store("one").open() for _ in range(4)))
    await store("one").open()
    with pytest.raises(StartupError, match=r"S3_BUCKET\) holds the originals of another database.*mcp-knowledge/owner"):
        await store("two").open()

    # Nor does one that started in an outage ever list what is not its own: listed files without a document are deleted.
    late = store("two", line.proxy.url)
    line.proxy.refuse()
    await late.open()
    line.proxy.restore()
    with pytest.raises(StartupError, match="another database"):
        await anext(late.keys())


async def test_no_secret_shows_in_what_is_logged_or_printed(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    blobs = line.store(HASTE, replace(line.bucket, session_token="a-token-of-tests"))
    await blobs.open()
    line.proxy.refuse()
    with pytest.raises(KnowledgeError) as raised:
        await line.content(blobs)

    shown = f"{caplog.text} {raised.value.__cause__!r} {raised.value.__cause__} {blobs.__dict__}"
    assert SECRET not in shown and "a-token-of-tests" not in shown
    assert SECRET not in repr(Bucket("bucket", secret_access_key=SECRET))
