"""What a wheel and a source archive hold, and what a release looks at before it goes out."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from release_checks import PACKAGE, project, sdist_faults, tree_faults, version_faults, wheel_faults

PROJECT = Path(__file__).parent.parent
LICENSES = project(PROJECT)["license-files"]
CHANGELOG = "# Changes\n\n## 1.2.0\n\n- One thing.\n\n## 1.1.0\n\n- Another.\n"
SAYING = {
    "Dockerfile": 'LABEL org.opencontainers.image.version="1.2.0" \\\n',
    "compose.yaml": "x-app:\n  image: mcp-knowledge:1.2.0\n",
    "compose.local.yaml": "    image: mcp-knowledge:1.2.0\n",
    "CHANGELOG.md": CHANGELOG,
}


def files_of_the_package() -> list[str]:
    """What lies in the tree, apart from what Python leaves there."""
    paths = [path for path in (PROJECT / PACKAGE).rglob("*") if path.is_file()]
    return [str(path.relative_to(PROJECT)) for path in paths if "__pycache__" not in path.parts]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, timeout=120)
    (found,) = target.glob("*.whl")
    return found


def git(folder: Path, *arguments: str) -> None:
    identity = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com"}
    identity |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"}
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **identity})


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    assert isinstance(LICENSES, list)
    assert wheel_faults(wheel, files_of_the_package(), LICENSES) == []
    assert wheel_faults(wheel, [*files_of_the_package(), f"{PACKAGE}lost.sql"], LICENSES) == [
        f"{wheel.name}: mcp_knowledge/lost.sql is missing"
    ]


def test_the_wheel_says_what_it_is_and_under_which_terms(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(name).decode().split("\n\n")[0].splitlines()
    version = project(PROJECT)["version"]
    assert {f"Version: {version}", "License-Expression: MIT AND Apache-2.0", "Requires-Python: >=3.11"} <= {*lines}
    assert len([line for line in lines if line.startswith("License-File: ")]) == 2
    assert not [line for line in lines if line.startswith("Project-URL: ")]  # there is no address that would be true


def test_a_source_archive_has_all_that_is_under_version_control() -> None:
    include = (PROJECT / "pyproject.toml").read_text().partition("[tool.hatch.build.targets.sdist]")[2]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("this tree is under no version control")
    tops = {path.partition("/")[0] for path in listed.stdout.split("\0")[:-1]}
    added = {".gitignore", "pyproject.toml"}  # by the build
    fitting = {top for top in tops if f'"/{top}"' in include or top.endswith(".md") or top.startswith("compose")}
    assert tops - fitting == added


def test_a_file_too_much_or_too_little_is_named(tmp_path: Path) -> None:
    sdist = tmp_path / "x-1.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for name in ("PKG-INFO", "src/a.py", "src/__pycache__/a.pyc"):
            archive.addfile(tarfile.TarInfo(f"x-1/{name}"))
    assert sdist_faults(sdist, ["src/a.py", "src/b.py"]) == [
        "x-1.tar.gz: src/b.py is missing",
        "x-1.tar.gz: src/__pycache__/a.pyc has no place there",
    ]


def test_versions_that_agree_can_be_released() -> None:
    assert version_faults("1.2.0", SAYING) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("Dockerfile", SAYING["Dockerfile"].replace("1.2.0", "1.1.0"), "Dockerfile: says 1.1.0, not 1.2.0"),
        ("Dockerfile", "FROM scratch\n", "Dockerfile: says nothing, not 1.2.0"),
        ("compose.yaml", SAYING["compose.yaml"].replace("1.2.0", "1.3"), "compose.yaml: says 1.3, not 1.2.0"),
        ("CHANGELOG.md", "# Changes\n\n## 1.1.0\n\n- One.\n", "CHANGELOG.md: begins with 1.1.0, not 1.2.0"),
        ("CHANGELOG.md", CHANGELOG.replace("- One thing.", ""), "CHANGELOG.md: nothing stands under 1.2.0"),
        ("CHANGELOG.md", "# Changes\n", "CHANGELOG.md: begins with nothing, not 1.2.0"),
    ],
)
def test_a_file_that_speaks_of_another_version_stops_the_release(name: str, text: str, fault: str) -> None:
    assert version_faults("1.2.0", {**SAYING, name: text}) == [fault]


def test_this_tree_speaks_of_one_version() -> None:
    texts = {name: (PROJECT / name).read_text() for name in SAYING}
    assert version_faults(str(project(PROJECT)["version"]), texts) == []


def test_only_a_commit_is_released_and_no_version_twice(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a").write_text("one")
    assert tree_faults(tmp_path, "1.2.0") == ["not committed: a"]
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "--quiet", "--message", "One")
    assert tree_faults(tmp_path, "1.2.0") == []
    git(tmp_path, "tag", "v1.2.0")
    assert tree_faults(tmp_path, "1.2.0") == []
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "Two")
    assert tree_faults(tmp_path, "1.2.0") == ["v1.2.0 is the tag of another commit: raise the version"]
    assert tree_faults(tmp_path, "1.3.0") == []
