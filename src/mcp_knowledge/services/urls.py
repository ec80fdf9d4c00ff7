"""Documents from the web: fetch one address, and take in what is there."""

from contextlib import AsyncExitStack

from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.domain.downloads import Download, Formats, filename_of, media_type
from mcp_knowledge.domain.urls import RefusedUrl, UnusableUrl, read_url, without_fragment
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Fetcher
from mcp_knowledge.services.archives import ArchiveReceipt
from mcp_knowledge.services.collections import Collections
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.library import Filing, StoredUpload, UploadReceipt
from mcp_knowledge.services.tracing import span, tracing


class Urls:
    """Takes documents in by their address."""

    def __init__(self, fetcher: Fetcher, intake: Intake, collections: Collections, formats: Formats) -> None:
        self._fetcher = fetcher
        self._intake = intake
        self._collections = collections
        self._formats = formats

    async def add(
        self, url: str, collection_id: str | None = None, metadata: Metadata | None = None
    ) -> UploadReceipt | ArchiveReceipt:
        """Fetch the file at an address now, and queue what is to be done with it. The document's source URL is the
        address as it was given, whatever redirects there are.

        Raises:
            KnowledgeError: INVALID_ARGUMENT for what is no address, COLLECTION_NOT_FOUND, SSRF_BLOCKED,
                URL_FETCH_FAILED, URL_FETCH_TIMEOUT, PAYLOAD_TOO_LARGE, DOCUMENT_UNSUPPORTED_FORMAT,
                SERVICE_UNAVAILABLE.
        """
        if collection_id is not None:
            await self._collections.get(collection_id)  # before anything is fetched for nothing
        async with AsyncExitStack() as fetching:
            with span("fetch", kind="client") as told:
                if tracing():
                    told.set({"server.address": _host(url)})
                fetched = await fetching.enter_async_context(self._fetcher.fetch(url))
                told.set({"fetch.bytes": fetched.size_bytes})
            name = filename_of(fetched.download, self._formats)
            if name is None:
                raise _unsupported(fetched.download)
            file = StoredUpload(fetched.path, name, fetched.size_bytes, fetched.sha256)
            return await self._intake.add(file, Filing(collection_id, metadata, source_url=without_fragment(url)))


def _host(url: str) -> str:
    """All that is told of an address: the rest of it may be a secret."""
    try:
        return read_url(url).host
    except (UnusableUrl, RefusedUrl):
        return "none"


def _unsupported(download: Download) -> KnowledgeError:
    kind = media_type(download.content_type) or "no type"
    return KnowledgeError(
        "DOCUMENT_UNSUPPORTED_FORMAT", f"What is at this address (sent as {kind}) is no format that is read."
    )
