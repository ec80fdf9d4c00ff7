"""A Debian with Python that stands for the official image, and the wheels that a build would download."""

import subprocess
import sys
from pathlib import Path

from steps import StepError, run

from image_proof.linux import add_devices, in_root

SUITE = "bookworm"
PACKAGES = "python3.11-venv,python3-distutils,ca-certificates,netbase,tzdata"
PYTHON = "3.11"
GLIBC_MINOR = 36  # of bookworm: it takes wheels made for this or an older one
OLDEST_GLIBC_MINOR = 5
# The official image has its Python, with pip and setuptools, below /usr/local; Debian's keeps pip to environments.
LIKE_THE_OFFICIAL_IMAGE = """
set -e
ln -s /usr/bin/python3.11 /usr/local/bin/python3
ln -s python3 /usr/local/bin/python
rm /usr/lib/python3.11/EXTERNALLY-MANAGED
wheels=/usr/share/python-wheels
python "$(echo $wheels/pip-*.whl)/pip" install --quiet --no-index --find-links $wheels --no-cache-dir \\
  --root-user-action=ignore pip setuptools
apt-get clean
rm -rf /var/lib/apt/lists/* /debootstrap
"""


def mirror() -> str:
    """Where this machine gets its Debian packages from.

    Raises:
        StepError: it knows no such place.
    """
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    for line in targets.splitlines():
        address, release, component = line.rsplit(" ", 2)
        if (release, component) == (SUITE, "main"):
            return address
    raise StepError(f"this machine's package sources have no {SUITE}: name a mirror with --mirror")


def make_base(folder: Path, address: str | None) -> Path:
    """A clean Debian at `folder`, made once."""
    ready = folder / ".ready"
    if not ready.exists():
        run("rm", "-rf", folder)
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, folder, address or mirror())
        add_devices(folder)
        in_root(folder, "/", {}, ["/bin/sh", "-c", LIKE_THE_OFFICIAL_IMAGE])
        run("umount", "--recursive", folder / "dev")
        ready.touch()
    return folder


def download(requirements: Path, target: Path, machine: str) -> int:
    """Fetch the wheels of a requirements file for another machine (`x86_64`, `aarch64`), each by its hash.

    Returns:
        How many there are.

    Raises:
        StepError: one of them has no wheel for that machine.
    """
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC_MINOR, OLDEST_GLIBC_MINOR - 1, -1)]
    options = [word for tag in [*tags, f"manylinux2014_{machine}"] for word in ("--platform", tag)]
    options += ["--implementation", "cp", "--python-version", PYTHON]
    options += [word for abi in ("cp311", "abi3", "none") for word in ("--abi", abi)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += [*options, "--require-hashes", "--requirement", str(requirements), "--dest", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise StepError(f"{requirements.name} for {machine}:\n{done.stderr}")
    return len([*target.glob("*.whl")])
