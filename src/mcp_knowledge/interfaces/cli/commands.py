"""The commands. Each parses its arguments, calls the services that REST and MCP call, and prints the answer."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from mcp_knowledge import __version__
from mcp_knowledge.domain.documents import JOB_STATUSES, Job, JobStatus
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.backup import backup
from mcp_knowledge.interfaces.cli.context import AsJson, json_object, settings_of, with_services
from mcp_knowledge.interfaces.cli.eval_command import evaluate
from mcp_knowledge.interfaces.cli.keys import keys
from mcp_knowledge.interfaces.cli.migrate_to import migrate_to
from mcp_knowledge.interfaces.cli.restore import restore
from mcp_knowledge.interfaces.cli.verify import verify
from mcp_knowledge.interfaces.search_wire import search_result
from mcp_knowledge.services import Services
from mcp_knowledge.settings import Settings, SettingsError, without_password

cli = typer.Typer(
    name="mcp-knowledge",
    help="Private document retrieval: drop in files, search them with reasons, from a browser, REST, MCP or here.",
    epilog="Settings are environment variables or lines of a .env file; 'mcp-knowledge config' lists them all.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # "rich" swallows what stands in square brackets
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mcp-knowledge {__version__}")
        raise typer.Exit


@cli.callback()
def options(
    context: typer.Context,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", help="Folder of the database and the originals. [default: DATA_DIR or ./data]"),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""
    context.obj = {} if data_dir is None else {"data_dir": data_dir}


@cli.command()
def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: HOST or 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one. [default: PORT or 3000]")
    ] = None,
) -> None:
    """Serve the dashboard, REST and MCP, and ingest what is uploaded.

    Stop it with Ctrl-C: work at hand is finished or handed back, and goes on at the next start.
    """
    from mcp_knowledge.app import create_app
    from mcp_knowledge.interfaces.cli.greeting import greet
    from mcp_knowledge.interfaces.logs import configure_logging
    from mcp_knowledge.interfaces.serving import serve as serve_app

    settings = settings_of(context, host=host, port=port)
    configure_logging(settings)
    serve_app(create_app(settings), settings, lambda url: greet(settings, url, _where(settings)))


def _check_sources(values: list[str]) -> list[str]:
    from mcp_knowledge.interfaces.cli.sources import is_url

    for value in values:
        if not is_url(value) and not Path(value).exists():
            raise typer.BadParameter(f"Path '{value}' does not exist.")
    return values


@cli.command()
def ingest(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders to take all files from, or addresses (https://…).", callback=_check_sources
        ),
    ],
    collection: Annotated[
        str | None, typer.Option(help="Name or id of the collection to put them in; a new name makes one.")
    ] = None,
    metadata: Annotated[str | None, typer.Option(help="Metadata for each document, as a JSON object.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until every document is searchable or has failed.")] = True,
    as_json: AsJson = False,
) -> None:
    """Add files, folders, zip archives and documents from the web to the knowledge base.

    Works with or without a running server. Files that were added before are recognised by their bytes
    and not added twice.
    Every file that is passed over is named with the reason. Exit code 1 when a document, an archive
    or an address failed.

    Example: mcp-knowledge ingest ~/Documents/contracts https://example.com/terms.pdf --collection Contracts
    """
    from mcp_knowledge.interfaces.cli.ingest import ingest_sources

    settings = settings_of(context)
    values = json_object("--metadata", metadata)
    report = with_services(
        settings, lambda services: ingest_sources(services, sources, collection, values, wait=wait, quiet=as_json)
    )
    output.tell(report, as_json=as_json)


@cli.command()
def scan(
    context: typer.Context,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="With INGEST_DATA_PRUNE, remove all documents whose files are gone, also more than a tenth of them.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look through the folder of INGEST_DATA_DIR now.

    Works with or without a running server. Only new and changed files are read. Every file that is passed over is
    named with the reason. Exit code 1 when a file or document failed.
    """
    from mcp_knowledge.interfaces.cli.scan import scan_folder

    settings = settings_of(context)
    if settings.ingest_data_dir is None:
        raise SettingsError(["INGEST_DATA_DIR: name the folder to scan with this setting"])
    report = with_services(settings, lambda services: scan_folder(services, force=force, quiet=as_json))
    output.tell(report, as_json=as_json)


@cli.command()
def search(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help='What to look for: a question, words, an identifier, a "phrase" or a prefix*.')
    ],
    mode: Annotated[str, typer.Option(help="hybrid, vector or lexical.")] = "hybrid",
    limit: Annotated[int | None, typer.Option(help="Most hits. [default: 8]")] = None,
    collection: Annotated[list[str] | None, typer.Option(help="Only in this collection (id); may be repeated.")] = None,
    document: Annotated[list[str] | None, typer.Option(help="Only in this document (id); may be repeated.")] = None,
    filters: Annotated[
        str | None, typer.Option("--filter", help='Metadata filters as JSON, such as \'{"year": {"gte": 2024}}\'.')
    ] = None,
    fusion: Annotated[str | None, typer.Option(help="rrf or relative. [default: FUSION or rrf]")] = None,
    expand: Annotated[str, typer.Option(help="Text around each hit: none, neighbors, section or document.")] = "none",
    before: Annotated[int, typer.Option(help="Chunks before the hit, with --expand neighbors (0-5).")] = 2,
    after: Annotated[int, typer.Option(help="Chunks after the hit, with --expand neighbors (0-5).")] = 2,
    collapse: Annotated[str, typer.Option(help="'document' keeps each document's best chunk.")] = "none",
    explain: Annotated[
        bool, typer.Option("--explain", help="Also show how the query was read and where the time went.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Search the knowledge base; every hit says why it is there.

    Example: mcp-knowledge search "who approves INV-0042" --limit 3 --explain
    """
    from mcp_knowledge.services.search_request import search_request

    settings = settings_of(context)
    if limit is not None:
        limit = max(1, min(limit, settings.max_search_limit_api))
    request = search_request(
        settings,
        query=query,
        mode=mode,
        limit=limit,
        collection_ids=collection,
        document_ids=document,
        filters=json_object("--filter", filters),
        fusion=fusion,
        expand={"type": expand, "before": before, "after": after},
        collapse=collapse,
        explain=explain,
    )
    result = with_services(settings, lambda services: services.search.search(request))
    if as_json:
        output.print_json(search_result(result, explain))
    else:
        output.print_search(result, explain)


@cli.command()
def mcp(context: typer.Context) -> None:
    """Speak MCP over standard input and output, for clients that start their servers themselves.

    Works beside a running server on the same data directory, or without one. Read-only.
    """
    from mcp_knowledge.app import traced
    from mcp_knowledge.interfaces.logs import configure_logging
    from mcp_knowledge.interfaces.mcp.stdio import serve_stdio

    async def speak(services: Services) -> None:
        async with traced():
            await serve_stdio(services)

    settings = settings_of(context)
    configure_logging(settings)
    with_services(settings, speak)


@cli.command()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what the knowledge base holds and how it is doing."""
    from mcp_knowledge.interfaces.running_servers import find_server

    settings = settings_of(context)
    report = wire.system_status(with_services(settings, lambda services: services.status.system()))
    running = find_server(settings.data_dir)
    report["server"] = None if running is None else {"url": running.url, "pid": running.pid}
    if as_json:
        output.print_json(report)
    else:
        output.print_status(report)


@cli.command()
def jobs(
    context: typer.Context,
    status: Annotated[str | None, typer.Option(help=f"Only these: {', '.join(JOB_STATUSES)}.")] = None,
    document: Annotated[str | None, typer.Option(help="Only this document's jobs (id).")] = None,
    retry: Annotated[str | None, typer.Option(metavar="JOB", help="Queue this failed job again.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most jobs to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the newest jobs, or retry a failed one."""
    chosen: JobStatus | None = next((known for known in JOB_STATUSES if known == status), None)
    if status is not None and chosen is None:
        raise typer.BadParameter(f"must be one of {', '.join(JOB_STATUSES)}", param_hint="--status")

    async def use(services: Services) -> list[Job]:
        if retry is not None:
            return [await services.jobs.retry(retry)]
        found, _ = await services.jobs.list(limit, statuses=(chosen,) if chosen else (), document_id=document)
        return found

    found = with_services(settings_of(context), use)
    if as_json:
        output.print_json([wire.job(item) for item in found])
    else:
        output.print_jobs(found)


@cli.command()
def reindex(
    context: typer.Context,
    documents: Annotated[list[str] | None, typer.Argument(help="Ids of documents.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every document, such as after a change of model or chunk size.")
    ] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Those that another version of parser, chunker or model has made.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait until every document is done or has failed.")] = True,
    as_json: AsJson = False,
) -> None:
    """Parse, chunk and embed documents again from their originals.

    Searches go on: each document keeps its old passages until its new ones are ready, and new uploads are
    not kept waiting. Passages that did not change are not embedded again. What is interrupted goes on with
    the server, or with the next command that works.
    """
    from mcp_knowledge.interfaces.cli.ingest import reindex_documents

    if [bool(documents), everything, stale].count(True) != 1:
        raise typer.BadParameter("name documents, or --all or --stale")
    report = with_services(
        settings_of(context),
        lambda services: reindex_documents(services, documents or None, only_stale=stale, wait=wait, quiet=as_json),
    )
    output.tell(report, as_json=as_json)


cli.command(name="migrate-to")(migrate_to)
cli.command()(backup)
cli.command()(restore)
cli.command()(verify)
cli.command(name="eval")(evaluate)
cli.add_typer(keys)


@cli.command()
def migrate(context: typer.Context) -> None:
    """Bring the database up to this version. 'serve' and every other command do so by themselves."""
    settings = settings_of(context)
    health = with_services(settings, lambda services: services.status.database())
    output.out.print(f"The database is at migration {health.migration}: {escape(_where(settings))}")


@cli.command()
def config(context: typer.Context, as_json: AsJson = False) -> None:
    """Print every setting with its value in force. Secrets are masked."""
    settings = settings_of(context)
    values = json.loads(settings.model_dump_json())
    if settings.database_driver != "postgres":
        values["database_url"] = f"file:{settings.database_path}"
    if settings.storage_driver == "local":
        values["storage_path"] = str(settings.blobs_path)
    if as_json:
        output.print_json({name.upper(): value for name, value in values.items()})
        return
    for name, value in values.items():
        shown = "" if value is None else ",".join(value) if isinstance(value, list) else value
        print(f"{name.upper()}={str(shown).lower() if isinstance(shown, bool) else shown}")


@cli.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Check disk, port, database, model, parsers and index; faults name the next step. Exit code 1 when one fails."""
    from mcp_knowledge.interfaces.cli.doctor import examine

    checks = examine(settings_of(context))
    if as_json:
        output.print_json([check.to_json() for check in checks])
    else:
        output.print_checks(checks)
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)


def _where(settings: Settings) -> str:
    """Where the data is, without a password."""
    if settings.database_driver == "postgres":
        return without_password(settings.database_url)
    return str(settings.data_dir.resolve())
