"""The command `eval`: its options, and what it prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from mcp_knowledge.domain.evaluations import METRIC_NAMES, Comparison, Outcome
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.context import AsJson, json_object, settings_of

if TYPE_CHECKING:
    from mcp_knowledge.interfaces.cli.evaluate import Measured
    from mcp_knowledge.services.evaluation_folders import Evaluation

_OUTCOMES: tuple[Outcome, ...] = ("better", "worse", "same")
_SHOWN_CHANGES = 20  # queries that got worse


def evaluate(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder with queries.jsonl, and docs.jsonl unless your own documents are judged.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    set_name: Annotated[
        str | None, typer.Option("--set", metavar="NAME", help="Instead of a folder: a set kept in the knowledge base.")
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(help="hybrid, vector or lexical; may be repeated. [default: all for a folder, hybrid for a set]"),
    ] = None,
    fusion: Annotated[
        list[str] | None,
        typer.Option(help="rrf or relative; may be repeated. [default: both for a folder, FUSION for a set]"),
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option(help="Only documents of this collection (id); may be repeated.")
    ] = None,
    filters: Annotated[
        str | None, typer.Option("--filter", help='Metadata filters as JSON, such as \'{"year": {"gte": 2024}}\'.')
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=FLOOR",
            help="Exit with 1 when a metric of any run is lower: recall@5, recall@10, mrr@10 or ndcg@10, such as "
            "recall@10=0.9; a number alone means ndcg@10. May be repeated.",
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="With --set: compare with this run. [default: the set's baseline]")
    ] = None,
    keep_as_baseline: Annotated[
        bool, typer.Option("--keep-as-baseline", help="With --set: what later runs are compared with.")
    ] = False,
    run_name: Annotated[str | None, typer.Option("--name", help="With --set: what to call the run.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure retrieval on judged queries: recall, MRR, nDCG and latency.

    A folder's queries.jsonl has {id, query, relevant: [documents], kind} a line, its docs.jsonl {id, title, text}.
    With docs.jsonl the documents go into a temporary knowledge base; without, the queries are run on yours,
    and 'relevant' has ids, paths, file names or titles. A set's runs are kept with it, beside those of the dashboard.

    Example for CI: mcp-knowledge eval --set "My questions" --fail-under recall@10=0.9 --fail-under mrr@10=0.8
    """
    from mcp_knowledge.interfaces.cli.evaluate import floors, run_folder, run_set, shortfalls
    from mcp_knowledge.services.evaluation_folders import settings_for

    if (folder is None) == (set_name is None):
        raise typer.BadParameter("name a folder, or a set with --set")
    if set_name is None and (baseline or keep_as_baseline or run_name):
        raise typer.BadParameter("--baseline, --keep-as-baseline and --name need --set")
    wanted = floors(fail_under or ())
    settings = settings_of(context)
    if set_name is not None:
        mode, fusion = mode or ["hybrid"], fusion or [settings.fusion]
    ways = settings_for(mode, fusion, collection or (), json_object("--filter", filters))
    measured: list[Measured] = []
    if set_name is not None:
        measured = run_set(
            settings,
            set_name,
            ways,
            run_name=run_name,
            baseline=baseline,
            keep_as_baseline=keep_as_baseline,
            quiet=as_json,
        )
        evaluations = [item.evaluation for item in measured]
    else:
        assert folder is not None
        evaluations = run_folder(settings, folder, ways, quiet=as_json)
    missed = shortfalls(evaluations, wanted)
    if as_json:
        output.print_json(_report(evaluations, measured))
    else:
        _print(evaluations, measured)
    for sentence in missed:
        output.err.print(f"[red]failed[/red]  {escape(sentence)}")
    raise typer.Exit(1 if missed else 0)


def _report(evaluations: "list[Evaluation]", measured: "list[Measured]") -> list[dict[str, Any]]:
    from mcp_knowledge.interfaces import evaluation_wire

    if not measured:
        return [item.to_json() for item in evaluations]
    return [
        {
            **evaluation.to_json(),
            "runId": item.run.id,
            "comparison": None if item.comparison is None else evaluation_wire.comparison_summary(item.comparison),
        }
        for evaluation, item in zip(evaluations, measured, strict=True)
    ]


def _print(evaluations: "list[Evaluation]", measured: "list[Measured]") -> None:
    table = Table("run", "recall@5", "@10", "MRR@10", "nDCG@10", "p50 ms", "p95 ms", box=box.SIMPLE_HEAD)
    for item in evaluations:
        metrics = item.metrics
        quality = (f"{metrics.value(name):.3f}" for name in METRIC_NAMES)
        table.add_row(item.settings.name, *quality, f"{metrics.p50_ms:.1f}", f"{metrics.p95_ms:.1f}")
    output.out.print(table)
    if evaluations:
        queries = evaluations[0].metrics.queries
        output.out.print(f"{queries} queries. Recall, MRR and nDCG are means over those that have an answer.")
    for item in evaluations:
        if item.metrics.false_positive_rate is not None:
            output.out.print(
                f"{item.settings.name}: {item.metrics.false_positive_rate:.0%} of {item.metrics.no_answer_queries} "
                "queries without answer got hits."
            )
    if evaluations and measured and (gone := evaluations[0].metrics.gone):
        output.out.print(f"[yellow]{gone} judgements[/yellow] name documents that do not exist (any more).")
    for one in measured:
        if one.comparison is not None:
            _print_comparison(one.comparison)


def _print_comparison(comparison: Comparison) -> None:
    before = comparison.baseline
    changes = " · ".join(f"{name} {comparison.changes[name]:+.3f}" for name in METRIC_NAMES)
    output.out.print(
        f"\n[bold]{escape(comparison.run.name)}[/bold] against the run {before.id} ({escape(before.name)}): {changes}"
    )
    better, worse, same = (comparison.count(outcome) for outcome in _OUTCOMES)
    output.out.print(f"{better} queries better, {worse} worse, {same} as before")
    for difference in comparison.differences:
        then, now = escape(str(difference.then)), escape(str(difference.now))
        output.out.print(f"  {escape(difference.name)}: {then} then, {now} now")
    lost = [case for case in comparison.cases if case.outcome == "worse"]
    for case in lost[:_SHOWN_CHANGES]:
        ranks = " to ".join(
            "not found" if rank is None else f"rank {rank}"
            for rank in (side.first_relevant_rank if side else None for side in (case.then, case.now))
        )
        output.out.print(f"  [red]worse[/red]  {escape(case.either.query)}  [dim]{ranks}[/dim]")
    if len(lost) > _SHOWN_CHANGES:
        output.out.print(f"  and {len(lost) - _SHOWN_CHANGES} more")
