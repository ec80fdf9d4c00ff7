"""What stands before the items of a list where their position does not tell it."""

from collections.abc import Iterator

from mcp_knowledge.domain.blocks import ListBlock, has_own_marker

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
BULLETS = frozenset("-*+•·o§–▪■□➢✓\uf0b7\uf0a7\uf0d8\uf0fc")  # some as symbol fonts have them
_MAX_ROMAN = 3999
_MAX_LETTERS = 8  # zzzzzzzz is 208


class Positions:
    """Counts items at each indentation, as a list block is read."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def next(self, indent: int) -> int:
        """The position, from 1, of the next item that is indented so far."""
        self._numbers = {depth: number for depth, number in self._numbers.items() if depth <= indent}
        self._numbers[indent] = self._numbers.get(indent, 0) + 1
        return self._numbers[indent]


def written_marker(marker: str, position: int, in_ordered: bool) -> str:
    """What stands before an item that is marked so (`*`, `2.`, `#.`), where its position does not tell it."""
    if marker in BULLETS:
        return "- " if in_ordered else ""
    if "#" in marker:
        return "" if in_ordered else f"{position}. "
    return "" if in_ordered and marker.strip("().") == str(position) else f"{marker} "


def nested_items(block: ListBlock, in_ordered: bool) -> Iterator[str]:
    """A nested list's items, indented; they say themselves how they are marked when that is not as around them."""
    positions = Positions()
    for item in block.items:
        text = item.lstrip(" ")
        indent = len(item) - len(text)
        position = positions.next(indent)
        marker = ""
        if block.ordered != in_ordered and not has_own_marker(text):
            marker = f"{position}. " if block.ordered else "- "
        yield "  " + " " * indent + marker + text.replace("\n", "\n  ")


def numeral(number: int, style: str) -> str:
    """A number as a list counts.

    Args:
        style: `decimal`, `lower_alpha`, `upper_alpha`, `lower_roman` or `upper_roman`.
    """
    if style.endswith("roman") and 0 < number <= _MAX_ROMAN:
        text = _roman(number)
    elif style.endswith("alpha") and number > 0:
        text = (
            chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if number <= 26 * _MAX_LETTERS else str(number)
        )
    else:
        return str(number)
    return text.upper() if style.startswith("upper") else text


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * (number // value)
        number %= value
    return text
