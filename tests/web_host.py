"""A web host on loopback whose every byte a test decides, and a fetcher that may reach it under any name."""

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mcp_knowledge.adapters.fetcher import WebFetcher
from mcp_knowledge.adapters.parsers.registry import mime_type_of
from mcp_knowledge.domain.downloads import Formats
from mcp_knowledge.services import Services
from mcp_knowledge.services.urls import Urls
from mcp_knowledge.settings import Settings

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


def answer(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """An answer with a true Content-Length, unless the headers tell another."""
    lines = [f"HTTP/1.1 {status}", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {location}", status=status)


@dataclass
class WebHost:
    """What it answers by path, and the requests that came (head as text)."""

    port: int = 0
    answers: dict[str, bytes | Play] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    server_names: list[str | None] = field(default_factory=list)

    def url(self, path: str, host: str = "files.example", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(head)
            play = self.answers.get(head.split(" ")[1], answer(b"", status="404 Not Found"))
            if isinstance(play, bytes):
                writer.write(play)
                await writer.drain()
            else:
                await play(reader, writer)
        writer.close()


@asynccontextmanager
async def web_host(tls: ssl.SSLContext | None = None) -> AsyncIterator[WebHost]:
    host = WebHost()
    if tls is not None:
        tls.sni_callback = lambda _, name, __: host.server_names.append(name)
    server = await asyncio.start_server(host.serve, "127.0.0.1", 0, ssl=tls)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()


def fetcher(
    settings: Settings,
    folder: Path,
    names: dict[str, list[str]] | None = None,
    public: frozenset[str] = frozenset({"127.0.0.1"}),
    tls: ssl.SSLContext | None = None,
) -> WebFetcher:
    """A fetcher for which every name leads to loopback, and loopback is public."""

    async def resolve(host: str, _port: int) -> list[str]:
        return ["127.0.0.1"] if names is None else names.get(host, [])

    return WebFetcher(settings, lambda: folder, resolve=resolve, judge=lambda number: number in public, tls=tls)


def reaching_loopback(services: Services) -> Services:
    """The same use cases, but the addresses that are fetched from lead to loopback."""
    web = fetcher(services.settings, services.intake.upload_dir())
    formats = Formats(services.intake.accepted_extensions, mime_type_of)
    return replace(services, urls=Urls(web, services.intake, services.collections, formats))


@dataclass(frozen=True)
class Certificates:
    """A certificate authority for one test run, and a server's certificate by it."""

    authority: bytes
    chain: bytes

    def server(self, folder: Path) -> ssl.SSLContext:
        path = folder / "server.pem"
        path.write_bytes(self.chain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def client(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.decode())


def certificates(name: str) -> Certificates:
    """For one host name."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    usage = dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False)
    signing = x509.KeyUsage(
        digital_signature=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False, **usage
    )
    root = _certificate("Test authority", root_key).add_extension(signing, critical=True)
    root = root.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key())
    leaf = _certificate(name, key).add_extension(identifier, critical=False)
    leaf = leaf.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificates(
        authority=root.sign(root_key, hashes.SHA256()).public_bytes(pem),
        chain=private + leaf.sign(root_key, hashes.SHA256()).public_bytes(pem),
    )


def _certificate(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(subject))
        .issuer_name(_named("Test authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def left(uploads: Path) -> list[Path]:
    """What lies in the folder of temporary files."""
    return list(uploads.iterdir())
