"""What metadata there is: its keys and their values, for those who build conditions."""

from dataclasses import dataclass
from typing import Protocol

from mcp_knowledge.domain.filters import Scalar, ValueKind


@dataclass(frozen=True, slots=True)
class MetadataKey:
    """A path as filters spell it, in how many searchable documents it has values, and of which kinds they are."""

    key: str
    documents: int
    kinds: tuple[ValueKind, ...]


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value of a key, and how many searchable documents have it."""

    value: Scalar
    kind: ValueKind
    documents: int


class MetadataStore(Protocol):
    """Reads what filters can name."""

    async def key_names(self, limit: int) -> list[str]:
        """The keys with scalar values among the first ones by name, of any documents; takes no longer where there are
        many documents.

        Args:
            limit: keys to look at, those that only hold others included.
        """
        ...

    async def kinds(self, keys: tuple[str, ...]) -> dict[str, tuple[ValueKind, ...]]:
        """The kinds of the scalar values of each key, in any documents; a key without any is left out."""
        ...

    async def keys(self, collection_id: str | None, limit: int) -> list[MetadataKey]:
        """The keys with scalar values, those of most documents first; takes about 1 µs a value."""
        ...

    async def values(self, key: str, search: str, collection_id: str | None, limit: int) -> list[KnownValue]:
        """The values of a key, those of most documents first, then by kind and text. Texts of more than 128 characters
        are not kept whole, and left out.

        Args:
            search: only values whose text contains this, whatever the case of its letters.
        """
        ...
