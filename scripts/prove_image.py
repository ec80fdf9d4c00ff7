"""Carry out the Dockerfile's steps in a clean Debian and use what they make, where no container engine runs.

    python scripts/prove_image.py [--work DIR] [--mirror ADDRESS] [--extra otel]

As root on Linux, with `debootstrap`, in the environment of the tests. A Debian with its own Python stands for the
official Python image; every wheel is fetched before, by its hash, for both processors, so that no step needs a network.
The image is then started as the compose files say: as its user, on a root that is read-only, without any right or
network, once with the embedded database and once as an API process and a worker on PostgreSQL. Prints a table, or what
is wrong and ends with 1.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from image_proof.base import download, make_base
from image_proof.building import Build, Image
from image_proof.dockerfile import DockerfileError
from image_proof.inspecting import faults, sizes
from image_proof.linux import add_devices, no_network, own_mounts
from image_proof.proofs import prove_local, prove_team
from rich.console import Console
from rich.table import Table
from steps import StepError, expect, run

PROJECT = Path(__file__).parent.parent
WORK = PROJECT / "build" / "image"
PROCESSORS = ("x86_64", "aarch64")


def build(work: Path, mirror: str | None, extra: str) -> tuple[Image, list[tuple[str, str]]]:
    """The image, and what there is to say of its making."""
    said: list[tuple[str, str]] = []
    started = time.monotonic()
    base = make_base(work / "base", mirror)
    said.append(("a clean Debian, or the one of the last time", f"{time.monotonic() - started:.1f} s"))
    for processor in PROCESSORS:
        for name in (f"{extra or 'runtime'}.txt", "build.txt"):
            count = download(PROJECT / "requirements" / name, work / "wheels" / processor, processor)
        said.append((f"wheels for {processor}, each by its hash", str(count)))
    run("rm", "-rf", work / "stages")
    wheels = work / "wheels" / platform.machine()
    image = Build(PROJECT, base, wheels, work / "stages", {"EXTRA": extra}).image()
    said += [(step[:90], f"{duration_s:.1f} s") for step, duration_s in image.steps if duration_s > 0.5]
    return image, said


def prove(work: Path, mirror: str | None, extra: str) -> list[tuple[str, str]]:
    """Everything, in order.

    Raises:
        StepError: something is not as it should be.
        DockerfileError: the file says something that is not read here.
    """
    own_mounts()
    image, said = build(work, mirror, extra)
    found = faults(image)
    expect(not found, "The image has what it should not:\n" + "\n".join(found))
    has_traces = any(image.own.rglob("opentelemetry/sdk"))
    expect(has_traces == (extra == "otel"), f"the image has what sends traces: {has_traces}")
    said += [(f"size: {name}", f"{size_mib:.1f} MiB") for name, size_mib in sizes(image)]
    no_network()
    add_devices(image.root)
    with tempfile.TemporaryDirectory(dir=work, prefix="use-") as folder:
        Path(folder).chmod(0o755)
        said += prove_local(PROJECT, image, Path(folder))
        said += prove_team(PROJECT, image, Path(folder))
    return said


def main() -> None:
    """Prove it, or say what is wrong."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--work", type=Path, default=WORK, help="kept: the Debian and the wheels")
    options.add_argument("--mirror", help="of Debian; default: the one that this machine uses")
    options.add_argument("--extra", default="", help="as the build argument EXTRA")
    chosen = options.parse_args()
    if os.geteuid() != 0:
        sys.exit("Run this as root: it mounts and changes roots, in namespaces of its own.")
    chosen.work.mkdir(parents=True, exist_ok=True)
    try:
        said = prove(chosen.work.resolve(), chosen.mirror, chosen.extra)
    except (StepError, DockerfileError) as error:
        sys.exit(str(error))
    table = Table("what", "measured")
    for row in said:
        table.add_row(*row)
    Console(width=130, emoji=False, markup=False).print(table)


if __name__ == "__main__":
    main()
