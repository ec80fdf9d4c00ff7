"""The command `backup`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.context import AsJson, give_way, settings_of


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to make. Its folder must be there, with room for all of it.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a backup of the knowledge base into one file, while the service runs or while it is stopped.

    The file is a tar of the database as it is at one moment, and of all originals that it names; only this user can
    read it. It gets its name when it is complete, and never before. Originals that are missing or damaged are named,
    and the rest is in the backup; exit code 1.

    It is for the database in a file. PostgreSQL has pg_dump: docs/backup.md says how.

    Example: mcp-knowledge backup /backups/knowledge-$(date +%F).tar
    """
    from mcp_knowledge.interfaces.cli.backing_up import back_up

    give_way()
    report = asyncio.run(back_up(settings_of(context), file.absolute(), force=force, quiet=as_json))
    output.tell(report, as_json=as_json)
