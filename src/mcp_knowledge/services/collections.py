"""Collections: named groups of documents."""

from mcp_knowledge.domain.documents import Collection
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import UNSET, Position, Store, Unset


class Collections:
    """The use cases around collections."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def create(self, name: str, description: str | None = None) -> Collection:
        """Raises COLLECTION_EXISTS."""
        return await self._store.create_collection(name, description)

    async def named(self, name: str) -> Collection:
        """The collection of this name, made if there is none."""
        try:
            return await self.create(name)
        except KnowledgeError as error:
            if error.code != "COLLECTION_EXISTS":
                raise
        found = await self._store.find_collection(name)
        return found or await self.create(name)

    async def get(self, collection_id: str) -> Collection:
        """Raises COLLECTION_NOT_FOUND."""
        collection = await self._store.get_collection(collection_id)
        if collection is None:
            raise KnowledgeError("COLLECTION_NOT_FOUND")
        return collection

    async def list(self, limit: int, after: Position | None = None) -> tuple[list[Collection], Position | None]:
        """A page, newest first, and where the next one goes on."""
        found = await self._store.list_collections(limit + 1, after)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None

    async def update(
        self, collection_id: str, name: str | Unset = UNSET, description: str | Unset | None = UNSET
    ) -> Collection:
        """Change what is given. Raises COLLECTION_NOT_FOUND, COLLECTION_EXISTS."""
        return await self._store.update_collection(collection_id, name, description)

    async def delete(self, collection_id: str) -> None:
        """Raises COLLECTION_NOT_FOUND, COLLECTION_NOT_EMPTY."""
        await self._store.delete_collection(collection_id)

    async def move_documents(self, collection_id: str, target_id: str | None) -> int:
        """All documents of a collection into another, or into none; how many. Raises COLLECTION_NOT_FOUND."""
        return await self._store.move_documents(collection_id, target_id)
