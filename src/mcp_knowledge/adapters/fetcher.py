"""Files from the public internet: every address is judged, and the connection goes to the address that was judged.

Each hop of a redirect starts over: read, look up, judge all addresses of the answer, connect to one of them by number,
with the name only in the TLS handshake and the Host header. No proxy, cookie or credential of the environment is used.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

import httpx2

from mcp_knowledge.adapters.fetched_file import FetchedFile
from mcp_knowledge.domain.addresses import is_public
from mcp_knowledge.domain.downloads import HEAD_BYTES, Download, charset, media_type
from mcp_knowledge.domain.urls import RefusedUrl, UnusableUrl, WebAddress, follow, read_url
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Fetched
from mcp_knowledge.settings import Settings

_AT_ONCE = 24  # each costs two descriptors, a connection and a file, and next to no memory
_OF_A_HOST_AT_ONCE = 4  # so that a slow host keeps nobody waiting but those who fetch from it
_CONNECT_S = 10.0  # for one address; the next of the answer is tried after it
_MOST_ADDRESSES = 4
_REDIRECTS = (301, 302, 303, 307, 308)
_SUCCESS = (200, 203)  # others have no body, or not the whole one
_HEADERS = {"User-Agent": "mcp-knowledge", "Accept": "*/*", "Accept-Encoding": "gzip"}
_NAMED_STATUSES = {
    401: "it asks for a login",
    403: "it refuses access",
    404: "there is nothing there",
    410: "the page is gone",
    429: "it has been asked too often; try again later",
}

Resolve = Callable[[str, int], Awaitable[list[str]]]


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host name, off the event loop. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


class WebFetcher:
    """Fetches single files.

    Args:
        upload_dir: gives the folder of temporary files.
        resolve: the look-up of a host name.
        judge: whether an IP address may be connected to.
        tls: which certificates are believed; None takes those of the operating system.
    """

    def __init__(
        self,
        settings: Settings,
        upload_dir: Callable[[], Path],
        *,
        resolve: Resolve = look_up,
        judge: Callable[[str], bool] = is_public,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._timeout_s = settings.url_fetch_timeout_ms / 1000
        self._max_redirects = settings.url_fetch_max_redirects
        self._max_bytes = settings.max_upload_bytes
        self._upload_dir = upload_dir
        self._resolve = resolve
        self._judge = judge
        self._tls = tls
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._host_slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def fetch(self, url: str) -> AsyncIterator[Fetched]:
        """Get the file at an address; it is gone when this is left, unless it was moved away.

        Raises:
            KnowledgeError: INVALID_ARGUMENT, SSRF_BLOCKED, URL_FETCH_FAILED, URL_FETCH_TIMEOUT, PAYLOAD_TOO_LARGE,
                SERVICE_UNAVAILABLE.
        """
        with _refusing("INVALID_ARGUMENT", "url: "):
            address = read_url(url)
        host_slots = self._host_slots.setdefault(address.host, asyncio.Semaphore(_OF_A_HOST_AT_ONCE))
        with FetchedFile(self._upload_dir(), self._max_bytes) as file:
            try:
                async with asyncio.timeout(self._timeout_s), host_slots, self._slots:
                    download = await self._follow(address, file)
            except TimeoutError:
                raise KnowledgeError("URL_FETCH_TIMEOUT") from None
            yield Fetched(file.path, file.size_bytes, file.sha256, download)

    async def _follow(self, address: WebAddress, file: FetchedFile) -> Download:
        for _ in range(self._max_redirects + 1):
            async with self._answer(address) as answer:
                if answer.status_code not in _REDIRECTS:
                    return await _receive(answer, address, file)
                location = _header(answer, "location")
            if not location:
                raise _failed("The address answers with a redirect that leads nowhere.")
            with _refusing("URL_FETCH_FAILED", "The address redirects to a place that is not valid. "):
                address = follow(address, location)
        raise _failed(f"The address redirects more than {self._max_redirects} times.")

    @asynccontextmanager
    async def _answer(self, address: WebAddress) -> AsyncIterator[httpx2.Response]:
        """The start of a host's answer. A connection pool of its own: none is shared by two names of one address."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(httpx2.create_ssl_context, trust_env=False)
        numbers = await self._numbers(address)
        async with httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False) as transport:
            with _explaining():
                answer = await _connect(transport, address, numbers)
            try:
                yield answer
            finally:
                await answer.aclose()

    async def _numbers(self, address: WebAddress) -> list[str]:
        """Where a host is. Raises SSRF_BLOCKED unless every address of the answer passes."""
        if address.ip:
            found = [address.host]
        else:
            try:
                found = await self._resolve(address.host, address.port)
            except (OSError, UnicodeError):
                found = []
        if not found:
            raise _failed("The name of this host could not be looked up.")
        if not all(self._judge(number) for number in found):
            raise KnowledgeError("SSRF_BLOCKED")
        return found[:_MOST_ADDRESSES]


async def _connect(transport: httpx2.AsyncHTTPTransport, address: WebAddress, numbers: list[str]) -> httpx2.Response:
    """Send the request to the first address that takes a connection."""
    for number in numbers[:-1]:
        try:
            return await transport.handle_async_request(_request(address, number))
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await transport.handle_async_request(_request(address, numbers[-1]))


def _request(address: WebAddress, number: str) -> httpx2.Request:
    host = f"[{number}]" if ":" in number else number
    return httpx2.Request(
        "GET",
        httpx2.URL(scheme=address.scheme, host=host, port=address.port, raw_path=address.target.encode("ascii")),
        headers={"Host": address.host_header, **_HEADERS},
        extensions={"sni_hostname": address.host, "timeout": {"connect": _CONNECT_S}},
    )


async def _receive(answer: httpx2.Response, address: WebAddress, file: FetchedFile) -> Download:
    if answer.status_code not in _SUCCESS:
        meaning = _NAMED_STATUSES.get(answer.status_code)
        raise _failed(f"The address answers with status {answer.status_code}{f': {meaning}' if meaning else ''}.")
    announced = _header(answer, "content-length")
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > file.max_bytes):
        raise file.too_large()
    encoding = _header(answer, "content-encoding").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise _failed("The address sends the document compressed in a way that was not asked for.")
    if encoding.endswith("gzip"):
        file.expect_gzip()
    with _explaining():
        async for piece in answer.aiter_raw():
            await file.take(piece)
    content_type = _header(answer, "content-type")
    file.finish()
    if file.size_bytes == 0:
        raise _failed("The address answers with an empty file.")
    if media_type(content_type).startswith("text/") and (label := charset(content_type)):
        await file.keep_charset(label)
    return Download(address, content_type, _raw_header(answer, b"content-disposition"), file.head(HEAD_BYTES))


def _raw_header(answer: httpx2.Response, name: bytes) -> bytes:
    return next((value for key, value in answer.headers.raw if key.lower() == name), b"")


def _header(answer: httpx2.Response, name: str) -> str:
    """The first header of this name. Servers send UTF-8, where they send more than ASCII at all."""
    return _raw_header(answer, name.encode("ascii")).decode("utf-8", "replace").strip()


def _failed(message: str) -> KnowledgeError:
    return KnowledgeError("URL_FETCH_FAILED", message)


@contextmanager
def _refusing(code: str, beginning: str) -> Iterator[None]:
    """An address that is refused, or is none, as the error that says so."""
    try:
        yield
    except RefusedUrl as error:
        raise KnowledgeError("SSRF_BLOCKED", str(error)) from None
    except UnusableUrl as error:
        raise KnowledgeError(code, f"{beginning}{error}") from None


@contextmanager
def _explaining() -> Iterator[None]:
    """What goes wrong on the way, as a sentence."""
    try:
        yield
    except httpx2.TimeoutException:
        raise KnowledgeError("URL_FETCH_TIMEOUT") from None
    except httpx2.ConnectError as error:
        if _certificate_is_bad(error):
            raise _failed("The certificate of this host is not valid.") from error
        raise _failed("No connection to this host is possible.") from error
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        raise _failed("The connection broke off, or the answer is no valid HTTP.") from error


def _certificate_is_bad(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
