"""What metadata there is: the keys and values that conditions can be built from."""

from collections import OrderedDict

from mcp_knowledge.domain.filters import MAX_FIELD_CHARS, ValueKind
from mcp_knowledge.ports import Store
from mcp_knowledge.ports.metadata import KnownValue, MetadataKey, MetadataStore

MAX_KEYS = 1000  # of one corpus that are told apart; who has more than that spells them by hand
MAX_SEARCH_CHARS = 128
_REMEMBERED = 16  # collections whose keys are kept


class Metadata:
    """Offers keys and values; what was counted holds until the corpus changes."""

    def __init__(self, store: Store, metadata: MetadataStore) -> None:
        self._store = store
        self._metadata = metadata
        self._counted: OrderedDict[str | None, tuple[int, list[MetadataKey]]] = OrderedDict()

    async def key_names(self, limit: int) -> list[str]:
        """The first keys by name, at once, however large the corpus."""
        return await self._metadata.key_names(limit)

    async def kinds(self, keys: tuple[str, ...]) -> dict[str, tuple[ValueKind, ...]]:
        """Of which kinds the values of these keys are."""
        return await self._metadata.kinds(tuple(key for key in keys if len(key) <= MAX_FIELD_CHARS))

    async def keys(self, search: str = "", collection_id: str | None = None, limit: int = 50) -> list[MetadataKey]:
        """The keys whose name contains a text, those of most documents first.

        Args:
            collection_id: only documents of this collection; none that does not exist has any.
        """
        wanted = search.lower()
        found = await self._all_keys(collection_id)
        return [item for item in found if wanted in item.key.lower()][:limit]

    async def values(
        self, key: str, search: str = "", collection_id: str | None = None, limit: int = 20
    ) -> list[KnownValue]:
        """The values of a key whose text contains another, those of most documents first. See `MetadataStore.values`.

        Args:
            search: no value that is offered is longer than `MAX_SEARCH_CHARS`.
        """
        if len(key) > MAX_FIELD_CHARS or len(search) > MAX_SEARCH_CHARS:
            return []
        return await self._metadata.values(key, search, collection_id, limit)

    async def _all_keys(self, collection_id: str | None) -> list[MetadataKey]:
        generation = await self._store.generation()
        known = self._counted.get(collection_id)
        if known is not None and known[0] == generation:
            return known[1]
        found = await self._metadata.keys(collection_id, MAX_KEYS)
        self._counted[collection_id] = generation, found  # read after the generation: at worst it is counted again
        self._counted.move_to_end(collection_id)
        while len(self._counted) > _REMEMBERED:
            self._counted.popitem(last=False)
        return found
