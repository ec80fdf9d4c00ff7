"""Lists in web pages that Word wrote: paragraphs whose style names a list, and whose marker is text."""

import re

from selectolax.lexbor import LexborNode

from mcp_knowledge.adapters.parsers.list_markers import BULLETS, Positions, written_marker
from mcp_knowledge.domain.blocks import ListBlock

_LEVEL = re.compile(r"mso-list:\s*l\d+\s+level(\d)")
_MARKER = re.compile(r"mso-list:\s*ignore", re.IGNORECASE)


class WordList:
    """Collects the items of a list until something else comes."""

    def __init__(self) -> None:
        self._items: list[tuple[int, str, str]] = []
        self._level = 0  # of the item that is open; 0 when none is
        self._marker = ""

    def begins(self, node: LexborNode) -> bool:
        """Whether an element is an item of such a list; then it is open."""
        level = _LEVEL.search(node.attributes.get("style") or "")
        self._level, self._marker = int(level[1]) if level else 0, ""
        return level is not None

    def is_marker(self, node: LexborNode) -> bool:
        """Whether an element is the open item's marker."""
        if not self._level or not _MARKER.search(node.attributes.get("style") or ""):
            return False
        self._marker = node.text().replace("\xa0", " ").strip()
        return True

    def take(self, text: str) -> bool:
        """Whether the text is an open item's; then it is in the list."""
        if not self._level:
            return False
        self._items.append((self._level, self._marker, text))
        self._level = 0
        return True

    def close(self) -> list[ListBlock]:
        """The lists so far; the next item begins a new one."""
        top = min((level for level, _, _ in self._items), default=1)
        lists: list[ListBlock] = []
        items: list[str] = []
        ordered = False
        positions = Positions()
        for level, marker, text in self._items:
            is_ordered = marker != "" and marker not in BULLETS
            if not items or (level == top and is_ordered != ordered):
                lists += [ListBlock(ordered, tuple(items))] if items else []
                items, ordered, positions = [], is_ordered, Positions()
            indent = "  " * (level - top)
            items.append(indent + written_marker(marker or "-", positions.next(len(indent)), ordered) + text)
        self._items = []
        return [*lists, ListBlock(ordered, tuple(items))] if items else []
