"""Write the reference parts of the documentation from the running program, or check that they are fresh.

A page holds them between `<!-- generated: NAME -->` and `<!-- end -->`.

    python scripts/docs.py           rewrite
    python scripts/docs.py --check   exit 1 and name the pages that are stale
"""

import re
import sys
from collections.abc import Callable
from enum import Enum
from inspect import cleandoc
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

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


def cli_reference() -> str:
    """Every command with its help text."""
    group = typer.main.get_group(cli)
    parts = []
    for name, command in group.commands.items():
        required = [(item.name or "").upper() for item in command.params if item.param_type_name == "argument"]
        parts.append(f"### `{' '.join(['mcp-knowledge', name, *required])}`\n\n{cleandoc(command.help or '')}")
        rows = [
            [
                ", ".join(f"`{text}`" for text in (*item.opts, *item.secondary_opts)),
                (getattr(item, "help", None) or ""),
            ]
            for item in command.params
        ]
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
