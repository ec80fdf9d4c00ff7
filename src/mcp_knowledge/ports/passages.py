"""What is asked of a document's passages beside their text."""

from typing import Protocol

from mcp_knowledge.ports.terms import Vector


class PassageStore(Protocol):
    """The chunks of searchable documents."""

    async def vectors(self, document_id: str, first_sequence: int, last_sequence: int) -> dict[str, Vector]:
        """Stored vectors by chunk id, from one sequence to another, both included, of those only that the queries'
        model made: float32 [dimensions], L2-normalised.
        """
        ...

    async def section_start(self, document_id: str, heading_path: tuple[str, ...]) -> int | None:
        """The sequence of the first chunk under a heading path; None when no chunk is."""
        ...
