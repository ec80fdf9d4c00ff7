"""The order in which a reader takes what stands on a slide.

The author's own order (from back to front, which screen readers follow) is kept as far as it goes from top to bottom
and from left to right; only where it plainly runs backwards is it mended.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TypeVar

T = TypeVar("T")

_MAX_COMPARED = 100  # every pair is compared; a slide with more shapes is a drawing and keeps the author's order
_TOUCH = 0.2  # boxes may overlap by this part of the smaller one's height or width and still follow each other
_FACING = 0.5  # boxes stand side by side, or one under the other, when they face each other over this part


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a slide, in any one unit; y grows downwards."""

    left: float
    top: float
    width: float
    height: float


def around(boxes: Iterable[Box | None]) -> Box | None:
    """The smallest box around others; None without any."""
    known = [box for box in boxes if box is not None]
    if not known:
        return None
    left, top = min(box.left for box in known), min(box.top for box in known)
    right, bottom = max(box.left + box.width for box in known), max(box.top + box.height for box in known)
    return Box(left, top, right - left, bottom - top)


def in_reading_order(items: Sequence[tuple[Box | None, T]], from_right: bool = False) -> list[T]:
    """The items in reading order. Those without a box stay where the author's order has them.

    Args:
        items: in the author's order.
        from_right: whether lines are read from right to left.
    """
    if len(items) > _MAX_COMPARED:
        return [item for _, item in items]
    later: list[list[int]] = [[] for _ in items]
    waits = [0] * len(items)
    for first, (first_box, _) in enumerate(items):
        for second in range(first + 1, len(items)):
            second_box = items[second][0]
            if first_box is None or second_box is None:
                continue
            if precedes(second_box, first_box, from_right) and not precedes(first_box, second_box, from_right):
                later[second].append(first)
                waits[first] += 1
            elif precedes(first_box, second_box, from_right):
                later[first].append(second)
                waits[second] += 1
    return [items[index][1] for index in _sorted(later, waits)]


def precedes(one: Box, other: Box, from_right: bool) -> bool:
    """Whether a box is read before another: it stands above it, or beside it where lines begin."""
    if _faces(one.left, one.width, other.left, other.width):
        return _ends_before(one.top, one.height, other.top, other.height)
    if not _faces(one.top, one.height, other.top, other.height):
        return False
    if from_right:
        return _ends_before(-one.left - one.width, one.width, -other.left - other.width, other.width)
    return _ends_before(one.left, one.width, other.left, other.width)


def _faces(start: float, size: float, other_start: float, other_size: float) -> bool:
    shared = min(start + size, other_start + other_size) - max(start, other_start)
    return shared > 0 and shared >= _FACING * min(size, other_size)


def _ends_before(start: float, size: float, other_start: float, other_size: float) -> bool:
    return start < other_start and start + size <= other_start + _TOUCH * min(size, other_size)


def _sorted(later: Sequence[Sequence[int]], waits: list[int]) -> list[int]:
    """Indexes so that each comes before those in its list, else in their own order; circles are cut at the lowest."""
    ready = [index for index, count in enumerate(waits) if not count]
    heapify(ready)
    order: list[int] = []
    done = [False] * len(waits)
    while len(order) < len(waits):
        index = heappop(ready) if ready else done.index(False)
        if done[index]:
            continue
        done[index] = True
        order.append(index)
        for other in later[index]:
            waits[other] -= 1
            if not waits[other] and not done[other]:
                heappush(ready, other)
    return order
