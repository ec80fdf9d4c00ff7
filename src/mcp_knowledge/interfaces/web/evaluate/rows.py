"""Runs as the pages list them."""

from dataclasses import dataclass

from mcp_knowledge.domain.evaluations import Difference, Run
from mcp_knowledge.interfaces.web.charts import (
    Axis,
    Panel,
    Point,
    Series,
    amount_axis,
    changed_places,
    occasions,
    panel,
    share_axis,
)
from mcp_knowledge.interfaces.web.evaluate import figures, index, ways
from mcp_knowledge.interfaces.web.wording import State, moment

CHARTED = (figures.RECALL_10, figures.MRR, figures.NDCG, figures.P50)
_SAME_OCCASION_MS = 3_600_000  # runs of several ways to search, made within this time, stand above each other


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in words.

    Args:
        name: the one that it was given; empty when there is none.
        differences: how its index was made otherwise than that of the run before it.
        asked_before: how many questions the run before it asked, if not as many.
    """

    run: Run
    label: str
    name: str
    state: State
    narrowing: list[str]
    differences: list[Difference]
    asked_before: int | None


def state(run: Run) -> State:
    """How a run stands."""
    match run.state:
        case "queued":
            return State("waiting", "Waiting")
        case "running":
            return State("working", "Running", run.done, run.total) if run.total else State("working", "Running")
        case "completed":
            return State("ready", "Completed")
        case "failed":
            return State("failed", "Failed")
        case "interrupted":
            return State("failed", "Interrupted")


def row(run: Run, collections: dict[str, str], before: Run | None = None) -> RunRow:
    """A run in words.

    Args:
        collections: names by id.
        before: the run before it, with which its index and its questions are compared.
    """
    changed = index.between(before.index_configuration, run.index_configuration) if before else []
    name = "" if run.name == run.settings.name else run.name
    narrowing = ways.narrowing(run.settings, collections)
    return RunRow(run, ways.label(run.settings), name, state(run), narrowing, changed, _asked_before(run, before))


def _asked_before(run: Run, before: Run | None) -> int | None:
    if before is None or before.metrics is None or run.metrics is None:
        return None
    return None if before.metrics.queries == run.metrics.queries else before.metrics.queries


def ordered(runs: list[Run]) -> list[Run]:
    """Runs newest first, and those that were started together in the order of the form."""
    return sorted(runs, key=lambda run: (-run.created_at_ms, run.id))


def rows(runs: list[Run], collections: dict[str, str], before: Run | None = None) -> list[RunRow]:
    """Runs, newest first, each compared with the one before it; that of the last one is `before`."""
    former = [*runs[1:], before] if runs else []
    return [row(run, collections, earlier) for run, earlier in zip(runs, former, strict=True)]


def chart(runs: list[Run], collections: dict[str, str]) -> list[tuple[figures.Figure, Panel]]:
    """A panel for each figure over the completed runs; empty while they are on fewer than two occasions.

    Args:
        runs: newest first.
        collections: names by id.
    """
    completed = [run for run in reversed(runs) if run.metrics]
    names = [", ".join([ways.label(run.settings), *ways.narrowing(run.settings, collections)]) for run in completed]
    made = [(index.made(run.index_configuration), run.metrics and run.metrics.queries) for run in completed]

    def is_new(at: int) -> bool:
        late = completed[at].created_at_ms - completed[at - 1].created_at_ms > _SAME_OCCASION_MS
        return late or made[at] != made[at - 1]

    places = occasions(names, is_new)
    if not places or places[-1] < 1:
        return []
    changes = changed_places(places, made)
    return [
        (figure, panel(drawn, places[-1] + 1, _axis(figure), figure.tick or figure.tell, changes))
        for figure in CHARTED
        if (drawn := _series(figure, completed, names, places))
    ]


def _axis(figure: figures.Figure) -> Axis:
    return amount_axis if figure is figures.P50 else share_axis


def _series(figure: figures.Figure, runs: list[Run], names: list[str], places: list[int]) -> list[Series]:
    """A line for each way to search that has the figure."""
    found: dict[str, list[Point]] = {}
    kinds: dict[str, str] = {}
    for run, name, place in zip(runs, names, places, strict=True):
        value = None if run.metrics is None else figure.value(run.metrics)
        if value is None:
            continue
        told = f"{name}: {figure.of(run.metrics)} on {moment(run.created_at_ms)}"
        found.setdefault(name, []).append(Point(place, value, told, f"/evaluate/runs/{run.id}"))
        kinds[name] = ways.kind(run.settings)
    order = list(ways.WAYS)
    drawn = [Series(kinds[name], name, points) for name, points in found.items()]
    return sorted(drawn, key=lambda line: (order.index(line.kind), line.name))
