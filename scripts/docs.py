"""Write the reference parts of the documentation from the running program, or check that they are fresh.

A page holds them between `<!-- generated: NAME -->` and `<!-- end -->`. What people wrote is checked too: every error
code has its row in the troubleshooting page, every extension that is read its place in the page of formats, and every
setting or code that any page names exists.

    python scripts/docs.py           rewrite
    python scripts/docs.py --check   exit 1 and name the pages that are stale
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from inspect import cleandoc
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import typer.main
from prometheus_client.metrics import MetricWrapperBase
from pydantic_core import PydanticUndefined

from mcp_knowledge.adapters.parsers.registry import accepted_extensions
from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.cli.commands import cli
from mcp_knowledge.interfaces.mcp.reference import mcp_reference
from mcp_knowledge.interfaces.rest.reference import rest_reference
from mcp_knowledge.ports import Counts
from mcp_knowledge.services.figures import Stock, state_families, store_families
from mcp_knowledge.services.intake import ARCHIVE_EXTENSION
from mcp_knowledge.services.metrics import REGISTRY
from mcp_knowledge.settings import MODEL_DIR, Settings

PROJECT = Path(__file__).parent.parent
PAGES = [PROJECT / "README.md", PROJECT / "SECURITY.md", *sorted((PROJECT / "docs").glob("*.md"))]
DEPLOYED = [file for name in ("systemd", "nginx", "caddy") for file in sorted((PROJECT / "deploy" / name).iterdir())]
CODE_ROW = re.compile(r"^\| `([A-Z_]+)` \|", re.MULTILINE)
FORMAT_ROW = re.compile(r"^\| [^|]+ \| ([a-z, ]+|-+) \|", re.MULTILINE)
NAME = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`")
COMMAND = re.compile(r"(?<![\w-])mcp-knowledge(?: --data-dir \S+)? (?!mcp-k|is )([a-z][a-z-]*)([^\n`|;&#'()]*)")
OPTION = re.compile(r"(?<=\s)--[a-z][a-z-]*")
BARE_NAME = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
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
    parts = []
    for names, command in commands_of(["mcp-knowledge"], typer.main.get_group(cli)):
        required = [(item.name or "").upper() for item in command.params if item.param_type_name == "argument"]
        parts.append(f"### `{' '.join([*names, *required])}`\n\n{cleandoc(command.help or '')}")
        rows = [
            [
                ", ".join(f"`{text}`" for text in (*item.opts, *item.secondary_opts)),
                (getattr(item, "help", None) or ""),
            ]
            for item in command.params
        ]
        parts.append(table(["argument or option", "meaning"], rows))
    return "\n\n".join(parts)


def commands_of(names: list[str], group: Any) -> Iterator[tuple[list[str], Any]]:
    """Every command with the words that call it, those of groups too."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of([*names, name], command)
        else:
            yield [*names, name], command


def metrics_reference() -> str:
    """Every metric with its type and labels."""
    counts = Counts({}, {"CODE": 1}, {}, 0, {}, 0)
    rows = []
    for collector, names in REGISTRY._collector_to_names.items():  # the library tells labels nowhere else
        if isinstance(collector, MetricWrapperBase):
            family = next(iter(collector.collect()))
            name = f"{names[0]}_total" if family.type == "counter" else names[0]
            rows.append([f"`{name}`", family.type, _named(collector._labelnames), family.documentation])
    for family in (*state_families(True, {"database": True}, False), *store_families(Stock(counts, None, 0.0))):
        labels = {label: None for sample in family.samples for label in sample.labels}
        rows.append([f"`{family.name}`", family.type, _named(labels), family.documentation])
    return table(["metric", "type", "labels", "meaning"], sorted(rows))


def _named(labels: Iterable[str]) -> str:
    return ", ".join(f"`{label}`" for label in labels)


GENERATORS: dict[str, Callable[[], str]] = {
    "settings": settings_reference,
    "errors": errors_reference,
    "cli": cli_reference,
    "rest": rest_reference,
    "mcp": mcp_reference,
    "metrics": metrics_reference,
}


def code_faults(page: str) -> list[str]:
    """Error codes without a row in the troubleshooting page, and rows without a code or twice."""
    rows = CODE_ROW.findall(page)
    faults = [f"troubleshooting.md: {code} has no row" for code in ERROR_CODES if code not in rows]
    return faults + [
        f"troubleshooting.md: {code} has {rows.count(code)} rows" for code in {*rows} if rows.count(code) > 1
    ]


def extension_faults(page: str) -> list[str]:
    """Differences between the extensions in the page of formats and those that are read."""
    named = [item.strip() for row in FORMAT_ROW.findall(page.partition("\n## ")[0]) for item in row.split(",")]
    accepted = accepted_extensions() | {ARCHIVE_EXTENSION}
    faults = [f"formats.md: {item} is missing" for item in sorted(accepted - {*named})]
    return faults + [f"formats.md: {item} is not read" for item in sorted({*named} - accepted - {"extensions", "---"})]


def name_faults(name: str, page: str, names: re.Pattern[str] = NAME) -> list[str]:
    """Names in capitals, `LIKE_THIS`, that begin like a setting or an error code and are neither."""
    known = {item.upper() for item in Settings.model_fields} | set(ERROR_CODES)
    beginnings = {item.partition("_")[0] for item in known}
    unknown = sorted(item for item in {*names.findall(page)} - known if item.partition("_")[0] in beginnings)
    return [f"{name}: `{item}` does not exist" for item in unknown]


def command_faults(name: str, text: str) -> list[str]:
    """Commands of the program, and their options, that a text names and the program does not have."""
    faults = []
    for word, rest in COMMAND.findall(text):
        command: Any = typer.main.get_group(cli).commands.get(word)
        if hasattr(command, "commands"):  # a group of commands
            word, _, rest = f"{word} {rest.strip()}".partition(" ")[2].partition(" ")
            command = command.commands.get(word)
        if command is None:
            faults.append(f"{name}: there is no command '{word}'")
            continue
        known = {"--help", *(text for item in command.params for text in (*item.opts, *item.secondary_opts))}
        faults += [f"{name}: '{word}' has no {option}" for option in OPTION.findall(f" {rest}") if option not in known]
    return faults


def refreshed(text: str) -> str:
    """A page with every generated part made anew."""
    return PART.sub(lambda match: f"{match[1]}{GENERATORS[match[2]]()}\n{match[3]}", text)


def main(check: bool) -> int:
    """Rewrite the pages, or with `check` only report; the exit code."""
    stale, faults = [], []
    for page in PAGES:
        text = page.read_text()
        fresh = refreshed(text)
        faults += name_faults(page.name, fresh) + command_faults(page.name, fresh)
        faults += code_faults(fresh) if page.name == "troubleshooting.md" else []
        faults += extension_faults(fresh) if page.name == "formats.md" else []
        if fresh != text:
            stale.append(page.relative_to(PROJECT))
            if not check:
                page.write_text(fresh)
    for file in DEPLOYED:
        faults += name_faults(file.name, file.read_text(), BARE_NAME) + command_faults(file.name, file.read_text())
    for name in stale:
        print(f"{name} {'is stale: run make docs' if check else 'rewritten'}")
    for fault in faults:
        print(fault)
    return 1 if faults or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
