"""The command `verify`."""

from typing import Annotated

import typer

from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.context import AsJson, give_way, settings_of


def verify(
    context: typer.Context,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make anew what follows from other data; originals are never touched.")
    ] = False,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Make all passages and vectors anew to compare them: as much work as ingesting."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look whether everything agrees: originals, documents, passages, vectors and full text.

    Reads all originals and all rows, with or without a running server, on either database. Some 100 passages are made
    anew, with their vectors, to compare them; --deep does that with all. For each fault it says what --repair would
    do, or what you can do. Exit code 1 when faults are there (with --repair: are left).

    Example: mcp-knowledge verify --repair
    """
    from mcp_knowledge.interfaces.cli.verifying import verify_corpus

    give_way()
    report = verify_corpus(settings_of(context), repair=repair, deep=deep, quiet=as_json)
    output.tell(report, as_json=as_json)
