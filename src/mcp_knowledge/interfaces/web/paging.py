"""Where a page of a long list goes on, as its address says it: `<id>~<value>` of the last item shown."""

import re

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Position

_AFTER = re.compile(r"([a-z]{3}_[0-9a-z]{1,64})~(.{0,2000})", re.DOTALL)
_LARGEST_INTEGER = 2**63 - 1


def keyset_position(text: str, prefix: str, is_text: bool = False) -> Position | None:
    """Where a page goes on; None for a list's first page, whose text is empty. Raises INVALID_CURSOR.

    Args:
        prefix: of the ids.
        is_text: whether the value is a text; else it is an integer.
    """
    if not text:
        return None
    match = _AFTER.fullmatch(text)
    if match is None or not text.startswith(f"{prefix}_"):
        raise KnowledgeError("INVALID_CURSOR")
    item_id, value = match.groups()
    if is_text:
        return Position(value, item_id)
    if not (value.isascii() and value.isdecimal()) or len(value) > 19 or int(value) > _LARGEST_INTEGER:
        raise KnowledgeError("INVALID_CURSOR")
    return Position(int(value), item_id)


def position_text(position: Position) -> str:
    """The text that `keyset_position` reads."""
    return f"{position.id}~{position.value}"
