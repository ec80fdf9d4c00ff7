"""A document's headings as a list of links."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.ports import OutlineEntry
from mcp_knowledge.services.contents import Contents

_MAX_SHOWN = 400  # of a longer document only the upper levels are listed
_MAX_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Outline:
    """All headings, and those that are shown. `top`: the highest level among them."""

    entries: Sequence[OutlineEntry]
    shown: Sequence[OutlineEntry]
    top: int

    def path_of(self, block: str) -> tuple[str, ...]:
        """The heading at a block with those that it stands under; empty when there is none."""
        path: list[OutlineEntry] = []
        for entry in self.entries:
            path = [item for item in path if item.level < entry.level] + [entry]
            if str(entry.block) == block:
                return tuple(item.text.strip() for item in path)
        return ()


async def outline_of(contents: Contents, revision_id: str | None) -> Outline:
    """Of a revision's normalized document; empty when there is none."""
    entries = await contents.outline(revision_id) if revision_id else []
    shown = entries
    for level in range(_MAX_LEVEL, 0, -1):
        if len(shown) <= _MAX_SHOWN:
            break
        shown = [entry for entry in entries if entry.level < level]
    if entries and not shown:
        shown = entries
    shown = shown[:_MAX_SHOWN]
    return Outline(entries, shown, min((entry.level for entry in shown), default=1))
