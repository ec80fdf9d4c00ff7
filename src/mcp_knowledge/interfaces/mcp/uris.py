"""The addresses of resources: `document://…`."""

from dataclasses import dataclass
from typing import Literal

SCHEME = "document://"
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")

DOCUMENT_TEMPLATE = "document://{documentId}"
NORMALIZED_TEMPLATE = "document://{documentId}/normalized"
CHUNK_TEMPLATE = "document://{documentId}/chunks/{chunkId}"


@dataclass(frozen=True, slots=True)
class ResourceAddress:
    """What a resource URI names; `chunk_id` is set for a chunk."""

    kind: Literal["document", "normalized", "chunk"]
    document_id: str
    chunk_id: str = ""


def normalized_uri(document_id: str) -> str:
    """A document's text, as blocks."""
    return f"{SCHEME}{document_id}/normalized"


def chunk_uri(document_id: str, chunk_id: str) -> str:
    """One passage."""
    return f"{SCHEME}{document_id}/chunks/{chunk_id}"


def parse_uri(uri: str) -> ResourceAddress | None:
    """What a URI names; None for anything but the three forms."""
    if not uri.startswith(SCHEME):
        return None
    parts = uri.removeprefix(SCHEME).split("/")
    if not all(part and _SAFE.issuperset(part) for part in parts):
        return None
    match parts:
        case [document_id]:
            return ResourceAddress("document", document_id)
        case [document_id, "normalized"]:
            return ResourceAddress("normalized", document_id)
        case [document_id, "chunks", chunk_id]:
            return ResourceAddress("chunk", document_id, chunk_id)
    return None
