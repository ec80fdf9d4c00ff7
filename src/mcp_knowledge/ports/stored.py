"""A document as its rows hold it, to be compared with what would be written now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.ports.terms import Vector


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A searchable document.

    Args:
        normalized: its text as it was read.
        filename: the original's.
        sha256: of the original, in hexadecimal.
        passages: for each its id, token count, heading path, location (as JSON has it) and content, in order.
        vectors: float32 [len(passages), dimensions].
    """

    document_no: int
    id: str
    normalized: NormalizedDocument
    filename: str
    sha256: str
    passages: Sequence[tuple[Any, ...]]
    vectors: Vector
