"""Where a chart's points stand, and what a change of a figure means."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.evaluations import Metrics
from mcp_knowledge.interfaces.web.charts import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Point,
    Series,
    amount_axis,
    changed_places,
    occasions,
    panel,
    share_axis,
)
from mcp_knowledge.interfaces.web.evaluate.figures import FALSE_POSITIVES, FIGURES, P50, RECALL_5

METRICS = Metrics(20, 18, 0.9, 0.95, 0.8, 0.85, 2, 1, 0.5, 0, 0, 10.0, 40.0)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_an_axis_of_shares_ends_at_tenths_around_every_value(values: list[float]) -> None:
    low, high = share_axis(values)
    assert 0 <= low <= min(values) + 1e-6 and max(values) - 1e-6 <= high <= 1
    assert high - low >= 0.1 - 1e-9
    assert all(round(end * 10, 9) == round(end * 10) for end in (low, high))


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_an_axis_of_amounts_begins_at_nothing_and_is_not_much_too_long(values: list[float]) -> None:
    low, high = amount_axis(values)
    most = max(values)
    assert low == 0 and high >= most * (1 - 1e-6)
    assert most == 0 or high <= most * 2.6


def test_points_stand_across_the_panel_by_place_and_higher_values_above() -> None:
    points = [Point(0, 0.2, "first", "/1"), Point(2, 0.4, "last", "/3")]
    drawn = panel([Series("rank", "Both", points)], 3, share_axis, lambda value: f"{value:.2f}", changes=[2])
    assert [(dot.x, dot.y) for dot in drawn.lines[0].dots] == [(LEFT, BOTTOM), (RIGHT, TOP)]
    assert drawn.lines[0].path == f"{LEFT},{BOTTOM} {RIGHT},{TOP}"
    assert [(tick.y, tick.label) for tick in drawn.ticks] == [
        (BOTTOM, "0.20"),
        ((BOTTOM + TOP) / 2, "0.30"),
        (TOP, "0.40"),
    ]
    assert drawn.marks == [LEFT + (RIGHT - LEFT) * 0.75]  # between the second place and the third


def test_a_single_place_is_in_the_middle() -> None:
    drawn = panel([Series("rank", "Both", [Point(0, 5.0, "only", "/1")])], 1, amount_axis, str)
    assert drawn.lines[0].dots[0].x == (LEFT + RIGHT) / 2


def test_things_of_different_kinds_share_a_place_until_one_comes_again_or_something_is_new() -> None:
    assert occasions(["rank", "words", "rank", "words", "words"], lambda at: False) == [0, 0, 1, 1, 2]
    assert occasions(["rank", "words", "meaning"], lambda at: at == 1) == [0, 1, 1]
    assert occasions([], lambda at: True) == []
    assert changed_places([0, 0, 1, 2], ["a", "a", "b", "b"]) == [1]


@pytest.mark.parametrize(
    ("now", "then", "text", "tendency"),
    [
        (0.9, 0.8, "+0.100", "better"),
        (0.8, 0.9, "−0.100", "worse"),
        (0.9001, 0.9, "=", "same"),
    ],
)
def test_more_recall_is_better(now: float, then: float, text: str, tendency: str) -> None:
    change = RECALL_5.change(replace(METRICS, recall_at_5=now), replace(METRICS, recall_at_5=then))
    assert change is not None and (change.text, change.tendency) == (text, tendency)


def test_fewer_false_alarms_are_better_and_none_are_told_where_nothing_could_be_false() -> None:
    change = FALSE_POSITIVES.change(replace(METRICS, false_positive_rate=0.25), METRICS)
    assert change is not None and (change.text, change.tendency) == ("−25%", "better")
    assert FALSE_POSITIVES.of(METRICS) == "1 of 2"
    none = replace(METRICS, false_positive_rate=None)
    assert FALSE_POSITIVES.of(none) == "–" and FALSE_POSITIVES.change(none, METRICS) is None


def test_times_that_differ_a_little_count_as_the_same() -> None:
    slower, much_slower = replace(METRICS, p50_ms=12.0), replace(METRICS, p50_ms=30.0)
    for metrics, tendency in ((slower, "same"), (much_slower, "worse")):
        change = P50.change(metrics, METRICS)
        assert change is not None and change.tendency == tendency


def test_every_figure_is_explained_and_shown() -> None:
    for figure in FIGURES:
        assert len(figure.help) > 20 and figure.of(METRICS) != "–" and figure.of(None) == "–"
        assert figure.change(METRICS, None) is None
