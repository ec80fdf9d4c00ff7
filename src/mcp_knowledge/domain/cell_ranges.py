"""Ranges of cells in A1 notation, as locations state them (`B2:F40`)."""

import re
from collections.abc import Sequence

_CELL_RANGE = re.compile(r"([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)")


def column_name(number: int) -> str:
    """The letters of a column counted from 1: A … Z, AA, AB …"""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def height(cell_range: str) -> int | None:
    """How many rows a range has; None for what is no range."""
    match = _CELL_RANGE.fullmatch(cell_range)
    return int(match[4]) - int(match[2]) + 1 if match else None


def part_of(cell_range: str, rows: tuple[int, int], columns: tuple[int, int] | None = None) -> str:
    """A part of a range: rows (first, last) and columns (all of them without any), counted from 0 inside the range."""
    match = _CELL_RANGE.fullmatch(cell_range)
    if match is None:
        return cell_range
    left, top, right, bottom = match.groups()
    if columns is not None:
        first = _column_number(left)
        left, right = (column_name(min(first + column, _column_number(right))) for column in columns)
    return f"{left}{min(int(top) + rows[0], int(bottom))}:{right}{min(int(top) + rows[1], int(bottom))}"


def cover(ranges: Sequence[str]) -> str:
    """The smallest range that covers all."""
    matches = [match for item in ranges if (match := _CELL_RANGE.fullmatch(item))]
    if not matches:
        return ranges[0]
    lefts, rights = [match[1] for match in matches], [match[3] for match in matches]
    top, bottom = min(int(match[2]) for match in matches), max(int(match[4]) for match in matches)
    return f"{min(lefts, key=_column_number)}{top}:{max(rights, key=_column_number)}{bottom}"


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
