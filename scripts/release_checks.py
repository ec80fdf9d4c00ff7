"""What must be so before a version goes out: one version everywhere, and archives with all that belongs to them."""

import re
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from steps import run

PACKAGE = "src/mcp_knowledge/"
ENTRY_POINT = "mcp-knowledge = mcp_knowledge.interfaces.cli:main"
# What the build adds: by place in `*.dist-info`, and in the source archive.
ADDED_TO_WHEEL = {"METADATA", "RECORD", "WHEEL", "entry_points.txt"}
ADDED_TO_SDIST = {"PKG-INFO"}
VERSIONED = {
    "Dockerfile": r'image\.version="([^"]+)"',
    "compose.yaml": r"image: mcp-knowledge:(\S+)",
    "compose.local.yaml": r"image: mcp-knowledge:(\S+)",
}


def project(folder: Path) -> dict[str, object]:
    """The table `project` of pyproject.toml."""
    table: dict[str, object] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return table


def tree_faults(folder: Path, version: str) -> list[str]:
    """What keeps a checkout from being released: changes that no commit has, or a tag of that name elsewhere."""
    faults = [f"not committed: {line[3:]}" for line in run("git", "status", "--porcelain", cwd=folder).splitlines()]
    if run("git", "tag", "--list", f"v{version}", cwd=folder).strip():
        here = run("git", "tag", "--points-at", "HEAD", cwd=folder).split()
        faults += [] if f"v{version}" in here else [f"v{version} is the tag of another commit: raise the version"]
    return faults


def version_faults(version: str, texts: Mapping[str, str]) -> list[str]:
    """Files that speak of another version.

    Args:
        version: of pyproject.toml.
        texts: the files of VERSIONED and CHANGELOG.md by their names.
    """
    faults = []
    for name, pattern in VERSIONED.items():
        found = set(re.findall(pattern, texts[name]))
        if found != {version}:
            faults.append(f"{name}: says {', '.join(sorted(found)) or 'nothing'}, not {version}")
    sections = re.split(r"^## (.+)$", texts["CHANGELOG.md"], flags=re.MULTILINE)
    newest, changes = (sections[1].strip(), sections[2].strip()) if len(sections) > 2 else ("nothing", "")
    if newest != version:
        faults.append(f"CHANGELOG.md: begins with {newest}, not {version}")
    elif not changes:
        faults.append(f"CHANGELOG.md: nothing stands under {version}")
    return faults


def wheel_faults(wheel: Path, tracked: Iterable[str], licenses: Iterable[str]) -> list[str]:
    """Files that are missing in a wheel or have no place there; an entry point or pin that is not as it should be.

    Args:
        wheel: the file.
        tracked: all files under version control.
        licenses: those that are licences.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        info = metadata.removesuffix("METADATA")
        text = archive.read(metadata).decode()
        points = archive.read(f"{info}entry_points.txt").decode()
    expected = {path.removeprefix("src/") for path in tracked if path.startswith(PACKAGE)}
    expected |= {info + name for name in ADDED_TO_WHEEL} | {f"{info}licenses/{name}" for name in licenses}
    faults = differences(wheel.name, names, expected)
    faults += [] if ENTRY_POINT in points else [f"{wheel.name}: no command mcp-knowledge"]
    demands = [line for line in text.splitlines() if line.startswith("Requires-Dist: ")]
    return faults + [f"{wheel.name}: not pinned: {line}" for line in demands if "==" not in line]


def sdist_faults(sdist: Path, tracked: Iterable[str]) -> list[str]:
    """Files that are missing in a source archive or have no place there."""
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    return differences(sdist.name, names, {*tracked, *ADDED_TO_SDIST})


def differences(name: str, found: set[str], expected: set[str]) -> list[str]:
    """A sentence for each file that is too much or too little."""
    missing = [f"{name}: {path} is missing" for path in sorted(expected - found)]
    return missing + [f"{name}: {path} has no place there" for path in sorted(found - expected)]
