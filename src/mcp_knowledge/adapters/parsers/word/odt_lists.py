"""Numbers of OpenDocument lists that go on after a paragraph inside an item.

Writers then begin a new list whose first item holds only the inner list. Such an item is no further one: it is told
here which number it repeats, and the inner list which number it goes on with (OpenDocument 1.3, part 3, 5.3.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class _List:
    style: str
    resumes: bool
    item: int | None = None  # where the open item's tag begins, as long as nothing came in it
    stated: int | None = None  # the number that the item states itself


class ListNumbers:
    """Hears the beginnings and ends of elements, and says which items need a number to start with."""

    def __init__(self) -> None:
        self._lists: list[_List] = []
        self._last: dict[tuple[str, int], int] = {}  # list style and depth -> the last item's number

    def start(self, name: str, attributes: Mapping[str, str], at: int) -> tuple[int, int] | None:
        """An element begins at a byte index. Returns an item's index and the number to give it, or None."""
        found = self._first_of_item(name) if self._lists else None
        if name == "list":
            self._begin_list(attributes)
        elif name == "list-item" and self._lists:
            value = attributes.get("start-value", "")
            self._lists[-1].item = at
            self._lists[-1].stated = int(value) if value.isdecimal() and len(value) < 9 else None
        return found

    def end(self, name: str) -> None:
        """An element ends."""
        if name == "list" and self._lists:
            self._lists.pop()

    def _begin_list(self, attributes: Mapping[str, str]) -> None:
        depth = len(self._lists)
        style = attributes.get("style-name") or (self._lists[-1].style if self._lists else "")
        goes_on = attributes.get("continue-numbering") == "true" or "continue-list" in attributes
        if not depth and not goes_on:
            self._forget(style, 0)
        resumes = bool(depth) and self._lists[-1].resumes and (style, depth) in self._last
        self._lists.append(_List(style, resumes or (not depth and goes_on)))

    def _first_of_item(self, name: str) -> tuple[int, int] | None:
        """What the first element in an item tells: whether it is a further one or only holds a list."""
        around = self._lists[-1]
        if around.item is None or name in ("list-item", "list-header"):
            return None
        item, around.item = around.item, None
        key = (around.style, len(self._lists) - 1)
        last = self._last.get(key)
        if name == "list":
            return (item, last) if last is not None and around.stated is None and around.resumes else None
        given = around.stated if around.stated is not None else (last or 0) + 1
        self._forget(*key)
        self._last[key] = given
        resumed, around.resumes = around.resumes and len(self._lists) > 1, False
        return (item, given) if resumed and around.stated is None else None

    def _forget(self, style: str, depth: int) -> None:
        """Deeper numbers begin anew."""
        self._last = {key: last for key, last in self._last.items() if key[0] != style or key[1] < depth}
