"""Files: reading, keeping and fetching them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.domain.downloads import Download


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A parser's result, with which parser made it."""

    document: NormalizedDocument
    parser_name: str
    parser_version: str
    detected_mime_type: str


class Parser(Protocol):
    """Files to normalized documents, in a separate process with wall, CPU and memory limits."""

    def current_version(self, extension: str) -> tuple[str, str]:
        """Name and version of the parser that reads this extension now."""
        ...

    async def parse(self, path: Path, filename: str) -> ParsedFile:
        """Raises KnowledgeError with one of the document failure codes; never anything else about the file's
        content.
        """
        ...


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page as a picture, of a file that has `pages` of them."""

    data: bytes
    media_type: str
    pages: int


class PageRenderer(Protocol):
    """Pages of files to pictures, in a separate process with wall, CPU and memory limits."""

    async def render(self, path: Path, page: int, width: int, passage: str | None = None) -> PageImage:
        """Draw a page of a PDF.

        Args:
            page: its number, from 1.
            width: of the picture in pixels; it may come out smaller.
            passage: a text whose words are marked where they stand on the page.

        Raises:
            KnowledgeError: PAGE_NOT_FOUND, PAGE_UNREADABLE, SERVICE_UNAVAILABLE.
        """
        ...


class BlobStore(Protocol):
    """Original bytes under keys that the service makes (never from user input)."""

    driver: str

    async def put_file(self, key: str, path: Path) -> None:
        """Take over a finished temporary file: durable under the key when this returns, the temporary file is gone."""
        ...

    def upload_dir(self) -> Path:
        """Where temporary upload files belong, so that taking them over is a rename."""
        ...

    def local_copy(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A readable file with the blob's bytes. Raises DOCUMENT_CONTENT_UNAVAILABLE when the blob is missing."""
        ...

    def read(
        self, key: str, start: int = 0, length: int | None = None, *, of_bytes: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes from `start`, in pieces, up to `length` of them.

        Args:
            of_bytes: the size that the whole blob must have; None: any.

        Raises:
            KnowledgeError: DOCUMENT_CONTENT_UNAVAILABLE, before the first piece, when the blob is missing or has
                another size.
        """
        ...

    async def delete(self, key: str) -> None:
        """No error when it is gone already."""
        ...

    def keys(self) -> AsyncIterator[tuple[str, int]]:
        """Every key and when it was written (Unix milliseconds)."""
        ...

    async def healthy(self) -> bool:
        """Whether originals can be written and read right now."""
        ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file from the web.

    Args:
        path: a temporary file in the upload folder; it is gone when the fetch is left, unless it was moved away.
        sha256: in hexadecimal.
    """

    path: Path
    size_bytes: int
    sha256: str
    download: Download


class Fetcher(Protocol):
    """Files from the public internet, and from nowhere else."""

    def fetch(self, url: str) -> AbstractAsyncContextManager[Fetched]:
        """Get the file at an address.

        Raises:
            KnowledgeError: INVALID_ARGUMENT for what is no address, SSRF_BLOCKED, URL_FETCH_FAILED, URL_FETCH_TIMEOUT,
                PAYLOAD_TOO_LARGE, and SERVICE_UNAVAILABLE when the disk is full.
        """
        ...
