"""What stands before a list's items where their position does not tell it."""

from collections.abc import Iterator

import anydoc

from mcp_knowledge.domain.blocks import ListBlock, has_own_marker

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MAX_ROMAN = 3999
_MAX_LETTERS = 8  # zzzzzzzz is 208


def item_labels(source: anydoc.List) -> list[str]:
    """What stands before each item, unless it is what the item's position already tells."""
    if source.marker == "bullet":
        return [""] * len(source.items)
    labels = []
    for number, item in enumerate(source.items, source.start):
        label = item.marker_label
        if not label and (source.start != 1 or source.marker != "decimal"):
            label = f"{_numeral(number, source.marker)}."
        labels.append(f"{label} " if label else "")
    return labels


def nested_items(block: ListBlock, in_ordered: bool) -> Iterator[str]:
    """A nested list's items, indented; they say themselves how they are marked when that is not as around them."""
    numbers = iter(range(1, len(block.items) + 1))
    for item in block.items:
        marker = ""
        if block.ordered != in_ordered and not item.startswith(" ") and not has_own_marker(item):
            marker = f"{next(numbers)}. " if block.ordered else "- "
        yield "  " + marker + item.replace("\n", "\n  ")


def _numeral(number: int, marker: str) -> str:
    if marker.endswith("roman") and 0 < number <= _MAX_ROMAN:
        numeral = _roman(number)
    elif marker.endswith("alpha") and number > 0:
        numeral = (
            chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if number <= 26 * _MAX_LETTERS else str(number)
        )
    else:
        return str(number)
    return numeral.upper() if marker.startswith("upper") else numeral


def _roman(number: int) -> str:
    numeral = ""
    for value, letters in _ROMAN:
        numeral += letters * (number // value)
        number %= value
    return numeral
