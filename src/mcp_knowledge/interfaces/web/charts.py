"""Line charts as drawings: where each point stands, in user units; a template turns them into SVG."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

WIDTH, HEIGHT = 260.0, 120.0  # user units of a panel
LEFT, RIGHT, TOP, BOTTOM = 34.0, 252.0, 8.0, 108.0  # where its lines are drawn; the rest is for labels
Axis = Callable[[Sequence[float]], tuple[float, float]]  # values → the ends of an axis that holds them
_LEAST_SPAN = 0.1  # of a share's axis: smaller differences than this must not look like leaps


@dataclass(frozen=True, slots=True)
class Point:
    """A value to draw. `at` counts the places along the axis from 0; `label` tells it in words."""

    at: int
    value: float
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Series:
    """Values that belong together, in the order of their places. `kind` picks the line's look."""

    kind: str
    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Dot:
    """A point as it is drawn."""

    x: float
    y: float
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Line:
    """A series as it is drawn. `path` has the coordinates of an SVG polyline."""

    kind: str
    name: str
    path: str
    dots: list[Dot]


@dataclass(frozen=True, slots=True)
class Tick:
    """A horizontal line across the panel, with its value."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A small chart of one figure: lines, the values that the axis names, and places that something sets apart."""

    lines: list[Line]
    ticks: list[Tick]
    marks: list[float]


def share_axis(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis for shares (0..1): tenths that enclose every value, a tenth apart at least."""
    low = floor(round(min(values, default=0.0) * 10, 6)) / 10
    high = ceil(round(max(values, default=1.0) * 10, 6)) / 10
    if high - low < _LEAST_SPAN:
        low, high = (low - _LEAST_SPAN, high) if high >= 1 else (low, high + _LEAST_SPAN)
    return max(0.0, round(low, 1)), min(1.0, round(high, 1))


def amount_axis(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis for amounts: 0, and 1, 2 or 5 times a power of ten that no value exceeds."""
    most = max(values, default=0.0)
    if most <= 0:
        return 0.0, 1.0
    power = 10.0 ** floor(log10(most))
    return 0.0, next(step * power for step in (1, 2, 5, 10) if step * power >= most * (1 - 1e-9))


def panel(
    series: Sequence[Series],
    places: int,
    axis: Axis,
    tell: Callable[[float], str],
    changes: Sequence[int] = (),
) -> Panel:
    """Draw series over the same places.

    Args:
        places: how many there are along the axis; a single one stands in the middle.
        axis: the ends of the value axis, `share_axis` or `amount_axis`.
        tell: a value in words, for the axis.
        changes: places before which a mark is drawn.
    """
    low, high = axis([point.value for line in series for point in line.points])

    def across(place: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (place / (places - 1) if places > 1 else 0.5), 1)

    def down(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low), 1)

    lines = [
        Line(
            item.kind,
            item.name,
            " ".join(f"{across(point.at)},{down(point.value)}" for point in item.points),
            [Dot(across(point.at), down(point.value), point.label, point.address) for point in item.points],
        )
        for item in series
    ]
    ticks = [Tick(down(value), tell(value)) for value in (low, (low + high) / 2, high)]
    return Panel(lines, ticks, [across(place - 0.5) for place in changes])


def occasions(keys: Sequence[Hashable], new: Callable[[int], bool]) -> list[int]:
    """Which place each of a row of things has along an axis, where things of different keys share one.

    Args:
        keys: in the order of time; a key that comes again begins a new place.
        new: whether the thing at an index begins a new place for another reason.
    """
    places: list[int] = []
    seen: set[Hashable] = set()
    for index, key in enumerate(keys):
        if index and (key in seen or new(index)):
            seen.clear()
            places.append(places[-1] + 1)
        else:
            places.append(places[-1] if places else 0)
        seen.add(key)
    return places


def changed_places(places: Sequence[int], values: Sequence[object]) -> list[int]:
    """The places at which a value differs from the one before."""
    return [place for (_, before), (place, now) in pairwise(zip(places, values, strict=True)) if now != before]
