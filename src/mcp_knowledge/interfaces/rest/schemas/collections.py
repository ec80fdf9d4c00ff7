"""Collections."""

from pydantic import Field

from mcp_knowledge.interfaces.rest.arguments import Arguments
from mcp_knowledge.interfaces.rest.schemas.common import CollectionName, Description, Shape, Timestamp, changeable


class Collection(Shape):
    """A named group of documents."""

    id: str
    name: str
    description: str | None
    documentCount: int
    createdAt: Timestamp
    updatedAt: Timestamp


class CollectionPage(Shape):
    """Collections, newest first."""

    items: list[Collection]
    nextCursor: str | None


class CollectionCreate(Arguments):
    """A new collection."""

    name: CollectionName = Field(description="Unique, whatever the case of its letters.")
    description: Description | None = None


class CollectionUpdate(Arguments):
    """What to change; a field that is left out stays."""

    name: CollectionName = changeable("Unique, whatever the case of its letters.")
    description: Description | None = changeable("null clears it.")
