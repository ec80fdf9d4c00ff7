"""How hits move from one column of a comparison to the next."""

from collections.abc import Sequence
from dataclasses import dataclass

ROW_HEIGHT = 10.0  # user units of the drawing between two columns
LINES_WIDTH = 20.0


@dataclass(frozen=True, slots=True)
class Movement:
    """Where a hit stands in a neighbouring column. `kind`: same, up, down, new (is not there) or gone (will not be).

    `sign` says it in a few characters, `sentence` in words.
    """

    kind: str
    sign: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Line:
    """From a hit's place in one column to its place in the next, as a path of the drawing between them."""

    subject: str
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between two columns: lines, and how many hits are in both (`shared` of the longer list's `total`)."""

    lines: list[Line]
    shared: int
    total: int


def first_places(subjects: Sequence[str]) -> dict[str, int]:
    """The first place of each, from 1."""
    places: dict[str, int] = {}
    for place, subject in enumerate(subjects, 1):
        places.setdefault(subject, place)
    return places


def movement(place: int, before: int | None, limit: int) -> Movement:
    """How a hit came to its place, seen from the column before, which shows as many as `limit`."""
    if before is None:
        return Movement("new", "new", "Not found in the column before")
    if before == place:
        return Movement("same", "=", f"Also number {place} in the column before")
    kind, arrow, word = ("up", "↑", "up") if place < before else ("down", "↓", "down")
    steps = abs(before - place)
    return Movement(
        kind, f"{arrow}{steps}", f"{steps} {word}: number {before} in the column before{_beyond(before, limit)}"
    )


def onward(place: int, after: int | None, limit: int) -> Movement:
    """Where a hit goes, seen from the first column."""
    if after is None:
        return Movement("gone", "gone", "Not found in the next column")
    if after == place:
        return Movement("same", f"→{after}", f"Also number {after} in the next column")
    sentence = f"Number {after} in the next column{_beyond(after, limit)}"
    return Movement("up" if after < place else "down", f"→{after}", sentence)


def _beyond(place: int, limit: int) -> str:
    return ", below what is shown" if place > limit else ""


def between(left: Sequence[str], right: Sequence[str]) -> Between:
    """What lies between two columns, given what stands at each of their visible places."""
    from_places, to_places = first_places(left), first_places(right)
    lines = [
        Line(subject, _kind(place, to_places[subject]), _curve(place, to_places[subject]))
        for subject, place in from_places.items()
        if subject in to_places
    ]
    return Between(lines, len(lines), max(len(from_places), len(to_places)))


def _kind(before: int, after: int) -> str:
    return "same" if before == after else "up" if after < before else "down"


def _curve(before: int, after: int) -> str:
    start, end = ((place - 0.5) * ROW_HEIGHT for place in (before, after))
    middle = LINES_WIDTH / 2
    return f"M0 {start:g}C{middle:g} {start:g} {middle:g} {end:g} {LINES_WIDTH:g} {end:g}"
