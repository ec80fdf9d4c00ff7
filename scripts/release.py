"""Make what a release consists of, from a commit, and try it; nothing is published (docs/releasing.md).

    python scripts/release.py [--python PROGRAM …]

Refuses a tree with changes and versions that differ. Builds the source archive and the wheel so that everybody gets the
same bytes from the same commit, looks into both, tries the wheel in a fresh environment without a network (with each
Python that is named), and leaves them with their SHA256SUMS in dist/. On Linux, in the environment of the tests.
"""

import argparse
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from os import environ
from pathlib import Path

from release_checks import VERSIONED, project, sdist_faults, tree_faults, version_faults, wheel_faults
from steps import StepError, expect, run

PROJECT = Path(__file__).parent.parent
DIST = PROJECT / "dist"


def checked_version() -> str:
    """The version that this commit is.

    Raises:
        StepError: it cannot be released.
    """
    version = str(project(PROJECT)["version"])
    texts = {name: (PROJECT / name).read_text() for name in (*VERSIONED, "CHANGELOG.md")}
    refuse_for(tree_faults(PROJECT, version) + version_faults(version, texts))
    return version


def refuse_for(faults: list[str]) -> None:
    """Raise a StepError when there are any."""
    expect(not faults, "\n".join(faults))


def checkout(folder: Path) -> Path:
    """The files of the commit alone, in a folder of their own."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=PROJECT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def build(source: Path, target: Path, *kinds: str) -> list[Path]:
    """Build archives (`sdist`, `wheel`) with the time of the commit in them, whatever the time is."""
    epoch = run("git", "log", "-1", "--format=%ct", cwd=PROJECT).strip()
    env = {**environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONDONTWRITEBYTECODE": "1"}
    flags = [word for kind in kinds for word in ("--target", kind)]
    run(sys.executable, "-m", "hatchling", "build", "--directory", target, *flags, env=env, cwd=source)
    return sorted(target.iterdir())


def hashes(paths: list[Path]) -> dict[str, str]:
    """SHA-256 by file name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def made_archives(work: Path) -> list[Path]:
    """The wheel and the source archive.

    Raises:
        StepError: they hold too much or too little, or another build makes others.
    """
    wheel, sdist = build(checkout(work / "source"), work / "dist", "sdist", "wheel")
    tracked = run("git", "ls-files", "-z", cwd=PROJECT).split("\0")[:-1]
    licenses = project(PROJECT)["license-files"]
    assert isinstance(licenses, list)
    refuse_for(wheel_faults(wheel, tracked, licenses) + sdist_faults(sdist, tracked))
    with tarfile.open(sdist) as archive:
        archive.extractall(work / "from-sdist", filter="data")
    (unpacked,) = (work / "from-sdist").iterdir()
    again = build(unpacked, work / "again", "wheel")
    expect(hashes(again) == hashes([wheel]), "the source archive does not make the same wheel")
    return [wheel, sdist]


def try_wheel(wheel: Path, python: str, work: Path) -> str:
    """Install the wheel with what it needs in a fresh environment, and try it without a network.

    Raises:
        StepError: it cannot be installed, or something does not work.
    """
    run(python, "-m", "venv", work)
    pip = [str(work / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    requirements = PROJECT / "requirements" / "runtime.txt"
    run(*pip, "install", "--quiet", "--only-binary=:all:", "--require-hashes", "--requirement", requirements)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    run(*pip, "check")
    return run(sys.executable, PROJECT / "scripts" / "smoke.py", work / "bin" / "mcp-knowledge")


def keep(archives: list[Path]) -> Mapping[str, str]:
    """Put the archives into dist/, with their hashes in a form that `sha256sum --check` reads."""
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("mcp_knowledge-*"):
        old.unlink()
    kept = [Path(shutil.copy2(path, DIST)) for path in archives]
    found = hashes(kept)
    (DIST / "SHA256SUMS").write_text("".join(f"{value}  {name}\n" for name, value in found.items()))
    return found


def main() -> None:
    """Make a release, or say why there can be none."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--python", action="append", help="try the wheel with this one; may be repeated")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        work = Path(folder)
        try:
            version = checked_version()
            print(f"mcp-knowledge {version}: building and looking into it", flush=True)
            archives = made_archives(work)
            for number, python in enumerate(chosen.python or [sys.executable]):
                print(f"Trying the wheel with {run(python, '--version').strip()}, without a network", flush=True)
                print(try_wheel(archives[0], python, work / f"environment-{number}"), end="")
            found = keep(archives)
        except StepError as error:
            sys.exit(str(error))
    for name, value in found.items():
        print(f"dist/{name}  {(DIST / name).stat().st_size / 1e6:.1f} MB  {value}")
    print(f"Next: git tag --annotate v{version} --message 'Version {version}', push it, and publish what is in dist/.")


if __name__ == "__main__":
    main()
