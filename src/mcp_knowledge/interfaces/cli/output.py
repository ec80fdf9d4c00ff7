"""How the command line shows things on a terminal, and as JSON for scripts."""

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mcp_knowledge.domain.documents import Document, Job
from mcp_knowledge.domain.search import Hit, SearchResult
from mcp_knowledge.interfaces.wire import timestamp
from mcp_knowledge.settings import MIB

if TYPE_CHECKING:  # it takes what serves along, which no other command needs
    from mcp_knowledge.interfaces.cli.doctor import Check

_FILE_WIDTH = 200  # in a file or a pipe nothing is wrapped for a screen
out = Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_WIDTH)
err = Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    """One JSON document on stdout, unstyled."""
    print(json.dumps(data, ensure_ascii=False, indent=2))


class Report(Protocol):
    """What a command has to say in the end."""

    @property
    def ok(self) -> bool:
        """Whether all is well."""
        ...

    def to_json(self) -> dict[str, Any]:
        """For a script."""
        ...

    def print(self) -> None:
        """For a person."""
        ...


def tell(report: Report, *, as_json: bool) -> NoReturn:
    """Print a report and end the command, with exit code 0 where all is well, else 1."""
    if as_json:
        print_json(report.to_json())
    else:
        report.print()
    raise typer.Exit(0 if report.ok else 1)


def location_text(location: dict[str, Any]) -> str:
    """A location in words, such as `page 3` or `characters 10-90`; empty when unknown."""
    parts = []
    first, last = location.get("pageStart"), location.get("pageEnd")
    if first is not None:
        parts.append(f"page {first}" if last in (None, first) else f"pages {first}-{last}")
    if "slide" in location:
        parts.append(f"slide {location['slide']}")
    if "sheet" in location:
        parts.append(f"sheet {location['sheet']}")
    if "cellRange" in location:
        parts.append(f"cells {location['cellRange']}")
    if "section" in location:
        parts.append(f"section {location['section']}")
    if not parts and "charStart" in location:
        parts.append(f"characters {location['charStart']}-{location['charEnd']}")
    return ", ".join(parts)


def _marked(hit: Hit) -> Text:
    text = Text(hit.content)
    for mark in hit.highlights:
        text.stylize("bold yellow", mark.start, mark.end)
    return text


def _reasons(hit: Hit) -> str:
    ranking = hit.ranking
    parts = []
    if ranking.vector_rank is not None:
        parts.append(f"vector #{ranking.vector_rank} ({ranking.vector_score:.3f})")
    if ranking.lexical_rank is not None:
        parts.append(f"lexical #{ranking.lexical_rank} ({ranking.lexical_score:.2f}, {ranking.lexical_match_mode})")
    share = ranking.contributions
    parts.append(f"score {hit.score:.4f} = {share.vector:.4f} vector + {share.lexical:.4f} lexical")
    if hit.matching_chunk_count is not None:
        parts.append(f"{hit.matching_chunk_count} matching chunks")
    return " · ".join(parts)


def print_search(result: SearchResult, explain: bool) -> None:
    """Hits with the reasons for their rank; with `explain` also how the query was read and where the time went."""
    for hit in result.hits:
        where = " · ".join(
            part for part in (" > ".join(hit.heading_path), location_text(hit.location.to_json())) if part
        )
        out.print(f"[bold]{hit.ranking.final_rank}. {escape(hit.title)}[/bold]  [dim]{escape(where)}[/dim]")
        out.print(f"   [dim]{escape(_reasons(hit))}[/dim]")
        if hit.matched_terms:
            out.print(f"   [dim]matched: {escape(', '.join(hit.matched_terms))}[/dim]")
        out.print(_marked(hit))
        out.print()
    if result.notice is not None:
        out.print(f"[yellow]Note:[/yellow] {escape(result.notice)}")
    if not result.hits:
        out.print("Nothing found. Try other words, or --mode hybrid, and check the filters.")
    if explain:
        reading, timings = result.reading, result.timings
        out.print(f"[bold]Query[/bold]  exact: {escape(reading.exact) or '-'}")
        out.print(f"       fallback: {escape(reading.fallback or '-')}")
        out.print(f"       dropped stop words: {escape(', '.join(reading.dropped)) or '-'}")
        out.print(
            f"[bold]Time[/bold]   embedding {timings.embedding_ms:.1f} ms · vector {timings.vector_search_ms:.1f} ms · "
            f"lexical {timings.lexical_search_ms:.1f} ms · fusion {timings.fusion_ms:.1f} ms · "
            f"total {timings.total_ms:.1f} ms"
        )


def print_jobs(jobs: list[Job]) -> None:
    """Jobs as a table, newest first."""
    table = Table("Job", "File", "Status", "Attempt", "Created", "Error", box=box.SIMPLE_HEAD)
    table.columns[0].overflow = "fold"  # an id is there to be copied
    for job in jobs:
        stage = f"{job.status} ({job.stage})" if job.status == "running" and job.stage else job.status
        attempt = f"{job.attempt}/{job.max_attempts}"
        table.add_row(
            job.id,
            escape(job.filename),
            stage,
            attempt,
            timestamp(job.created_at_ms),
            escape(job.error or ""),
        )
    out.print(table if jobs else "No jobs.")


def print_failed(documents: list[Document]) -> None:
    """Documents that could not be read, each with its reason."""
    for document in documents:
        name = document.source_path or document.original_filename
        out.print(f"[red]failed[/red]  {escape(name)}: {escape(document.latest_error or 'unknown reason')}")


def print_checks(checks: "list[Check]") -> None:
    """Verdicts, one a line, each fault with its next step."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = "[green]ok[/green]    " if check.ok else "[red]failed[/red]"
        out.print(f"{mark} [bold]{check.name:<{width}}[/bold]  {escape(check.detail)}")
        if check.next_step:
            out.print(f"       {escape(check.next_step)}")


def print_status(report: dict[str, Any]) -> None:
    """The system status for a person."""
    server, database, embedding = report["server"], report["database"], report["embedding"]
    documents = ", ".join(f"{count} {status}" for status, count in report["documents"].items() if count) or "none"
    queue = ", ".join(f"{count} {status}" for status, count in report["queue"].items() if count) or "empty"
    nobody = "none with this DATA_DIR" if database["driver"] == "postgres" else "not running"  # others have their own
    rows = {
        "Server": f"{server['url']} (process {server['pid']})" if server else nobody,
        "Documents": documents,
        "Chunks": f"{report['chunks']:,}",
        "Queue": queue,
        "Stale": f"{report['staleDocuments']} (run 'mcp-knowledge reindex --stale')"
        if report["staleDocuments"]
        else "none",
        "Database": f"{database['driver']}, {database['sizeBytes'] / MIB:.1f} MiB",
        "Model": f"{embedding['model']}, {embedding['dimensions']} dimensions",
        "Version": report["version"],
    }
    for name, value in rows.items():
        out.print(f"[bold]{name:<10}[/bold] {escape(value)}")
