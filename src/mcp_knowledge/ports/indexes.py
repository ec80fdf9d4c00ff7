"""What searches ask."""

from collections.abc import Sequence
from typing import Protocol

from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Candidate, Place, Scope
from mcp_knowledge.ports.terms import Vector


class LexicalIndex(Protocol):
    """BM25 over title, headings and content (weights 8, 4, 1), of searchable chunks only."""

    async def search_all(self, phrases: Sequence[Phrase], limit: int, scope: Scope) -> list[Candidate]:
        """Chunks in which every phrase matches, best first (ties by chunk id)."""
        ...

    async def search_any(
        self, phrases: Sequence[Phrase], min_match: int, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()
    ) -> list[Candidate]:
        """Chunks in which at least `min_match` of the phrases match, without the chunk numbers in `exclude`, best
        first.
        """
        ...

    async def count(self, phrases: Sequence[Phrase], at_most: int) -> list[int]:
        """In how many chunks each phrase stands, whatever their documents. `at_most` stands for more as well."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours by cosine, of searchable chunks only, and of those only whose vectors are of the queries'
    model.
    """

    async def load(self) -> int:
        """Bring into memory what searches need, so that the first one need not wait for it; the number of vectors."""
        ...

    async def search(self, vector: Vector, limit: int, scope: Scope) -> list[Candidate]:
        """The `limit` best chunks in scope (filters before the cut), best first, ties by chunk id.

        Args:
            vector: float32 [dimensions], L2-normalised.
        """
        ...

    async def place(self, vector: Vector, chunk_no: int, scope: Scope) -> Place | None:
        """Where a chunk stands among all in scope, exactly and however far behind, in the order of `search`.

        None: it is not in scope, or its vector is another model's.

        Args:
            vector: float32 [dimensions], L2-normalised.
        """
        ...
