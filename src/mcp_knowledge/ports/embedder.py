"""The embedding model."""

from collections.abc import Sequence
from typing import Protocol

from mcp_knowledge.ports.terms import Vector


class Embedder(Protocol):
    """Text to unit vectors, with one model."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def version(self) -> str:
        """Changes with the model's file or with the prefix that passages get."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens the model reads, special ones included."""
        ...

    @property
    def fingerprint(self) -> str:
        """Tells vectors of one model, size and prefix from those of another: they must not be compared."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Model tokens of each text, special tokens excluded. Fast and synchronous; safe in any thread."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character span of each model token of a text, special tokens excluded."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """float32 [dimensions], L2-normalised. Goes before waiting passages."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """float32 [len(texts), dimensions], L2-normalised; runs off the loop, in small batches that queries can
        overtake.
        """
        ...
