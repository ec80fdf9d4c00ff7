"""What metadata may be: a JSON object that both databases can hold and filter."""

import json
from typing import Any

from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.errors import KnowledgeError

MAX_METADATA_BYTES = 64 * 1024
MAX_METADATA_DEPTH = 64
_MAX_INTEGER = 2**63 - 1  # what both databases hold exactly


def check_metadata(value: Any) -> Metadata:
    """Metadata that both databases can hold and filter.

    Raises:
        KnowledgeError: INVALID_METADATA for anything but an object, over 64 levels or 64 KiB, a NUL character, half of
            a surrogate pair, or an integer over 64 bits.
    """
    if not isinstance(value, dict):
        raise KnowledgeError("INVALID_METADATA")
    _check_values(value)
    try:
        size_bytes = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    except UnicodeEncodeError:
        raise KnowledgeError("INVALID_METADATA", "Metadata must not contain half of a surrogate pair.") from None
    if size_bytes > MAX_METADATA_BYTES:
        raise _too_large()
    return value


def _check_values(metadata: Any) -> None:
    """Look at every key and value: at no more than fit, whatever a body has room for."""
    waiting: list[tuple[Any, int]] = [(metadata, 1)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if isinstance(value, dict | list):
            if depth > MAX_METADATA_DEPTH:
                raise KnowledgeError("INVALID_METADATA", f"Metadata may be nested {MAX_METADATA_DEPTH} levels deep.")
            if seen + len(waiting) + len(value) > MAX_METADATA_BYTES:
                raise _too_large()
            items = [*value, *value.values()] if isinstance(value, dict) else value
            waiting += [(item, depth + 1) for item in items]
        elif isinstance(value, str) and "\0" in value:
            raise KnowledgeError("INVALID_METADATA", "Metadata must not contain the NUL character.")
        elif isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise KnowledgeError("INVALID_METADATA", "An integer in the metadata does not fit in 64 bits.")


def _too_large() -> KnowledgeError:
    return KnowledgeError("INVALID_METADATA", f"Metadata may have {MAX_METADATA_BYTES:,} bytes as JSON.")
