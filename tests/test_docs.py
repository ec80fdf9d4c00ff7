import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from mcp_knowledge.interfaces.cli.commands import cli

PROJECT = Path(__file__).parent.parent
PAGES = [PROJECT / "README.md", PROJECT / "SECURITY.md", *(PROJECT / "docs").glob("*.md")]


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    """The script that makes and checks the documentation."""
    spec = importlib.util.spec_from_file_location("docs_script", PROJECT / "scripts" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_parts_of_the_docs_are_fresh() -> None:
    result = subprocess.run(
        [sys.executable, "scripts/docs.py", "--check"], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_link_to_a_file_in_the_docs_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_link_to_a_heading_in_the_docs_leads_there() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text()):
            assert anchor in anchors(page.parent / target if target else page), (
                f"{page.name} links to {target}#{anchor}"
            )


def test_codes_formats_and_names_that_the_docs_forget_or_invent_are_found(docs: ModuleType) -> None:
    page = (PROJECT / "docs" / "troubleshooting.md").read_text()
    without_one = re.sub(r"^\| `SSRF_BLOCKED`.*\n", "", page, flags=re.MULTILINE)
    assert docs.code_faults(page) == []
    assert docs.code_faults(without_one) == ["troubleshooting.md: SSRF_BLOCKED has no row"]
    formats = (PROJECT / "docs" / "formats.md").read_text()
    assert docs.extension_faults(formats) == []
    assert docs.extension_faults(formats.replace("| epub |", "| mobi |")) == [
        "formats.md: epub is missing",
        "formats.md: mobi is not read",
    ]
    assert docs.name_faults("x.md", "`MAX_UPLOAD_BYTES`, `INGEST_DATA_WATCH=true`, `SSRF_BLOCKED`, `SCHED_IDLE`") == []
    assert docs.name_faults("x.md", "set `MAX_NOTHING_BYTES=1`") == ["x.md: `MAX_NOTHING_BYTES` does not exist"]


def test_help_shows_every_word_of_its_texts(docs: ModuleType) -> None:
    for names, command in docs.commands_of(["mcp-knowledge"], typer.main.get_group(cli)):
        shown = CliRunner().invoke(cli, [*names[1:], "--help"], terminal_width=200, env={"COLUMNS": "200"}).output
        for text in (command.help, *(getattr(item, "help", None) for item in command.params)):
            missing = [word for word in (text or "").split() if word not in shown]
            assert missing == [], " ".join(names)


def test_commands_and_options_that_the_docs_invent_are_found(docs: ModuleType) -> None:
    good = (
        "`mcp-knowledge --data-dir x keys create 'A' --scope read`, `systemctl stop mcp-knowledge`, mcp-knowledge serve"
    )
    assert docs.command_faults("x.md", good) == []
    assert docs.command_faults("x.md", "mcp-knowledge keys make Ada") == ["x.md: there is no command 'make'"]
    assert docs.command_faults("x.md", "sudo mcp-knowledge start") == ["x.md: there is no command 'start'"]
    assert docs.command_faults("x.md", "mcp-knowledge search x --limits 3") == ["x.md: 'search' has no --limits"]


def test_modules_and_tests_that_the_threat_model_names_are_there() -> None:
    page = (PROJECT / "docs" / "threat-model.md").read_text()
    names = re.findall(r"`((?:tests|adapters|domain|interfaces|services)/[\w./-]+)`", page)
    assert len(names) > 20
    for name in names:
        folder = PROJECT if name.startswith("tests/") else PROJECT / "src" / "mcp_knowledge"
        assert (folder / name).exists(), name
