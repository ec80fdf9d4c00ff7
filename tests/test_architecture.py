"""The layering that the architecture page promises, read from the imports."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "mcp_knowledge"
PACKAGE = "mcp_knowledge"

# What each layer may import of the project itself (beside its own modules).
ALLOWED = {
    "domain": {"domain", "errors"},
    "services": {"services", "domain", "ports", "errors", "settings"},
    "adapters": {"adapters", "domain", "ports", "errors", "settings"},
    "interfaces": {"interfaces", "services", "domain", "ports", "errors", "settings", "__init__"},
    "errors": set(),
    "settings": {"domain"},
    "ports": {"ports", "domain"},
}
COMMAND_LINE = "interfaces/cli"  # the console script starts the composition root


def project_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module] if node.module != PACKAGE else [f"{PACKAGE}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == PACKAGE:
                part = name.split(".")[1]
                found.add("__init__" if part == "__version__" else part)
    return found


def adapters_imported(path: Path) -> set[str]:
    prefix = f"{PACKAGE}.adapters."
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    names = [f"{node.module}.{alias.name}" for node in nodes for alias in node.names]
    return {name.removeprefix(prefix).split(".")[0] for name in names if name.startswith(prefix)}


def third_party_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_its_layer_may(path: Path) -> None:
    relative = path.relative_to(SOURCE).as_posix()
    layer = relative.split("/")[0].removesuffix(".py")
    if layer in ("app", "__init__", "__main__"):
        return
    allowed = ALLOWED[layer] | ({"app", "adapters"} if relative.startswith(COMMAND_LINE) else set())
    assert project_imports(path) <= allowed


@pytest.mark.parametrize("path", sorted((SOURCE / "domain").rglob("*.py")), ids=lambda path: path.name)
def test_the_domain_needs_no_library_but_regex(path: Path) -> None:
    import sys

    assert third_party_imports(path) <= set(sys.stdlib_module_names) | {"regex", PACKAGE}


@pytest.mark.parametrize(
    ("package", "strangers"),
    [
        ("rows", {"sqlite", "postgres", "apsw", "libsql", "psycopg", "pgvector"}),
        ("sqlite", {"postgres", "psycopg", "pgvector"}),
        ("postgres", {"sqlite", "apsw", "libsql"}),
    ],
)
def test_what_both_databases_share_knows_neither_and_none_knows_the_other(package: str, strangers: set[str]) -> None:
    modules = list((SOURCE / "adapters" / package).rglob("*.py"))
    assert modules
    for path in modules:
        assert third_party_imports(path) & strangers == set(), path
        assert adapters_imported(path) & strangers == set(), path


def test_traces_are_loaded_in_one_place_only() -> None:
    modules = [path for path in SOURCE.rglob("*.py") if "opentelemetry" in third_party_imports(path)]
    assert [path.relative_to(SOURCE).as_posix() for path in modules] == ["adapters/otel.py"]
