"""Where a page of a long list goes on, as its address says it: `<id>~<value>` of the last item shown, or a number."""

import re

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.fields import whole_number
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
    number = whole_number(value, most_digits=19)
    if number is None or number > _LARGEST_INTEGER:
        raise KnowledgeError("INVALID_CURSOR")
    return Position(number, item_id)


def position_text(position: Position) -> str:
    """The text that `keyset_position` reads."""
    return f"{position.id}~{position.value}"


def offset(text: str) -> int:
    """How many items come before a page's first one. Addresses count from 1; what is no number means the first page."""
    return max(0, (whole_number(text, most_digits=8) or 1) - 1)
