"""Changing what people say of a document."""

from typing import Protocol

from mcp_knowledge.domain.details import Details
from mcp_knowledge.domain.documents import Document, Metadata


class DetailsStore(Protocol):
    """Title, collection and metadata of documents."""

    async def get(self, document_id: str) -> Details | None:
        """None also for deleting and deleted documents."""
        ...

    async def change(
        self, document_id: str, stamp: str, title: str, collection_id: str | None, own: Metadata
    ) -> Document:
        """Write what differs from what is there; the file's own properties stay.

        Args:
            stamp: of the details that the change was made from.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, COLLECTION_NOT_FOUND; DOCUMENT_CHANGED, nothing written, when the
                stamp is another one by now.
        """
        ...
