"""What is stored of single passages beside their text."""

from typing import Protocol

from mcp_knowledge.ports.terms import Vector


class PassageVectors(Protocol):
    """The stored vectors of searchable chunks, of those only that the queries' model made."""

    async def vectors(self, document_id: str, first_sequence: int, last_sequence: int) -> dict[str, Vector]:
        """Vectors by chunk id, from one sequence to another, both included: float32 [dimensions], L2-normalised."""
        ...
