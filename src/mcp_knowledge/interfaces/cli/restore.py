"""The command `restore`."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.context import AsJson, settings_of


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that 'backup' has made.")],
    as_json: AsJson = False,
) -> None:
    """Make the data directory from a backup. It must be empty, or not there yet.

    Everything is unpacked beside it and compared (each file's SHA-256, the database's own check) before it is put
    in place in one step: after a failure, or kill -9, there is nothing, and the command can be run again. The
    service then starts as it was at the moment of the backup; jobs that ran are queued again.

    Restore only what you trust: a backup brings its own API keys. Exit code 1 when originals were missing or damaged
    in the backup already.

    Example: mcp-knowledge --data-dir ./restored restore /backups/knowledge-2026-05-01.tar
    """
    from mcp_knowledge.interfaces.cli.restoring import restore_from

    report = restore_from(settings_of(context), file, quiet=as_json)
    output.tell(report, as_json=as_json)
