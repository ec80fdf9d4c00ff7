"""Changing what people say of a document, without losing what somebody else changed meanwhile."""

from mcp_knowledge.domain.details import Details
from mcp_knowledge.domain.documents import Document, Metadata
from mcp_knowledge.domain.metadata import check_metadata
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import DetailsStore
from mcp_knowledge.services.events import Events


class Editing:
    """Title, collection and metadata, as one form changes them."""

    def __init__(self, store: DetailsStore, events: Events) -> None:
        self._store, self._events = store, events

    async def details(self, document_id: str) -> Details:
        """Raises DOCUMENT_NOT_FOUND."""
        found = await self._store.get(document_id)
        if found is None:
            raise KnowledgeError("DOCUMENT_NOT_FOUND")
        return found

    async def save(
        self, document_id: str, stamp: str, title: str, collection_id: str | None, own: Metadata
    ) -> Document:
        """Change what differs; search and filters see it at once.

        Args:
            stamp: of the details that the form showed.
            own: the metadata that people set, all of it.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, COLLECTION_NOT_FOUND, INVALID_METADATA, DOCUMENT_CHANGED.
        """
        document = await self._store.change(document_id, stamp, title, collection_id, check_metadata(own))
        self._events.publish("document", document)
        return document
