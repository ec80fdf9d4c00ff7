import asyncio
import gzip
import hashlib
import os
from pathlib import Path

import pytest
from front_door import until
from web_host import WebHost, answer, certificates, fetcher, left, redirect, web_host

from mcp_knowledge.adapters.fetcher import WebFetcher
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Fetcher
from mcp_knowledge.settings import Settings, load_settings


async def got(fetcher: Fetcher, url: str) -> bytes:
    async with fetcher.fetch(url) as fetched:
        content = fetched.path.read_bytes()
        assert fetched.size_bytes == len(content)
        assert fetched.sha256 == hashlib.sha256(content).hexdigest()
    assert not fetched.path.exists()
    return content


async def refused(fetcher: Fetcher, url: str, code: str, mentions: str = "") -> None:
    with pytest.raises(KnowledgeError) as caught:
        async with fetcher.fetch(url):
            pytest.fail("it was fetched")
    assert caught.value.code == code
    assert mentions in caught.value.message


async def test_a_file_arrives_with_what_the_answer_says_about_it(settings: Settings, uploads: Path) -> None:
    async with web_host() as host:
        host.answers["/a%20b?q=1"] = answer(
            b"content", "Content-Type: text/plain", 'Content-Disposition: attachment; filename="x.txt"'
        )
        async with fetcher(settings, uploads).fetch(host.url("/a b?q=1#part")) as fetched:
            assert fetched.path.read_bytes() == b"content"
            assert fetched.path.parent == uploads
            assert fetched.download.content_type == "text/plain"
            assert fetched.download.disposition == b'attachment; filename="x.txt"'
            assert str(fetched.download.address) == host.url("/a%20b?q=1")
    assert left(uploads) == []


async def test_a_file_that_was_moved_away_stays(settings: Settings, uploads: Path, tmp_path: Path) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(b"content")
        async with fetcher(settings, uploads).fetch(host.url("/")) as fetched:
            fetched.path.rename(tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes() == b"content"


async def test_the_request_names_the_host_and_tells_nothing_else(
    settings: Settings, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with web_host() as host:
        host.answers["/1"] = answer(b"", "Set-Cookie: a=b", "Location: /2", status="302 Found")
        host.answers["/2"] = answer(b"content")
        assert await got(fetcher(settings, uploads), host.url("/1")) == b"content"
    for request in host.requests:
        lines = [line.lower() for line in request.strip().split("\r\n")[1:]]
        assert f"host: files.example:{host.port}" in lines
        assert {line.partition(":")[0] for line in lines} <= {"host", "user-agent", "accept", "accept-encoding"}


# Addresses


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://localhost/", "http://2130706433/"])
async def test_a_private_address_is_blocked_without_a_look_up(settings: Settings, uploads: Path, url: str) -> None:
    looked_up: list[str] = []

    async def resolve(host: str, _port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"]

    await refused(WebFetcher(settings, lambda: uploads, resolve=resolve), url, "SSRF_BLOCKED")
    assert looked_up == []


@pytest.mark.parametrize(
    "numbers", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["2606:4700::1", "::ffff:127.0.0.1"]]
)
async def test_a_name_is_blocked_when_any_of_its_addresses_is_private(
    settings: Settings, uploads: Path, numbers: list[str]
) -> None:

    async def resolve(_host: str, _port: int) -> list[str]:
        return numbers

    await refused(WebFetcher(settings, lambda: uploads, resolve=resolve), "http://files.example/", "SSRF_BLOCKED")
    assert left(uploads) == []


async def test_a_name_that_leads_elsewhere_at_a_second_look_up_is_looked_up_once(
    settings: Settings, uploads: Path
) -> None:
    looked_up: list[str] = []

    async def resolve(host: str, _port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["127.0.0.2"]

    async with web_host() as host:
        host.answers["/"] = answer(b"content")

        judged: list[str] = []

        def judge(number: str) -> bool:
            judged.append(number)
            return True

        assert (
            await got(WebFetcher(settings, lambda: uploads, resolve=resolve, judge=judge), host.url("/")) == b"content"
        )
    assert looked_up == ["files.example"]
    assert judged == ["127.0.0.1"]


async def test_a_redirect_to_the_same_name_is_looked_up_and_judged_again(settings: Settings, uploads: Path) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]

    async def resolve(_host: str, _port: int) -> list[str]:
        return answers.pop(0)

    async with web_host() as host:
        host.answers["/1"] = redirect("/2")
        host.answers["/2"] = answer(b"content")
        web = WebFetcher(settings, lambda: uploads, resolve=resolve, judge=lambda number: number == "127.0.0.1")
        await refused(web, host.url("/1"), "SSRF_BLOCKED")
    assert len(host.requests) == 1


async def test_the_next_address_is_tried_when_one_takes_no_connection(settings: Settings, uploads: Path) -> None:
    names = {"files.example": ["127.0.0.3", "127.0.0.1"]}
    async with web_host() as host:
        host.answers["/"] = answer(b"content")
        web = fetcher(settings, uploads, names, public=frozenset({"127.0.0.1", "127.0.0.3"}))
        assert await got(web, host.url("/")) == b"content"


async def test_a_name_that_does_not_exist_is_said_to(settings: Settings, uploads: Path) -> None:
    await refused(
        fetcher(settings, uploads, {}), "http://nowhere.example/", "URL_FETCH_FAILED", "could not be looked up"
    )


async def test_a_look_up_that_fails_is_a_failure_of_the_fetch(settings: Settings, uploads: Path) -> None:

    async def resolve(_host: str, _port: int) -> list[str]:
        raise OSError("Name or service not known")

    web = WebFetcher(settings, lambda: uploads, resolve=resolve)
    await refused(web, "http://nowhere.example/", "URL_FETCH_FAILED", "could not be looked up")


# Redirects


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_followed(settings: Settings, uploads: Path, status: str) -> None:
    async with web_host() as host:
        host.answers["/a/1"] = redirect("../b?x=1", status)
        host.answers["/b?x=1"] = redirect(host.url("/c", host="other.example"), status)
        host.answers["/c"] = answer(b"content")
        assert await got(fetcher(settings, uploads), host.url("/a/1")) == b"content"
    assert f"Host: other.example:{host.port}" in host.requests[-1]


async def test_as_many_redirects_are_followed_as_the_setting_says(uploads: Path, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, url_fetch_max_redirects=2)
    async with web_host() as host:
        host.answers |= {"/3": redirect("/2"), "/2": redirect("/1"), "/1": redirect("/0"), "/0": answer(b"content")}
        assert await got(fetcher(settings, uploads), host.url("/2")) == b"content"
        await refused(fetcher(settings, uploads), host.url("/3"), "URL_FETCH_FAILED", "more than 2 times")


async def test_a_redirect_in_circles_ends(settings: Settings, uploads: Path) -> None:
    async with web_host() as host:
        host.answers["/"] = redirect("/")
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", "more than 3 times")
    assert len(host.requests) == 4


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "//localhost/",
        "http://0x7f.1/",
        "file:///etc/passwd",
        "http://a:b@files.example/",
        "ftp://x/",
    ],
)
async def test_a_redirect_to_where_nothing_is_fetched_from_is_blocked(
    settings: Settings, uploads: Path, location: str
) -> None:
    async with web_host() as host:
        host.answers["/"] = redirect(location)
        await refused(fetcher(settings, uploads), host.url("/"), "SSRF_BLOCKED")
    assert len(host.requests) == 1


@pytest.mark.parametrize("location", ["http://", "http://[x/", "http://files.example:0/", "\\\\host\\share"])
async def test_a_redirect_to_what_is_no_address_fails(settings: Settings, uploads: Path, location: str) -> None:
    async with web_host() as host:
        host.answers["/"] = redirect(location)
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", "redirect")


async def test_a_redirect_without_a_place_fails(settings: Settings, uploads: Path) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(b"", status="302 Found")
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", "nowhere")


# Bodies


@pytest.mark.parametrize(
    "status", ["404 Not Found", "403 Forbidden", "500 Oops", "204 No Content", "206 Partial", "304 x"]
)
async def test_an_answer_that_is_no_success_names_its_status(settings: Settings, uploads: Path, status: str) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(b"" if status[0] != "4" else b"sorry", status=status)
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", status[:3])


async def test_a_file_may_be_as_large_as_the_setting_says_and_no_larger(uploads: Path, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, max_upload_bytes=1000)
    async with web_host() as host:
        host.answers["/fits"] = answer(b"x" * 1000)
        host.answers["/announced"] = answer(b"", "Content-Length: 1001")
        host.answers["/endless"] = answer(b"x" * 5000, "Transfer-Encoding: chunked").replace(
            b"\n\r\nx", b"\n\r\n1388\r\nx"
        )
        host.answers["/absurd"] = answer(b"", f"Content-Length: {'9' * 19}")
        assert len(await got(fetcher(settings, uploads), host.url("/fits"))) == 1000
        for path in ("/announced", "/endless", "/absurd"):
            await refused(fetcher(settings, uploads), host.url(path), "PAYLOAD_TOO_LARGE", "1,000")
    assert left(uploads) == []


async def test_a_body_without_a_length_ends_with_the_connection(settings: Settings, uploads: Path) -> None:
    async with web_host() as host:
        host.answers["/"] = b"HTTP/1.0 200 OK\r\n\r\ncontent"
        assert await got(fetcher(settings, uploads), host.url("/")) == b"content"


async def test_a_body_longer_than_it_says_is_cut_there(settings: Settings, uploads: Path) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(b"content and more", "Content-Length: 7")
        assert await got(fetcher(settings, uploads), host.url("/")) == b"content"


@pytest.mark.parametrize(
    "bytes_sent",
    [
        answer(b"short", "Content-Length: 100"),
        answer(b"5\r\nshort\r\n", "Transfer-Encoding: chunked"),
        answer(b"zz\r\nshort\r\n", "Transfer-Encoding: chunked"),
        answer(b"", "Content-Length: 5", "Content-Length: 6"),
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-Filler: " + b"x" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(30_000)) + b"\r\n",
    ],
    ids=[
        "cut",
        "chunk missing",
        "bad chunk",
        "two lengths",
        "nothing",
        "half a head",
        "no HTTP",
        "huge header",
        "many",
    ],
)
async def test_an_answer_that_breaks_off_or_is_no_http_fails(
    settings: Settings, uploads: Path, bytes_sent: bytes
) -> None:
    async with web_host() as host:
        host.answers["/"] = bytes_sent
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED")
    assert left(uploads) == []


async def test_an_empty_file_is_none(settings: Settings, uploads: Path) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(b"")
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", "empty")


async def test_a_connection_that_is_reset_fails(settings: Settings, uploads: Path) -> None:
    async def reset(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"short", "Content-Length: 100"))
        await writer.drain()
        writer.transport.abort()

    async with web_host() as host:
        host.answers["/"] = reset
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", "broke off")


async def test_a_port_where_nothing_listens_fails(settings: Settings, uploads: Path) -> None:
    async with web_host() as host:
        url = host.url("/")
    await refused(fetcher(settings, uploads), url, "URL_FETCH_FAILED", "No connection")


# Compression


async def test_compressed_content_is_unpacked(settings: Settings, uploads: Path) -> None:
    content = os.urandom(500_000) + b"x" * 2_000_000
    async with web_host() as host:
        host.answers["/"] = answer(gzip.compress(content), "Content-Encoding: gzip")
        host.answers["/members"] = answer(gzip.compress(b"one ") + gzip.compress(b"two"), "Content-Encoding: x-gzip")
        assert await got(fetcher(settings, uploads), host.url("/")) == content
        assert await got(fetcher(settings, uploads), host.url("/members")) == b"one two"


async def test_what_unpacks_to_more_than_the_limit_is_too_large(uploads: Path, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, max_upload_bytes=1_000_000)
    bomb = gzip.compress(b"\0" * 100_000_000)
    assert len(bomb) < 1_000_000
    async with web_host() as host:
        host.answers["/"] = answer(bomb, "Content-Encoding: gzip")
        await refused(fetcher(settings, uploads), host.url("/"), "PAYLOAD_TOO_LARGE")
    assert left(uploads) == []


@pytest.mark.parametrize(
    "body",
    [gzip.compress(os.urandom(5000))[:-100], b"not compressed", gzip.compress(b"a") + b"b"],
    ids=["cut short", "not compressed", "with a tail"],
)
async def test_content_that_is_not_compressed_as_it_says_fails(settings: Settings, uploads: Path, body: bytes) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(body, "Content-Encoding: gzip")
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", "compressed")


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip"])
async def test_a_compression_that_was_not_asked_for_fails(settings: Settings, uploads: Path, encoding: str) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(b"content", f"Content-Encoding: {encoding}")
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_FAILED", "compressed")


# Time


async def stalls(sent: bytes, settings: Settings, uploads: Path) -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        await reader.read()  # until the client goes

    async with web_host() as host:
        host.answers["/"] = play
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_TIMEOUT")
    assert left(uploads) == []


@pytest.mark.parametrize(
    "sent",
    [b"", b"HTTP/1.1 200 OK\r\n", answer(b"some", "Content-Length: 100"), b"HTTP/1.1 100 Continue\r\n\r\n"],
    ids=["nothing", "half a head", "half a body", "only an interim answer"],
)
async def test_a_host_that_stalls_is_left(uploads: Path, tmp_path: Path, sent: bytes) -> None:
    await stalls(sent, load_settings(data_dir=tmp_path, url_fetch_timeout_ms=200), uploads)


async def test_a_body_that_drips_for_ever_is_left_when_the_time_is_over(uploads: Path, tmp_path: Path) -> None:
    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"", "Transfer-Encoding: chunked"))
        while not writer.is_closing():
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)  # the pace of the host, not of the test

    settings = load_settings(data_dir=tmp_path, url_fetch_timeout_ms=300)
    async with web_host() as host:
        host.answers["/"] = drip
        await refused(fetcher(settings, uploads), host.url("/"), "URL_FETCH_TIMEOUT")
    assert left(uploads) == []


async def test_the_look_up_and_redirects_count_against_the_time(uploads: Path, tmp_path: Path) -> None:

    async def never(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    settings = load_settings(data_dir=tmp_path, url_fetch_timeout_ms=100)
    await refused(WebFetcher(settings, lambda: uploads, resolve=never), "http://files.example/", "URL_FETCH_TIMEOUT")


async def test_few_files_are_fetched_at_once_and_waiting_counts_against_the_time(uploads: Path, tmp_path: Path) -> None:
    open_now, most = 0, 0

    async def stall(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await reader.read()
        open_now -= 1

    settings = load_settings(data_dir=tmp_path, url_fetch_timeout_ms=500)
    async with web_host() as host:
        host.answers["/"] = stall
        web = fetcher(settings, uploads)
        await asyncio.gather(*(refused(web, host.url("/"), "URL_FETCH_TIMEOUT") for _ in range(20)))
    assert 0 < most <= 8
    assert left(uploads) == []


async def test_a_cancelled_fetch_leaves_nothing_behind(settings: Settings, uploads: Path) -> None:
    waiting = asyncio.Event()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"some", "Content-Length: 100"))
        await writer.drain()
        waiting.set()
        await reader.read()

    async def fetch(host: WebHost) -> None:
        async with fetcher(settings, uploads).fetch(host.url("/")):
            pass

    async with web_host() as host:
        host.answers["/"] = play
        task = asyncio.create_task(fetch(host))
        await waiting.wait()
        assert len(left(uploads)) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert left(uploads) == []


async def test_a_disk_that_takes_no_more_is_not_the_hosts_fault(settings: Settings, tmp_path: Path) -> None:
    async with web_host() as host:
        host.answers["/"] = answer(b"content")
        await refused(fetcher(settings, tmp_path / "missing"), host.url("/"), "SERVICE_UNAVAILABLE")


# Certificates


async def test_the_name_is_in_the_handshake_though_the_connection_goes_to_a_number(
    settings: Settings, uploads: Path, tmp_path: Path
) -> None:
    made = certificates("files.example")
    async with web_host(made.server(tmp_path)) as host:
        host.answers["/"] = answer(b"content")
        url = host.url("/", scheme="https")
        assert await got(fetcher(settings, uploads, tls=made.client()), url) == b"content"
    assert host.server_names == ["files.example"]


async def test_a_certificate_of_another_name_or_of_nobody_known_is_not_believed(
    settings: Settings, uploads: Path, tmp_path: Path
) -> None:
    made = certificates("files.example")
    async with web_host(made.server(tmp_path)) as host:
        host.answers["/"] = answer(b"content")
        other = host.url("/", host="other.example", scheme="https")
        await refused(fetcher(settings, uploads, tls=made.client()), other, "URL_FETCH_FAILED", "certificate")
        unknown = host.url("/", scheme="https")
        await refused(fetcher(settings, uploads), unknown, "URL_FETCH_FAILED", "certificate")
    assert host.requests == []


async def test_a_redirect_does_not_reuse_a_connection_that_was_made_for_another_name(
    settings: Settings, uploads: Path, tmp_path: Path
) -> None:
    made = certificates("files.example")
    async with web_host(made.server(tmp_path)) as host:
        host.answers["/"] = redirect(host.url("/", host="other.example", scheme="https"))
        web = fetcher(settings, uploads, tls=made.client())
        await refused(web, host.url("/", scheme="https"), "URL_FETCH_FAILED", "certificate")
    assert host.server_names == ["files.example", "other.example"]


# Charsets

RUSSIAN = "Привет, мир. Это страница в старой кодировке."


async def stored(settings: Settings, uploads: Path, body: bytes, content_type: str) -> bytes:
    async with web_host() as host:
        host.answers["/"] = answer(body, f"Content-Type: {content_type}")
        return await got(fetcher(settings, uploads), host.url("/"))


@pytest.mark.parametrize("label", ["windows-1251", '"koi8-r"', "UTF-16LE", "utf-16be"])
async def test_a_text_whose_charset_only_the_header_tells_is_stored_as_utf8(
    settings: Settings, uploads: Path, label: str
) -> None:
    body = f"<p>{RUSSIAN}</p>".encode(label.strip('"'))
    content = await stored(settings, uploads, body, f"text/html; charset={label}")
    assert content == f"\ufeff<p>{RUSSIAN}</p>".encode()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (RUSSIAN.encode(), "text/plain; charset=windows-1251"),
        (f'<meta charset="windows-1251"><p>{RUSSIAN}'.encode("windows-1251"), "text/html; charset=windows-1251"),
        (RUSSIAN.encode("utf-16"), "text/plain; charset=windows-1251"),
        (RUSSIAN.encode("windows-1251"), "text/plain; charset=utf-8"),
        (RUSSIAN.encode("windows-1251"), "text/plain; charset=nonsense"),
        (RUSSIAN.encode("windows-1251"), "text/plain; charset=base64"),
        (RUSSIAN.encode("windows-1251"), "text/plain"),
        (RUSSIAN.encode("windows-1251"), "application/octet-stream; charset=windows-1251"),
    ],
)
async def test_any_other_text_is_stored_as_it_came(
    settings: Settings, uploads: Path, body: bytes, content_type: str
) -> None:
    assert await stored(settings, uploads, body, content_type) == body


async def test_a_slow_host_keeps_waiting_only_those_who_fetch_from_it(settings: Settings, uploads: Path) -> None:
    free = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await free.wait()
        writer.write(answer(b"late"))

    async with web_host() as host:
        host.answers |= {"/slow": slow, "/": answer(b"content")}
        fetching = fetcher(settings, uploads)
        waiting = [asyncio.create_task(got(fetching, host.url("/slow"))) for _ in range(30)]
        await until(lambda: len(host.requests) == 4)
        assert await got(fetching, host.url("/", "other.example")) == b"content"
        assert len(host.requests) == 5
        free.set()
        assert set(await asyncio.gather(*waiting)) == {b"late"}
    assert left(uploads) == []
