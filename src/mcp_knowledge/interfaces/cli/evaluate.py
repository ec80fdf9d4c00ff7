"""`eval`: judged queries of a folder against a temporary knowledge base or the user's own, or a set that is kept there,
with floors for scripts.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from mcp_knowledge.domain.evaluations import METRIC_NAMES, Comparison, EvaluationSet, Run, RunSettings
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.cli.context import with_services
from mcp_knowledge.interfaces.cli.ingest import progress_bar
from mcp_knowledge.services import Services
from mcp_knowledge.services.evaluation_folders import Evaluation, JudgedSet, add_documents, evaluate, read_judged_set
from mcp_knowledge.services.evaluations import Evaluations
from mcp_knowledge.settings import Settings

_FLOOR = re.compile(r"(?:([a-z]+@[0-9]+)=)?([01](?:\.[0-9]+)?|\.[0-9]+)")


@dataclass(frozen=True, slots=True)
class Floor:
    """The least that a metric of `METRIC_NAMES` may be."""

    metric: str
    least: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A run of a stored set, and how it compares if there is something to compare it with."""

    run: Run
    comparison: Comparison | None

    @property
    def evaluation(self) -> Evaluation:
        """As of a folder. Raises KnowledgeError when the run has failed."""
        if self.run.metrics is None:
            code, _, message = (self.run.error or "INTERNAL_ERROR").partition(": ")
            raise KnowledgeError(code, message or None)
        return Evaluation(self.run.settings, self.run.metrics)


def floors(values: Sequence[str]) -> list[Floor]:
    """What `--fail-under` says: `recall@10=0.9`, or a number alone for nDCG@10. Raises BadParameter."""
    found = []
    for value in values:
        match = _FLOOR.fullmatch(value.strip().lower())
        metric = (match[1] or "ndcg@10") if match else ""
        if match is None or metric not in METRIC_NAMES or not 0 <= float(match[2]) <= 1:
            raise typer.BadParameter(
                f"'{value}' must be a number from 0 to 1 for one of {', '.join(METRIC_NAMES)}, such as recall@10=0.9",
                param_hint="--fail-under",
            )
        found.append(Floor(metric, float(match[2])))
    return found


def shortfalls(evaluations: Sequence[Evaluation], wanted: Sequence[Floor]) -> list[str]:
    """A sentence for each metric below its floor."""
    return [
        f"{item.settings.name}: {floor.metric} is {item.metrics.value(floor.metric):.4f}, below {floor.least:g}"
        for item in evaluations
        for floor in wanted
        if item.metrics.value(floor.metric) < floor.least
    ]


def run_folder(settings: Settings, folder: Path, ways: Sequence[RunSettings], *, quiet: bool) -> list[Evaluation]:
    """Run a judged folder in each way to search. Raises KnowledgeError for a faulty one."""
    judged = read_judged_set(folder)
    with progress_bar(quiet) as bar:
        task = bar.add_task("queries", total=len(judged.queries) * len(ways))
        return _run_folder(settings, judged, ways, lambda queries: bar.advance(task, queries))


def _run_folder(
    settings: Settings, judged: JudgedSet, ways: Sequence[RunSettings], told: Callable[[int], None]
) -> list[Evaluation]:
    if judged.documents is None:
        return with_services(settings, lambda services: _on_own_documents(services, judged, ways, told))
    with tempfile.TemporaryDirectory(prefix="mcp-knowledge-eval-") as temporary:
        elsewhere = {
            "data_dir": Path(temporary),
            "database_driver": "sqlite",
            "database_url": "",
            "storage_driver": "local",
            "storage_path": None,
        }
        apart = settings.model_copy(update=elsewhere)
        return with_services(apart, lambda services: _on_its_documents(services, judged, ways, told))


def run_set(
    settings: Settings,
    name: str,
    ways: Sequence[RunSettings],
    *,
    run_name: str | None,
    baseline: str | None,
    keep_as_baseline: bool,
    quiet: bool,
) -> list[Measured]:
    """Run a stored set in each way to search.

    Args:
        name: its name or id.
        baseline: id of the run to compare with; None: that of the set, if it has one.
        keep_as_baseline: the first of these runs is what later ones are compared with.

    Raises:
        KnowledgeError: EVALUATION_NOT_FOUND, EVALUATION_EMPTY, RUN_NOT_FOUND, RUN_UNFINISHED.
    """

    async def use(services: Services) -> list[Measured]:
        evaluations = services.evaluations
        found = await evaluations.find_set(name)
        if found is None:
            raise KnowledgeError("EVALUATION_NOT_FOUND", "There is no evaluation set with this name.")
        compare_with = await _compared_with(evaluations, found, baseline)
        measured = []
        for way in ways:
            queued = (await evaluations.create_runs(found.id, [way], run_name))[0]
            ended = await _followed(evaluations, queued, quiet)
            if ended is None:
                raise KnowledgeError("RUN_NOT_FOUND", "The run was deleted while it was at work.")
            done = ended.metrics is not None and compare_with is not None
            measured.append(Measured(ended, await evaluations.compare(ended.id, compare_with) if done else None))
        if keep_as_baseline and measured[0].run.metrics is not None:
            await evaluations.update_set(found.id, baseline_run_id=measured[0].run.id)
        return measured

    return with_services(settings, use)


async def _compared_with(evaluations: Evaluations, found: EvaluationSet, chosen: str | None) -> str | None:
    """The run to compare with, or what is wrong about the chosen one: said before minutes of work, not after."""
    if chosen is not None:
        return (await evaluations.run_to_compare_with(chosen, found.id)).id
    kept = found.baseline_run_id
    return kept if kept is not None and (await evaluations.run(kept)).metrics is not None else None


async def _followed(evaluations: Evaluations, queued: Run, quiet: bool) -> Run | None:
    """See a run through, with a bar."""
    with progress_bar(quiet) as bar:
        task = bar.add_task(queued.settings.name, total=None)
        return await evaluations.execute(queued, lambda run: bar.update(task, completed=run.done, total=run.total))


async def _on_own_documents(
    services: Services, judged: JudgedSet, ways: Sequence[RunSettings], told: Callable[[int], None]
) -> list[Evaluation]:
    known = await services.evaluations.documents_named({name for query in judged.queries for name in query.names})
    return await evaluate(services.evaluations.measuring, judged, ways, known, told)


async def _on_its_documents(
    services: Services, judged: JudgedSet, ways: Sequence[RunSettings], told: Callable[[int], None]
) -> list[Evaluation]:
    document_ids = await add_documents(services.library, judged.documents or ())
    await services.worker.drain()
    return await evaluate(services.evaluations.measuring, judged, ways, document_ids, told)
