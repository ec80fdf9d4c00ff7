"""Which blocks of a document belong to the sections that a reader names by heading."""

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcp_knowledge.ports import OutlineEntry

_OPEN_END = sys.maxsize


def heading_key(text: str) -> str:
    """What two headings are compared by: NFKC, without outer blanks, case folded."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


@dataclass(frozen=True, slots=True)
class Selection:
    """Ranges of block indexes, first included and last excluded, in order and apart from each other.

    Places count the selected blocks alone: place 0 is the first selected block, wherever it stands in the document.
    """

    ranges: tuple[tuple[int, int], ...]

    def within(self, total_blocks: int) -> "Selection":
        """The same without what lies beyond the end of the document."""
        return Selection(tuple((first, min(end, total_blocks)) for first, end in self.ranges if first < total_blocks))

    @property
    def size(self) -> int:
        """How many blocks are selected."""
        return sum(end - first for first, end in self.ranges)

    def run_at(self, place: int) -> tuple[int, int]:
        """The block index at a place, and how many selected blocks follow one another there; (0, 0) past the end."""
        for first, end in self.ranges:
            if place < end - first:
                return first + place, end - first - place
            place -= end - first
        return 0, 0


WHOLE_DOCUMENT = Selection(((0, _OPEN_END),))


def select_sections(outline: Sequence[OutlineEntry], headings: Iterable[str]) -> Selection:
    """The complete sections under the named headings.

    A section is its heading and all below it up to the next heading of the same or a higher level.
    """
    wanted = {heading_key(text) for text in headings}
    ranges: list[tuple[int, int]] = []
    for place, entry in enumerate(outline):
        inside = bool(ranges) and entry.block < ranges[-1][1]
        if inside or heading_key(entry.text) not in wanted:
            continue
        following = (outline[later] for later in range(place + 1, len(outline)) if outline[later].level <= entry.level)
        after = next(following, None)
        ranges.append((entry.block, _OPEN_END if after is None else after.block))
    return Selection(tuple(ranges))
