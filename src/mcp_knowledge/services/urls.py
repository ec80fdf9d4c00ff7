"""Documents from the web: fetch one address, and take in what is there."""

from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.domain.downloads import Download, Formats, filename_of, media_type
from mcp_knowledge.domain.urls import without_fragment
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Fetcher
from mcp_knowledge.services.archives import ArchiveReceipt
from mcp_knowledge.services.collections import Collections
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.library import Filing, StoredUpload, UploadReceipt


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
        async with self._fetcher.fetch(url) as fetched:
            name = filename_of(fetched.download, self._formats)
            if name is None:
                raise _unsupported(fetched.download)
            file = StoredUpload(fetched.path, name, fetched.size_bytes, fetched.sha256)
            return await self._intake.add(file, Filing(collection_id, metadata, source_url=without_fragment(url)))


def _unsupported(download: Download) -> KnowledgeError:
    kind = media_type(download.content_type) or "no type"
    return KnowledgeError(
        "DOCUMENT_UNSUPPORTED_FORMAT", f"What is at this address (sent as {kind}) is no format that is read."
    )
