"""Write the reference parts of the documentation from the running program, or check that they are fresh.

A page holds them between `<!-- generated: NAME -->` and `<!-- end -->`.

    python scripts/docs.py           rewrite
    python scripts/docs.py --check   exit 1 and name the pages that are stale
"""

import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click
import typer.main
from pydantic_core import PydanticUndefined

from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.cli.commands import cli
from mcp_knowledge.interfaces.mcp.reference import mcp_reference
from mcp_knowledge.interfaces.rest.reference import rest_reference
from mcp_knowledge.settings import MODEL_DIR, Settings

PROJECT = Path(__file__).parent.parent
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _choices(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    if get_origin(annotation) in (Union, UnionType):
        return [choice for part in get_args(annotation) for choice in _choices(part)]
    return []


def _default(name: str, value: Any) -> str:
    if name == "embedding_model_path" and value == MODEL_DIR:
        return "the model in the package"
    if value is None or value in ("", ()) or value is PydanticUndefined:
        return "-"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value.value if isinstance(value, Enum) else value}`"


def settings_reference() -> str:
    """Every setting with its default."""
    rows = []
    for name, field in Settings.model_fields.items():
        choices = _choices(field.annotation)
        text = field.description or ""
        if len(choices) > 1:
            text += " One of " + ", ".join(f"`{choice}`" for choice in choices) + "."
        rows.append([f"`{name.upper()}`", _default(name, field.default), text])
    return table(["variable", "default", "meaning"], rows)


def errors_reference() -> str:
    """Every error code with its HTTP status."""
    rows = [
        [f"`{code}`", str(known.status), known.message, "yes" if known.retried else ""]
        for code, known in ERROR_CODES.items()
    ]
    return table(["code", "status", "default message", "job retried"], rows)


def _commands() -> Iterator[tuple[str, click.Command]]:
    group = typer.main.get_command(cli)
    commands: dict[str, click.Command] = getattr(group, "commands", {})
    yield from commands.items()


def cli_reference() -> str:
    """Every command with its help text."""
    parts = []
    for name, command in _commands():
        context = typer.main.get_command(cli).make_context("mcp-knowledge", [name], resilient_parsing=True)
        usage = command.collect_usage_pieces(click.Context(command, info_name=name, parent=context))
        parts.append(f"### `mcp-knowledge {name} {' '.join(usage)}`\n\n{(command.help or '').strip()}")
        rows = []
        for option in command.params:
            if isinstance(option, click.Option):
                rows.append([", ".join(f"`{text}`" for text in (*option.opts, *option.secondary_opts)), option.help or ""])
            else:
                rows.append([f"`{option.human_readable_name}`", getattr(option, "help", "") or ""])
        parts.append(table(["argument or option", "meaning"], rows))
    return "\n\n".join(parts)


GENERATORS: dict[str, Callable[[], str]] = {
    "settings": settings_reference,
    "errors": errors_reference,
    "cli": cli_reference,
    "rest": rest_reference,
    "mcp": mcp_reference,
}


def refreshed(text: str) -> str:
    """A page with every generated part made anew."""
    return PART.sub(lambda match: f"{match[1]}{GENERATORS[match[2]]()}\n{match[3]}", text)


def main(check: bool) -> int:
    """Rewrite the pages, or with `check` only report; the exit code."""
    stale = []
    for page in [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]:
        text = page.read_text()
        fresh = refreshed(text)
        if fresh != text:
            stale.append(page.relative_to(PROJECT))
            if not check:
                page.write_text(fresh)
    for name in stale:
        print(f"{name} {'is stale: run make docs' if check else 'rewritten'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
