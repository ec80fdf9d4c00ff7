"""The stages of a Dockerfile, carried out one after the other in roots of their own."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steps import StepError, run

from image_proof.dockerfile import Config, Instruction, Stage, configure, expanded, ignored, stages
from image_proof.linux import BUILD_PATH, add_devices, in_root, overlay, within

# Downloads would come from here: every wheel was fetched by its hash before.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/mnt"}


@dataclass(frozen=True, slots=True)
class Image:
    """What a build made: its root, what of it is not the base's, how it is run, and how long each step took, in s."""

    root: Path
    own: Path
    config: Config
    steps: list[tuple[str, float]]


class Build:
    """One build.

    Args:
        context: the folder with the Dockerfile and its `.dockerignore`.
        base: the root that every FROM means.
        wheels: all that pip may install.
        work: an empty folder for the roots of the stages.
        build_args: values for ARG lines.
    """

    def __init__(self, context: Path, base: Path, wheels: Path, work: Path, build_args: Mapping[str, str]) -> None:
        self._context, self._base, self._wheels, self._work = context, base, wheels, work
        self._build_args = build_args
        self._roots: dict[str, Path] = {}
        self._steps: list[tuple[str, float]] = []
        self._ignore = (context / ".dockerignore").read_text()

    def image(self) -> Image:
        """Carry out every stage; the last one is the image.

        Raises:
            StepError: a step failed.
            DockerfileError: the file says something that is not read here.
        """
        for stage in stages(self._context / "Dockerfile", self._build_args):
            own, root, config = self._carry_out(stage)
        return Image(root, own, config, self._steps)

    def _carry_out(self, stage: Stage) -> tuple[Path, Path, Config]:
        folder = self._work / stage.name
        own, root = folder / "own", folder / "root"
        overlay(self._base, own, folder / "work", root)
        self._roots[stage.name] = root
        config = Config(env={"PATH": BUILD_PATH})
        add_devices(root)
        run("mount", "--bind", "--options", "ro", self._wheels, root / "mnt")
        for item in stage.instructions:
            started = time.monotonic()
            configure(config, item, self._build_args)
            self._step(root, item, config)
            self._steps.append((f"{stage.name}: {item.name} {item.value}", time.monotonic() - started))
        run("umount", root / "mnt")
        run("umount", "--recursive", root / "dev")
        return own, root, config

    def _step(self, root: Path, item: Instruction, config: Config) -> None:
        if item.name == "RUN":
            env = {**config.variables(), **OFFLINE}
            in_root(root, config.workdir, env, ["/bin/sh", "-c", item.value])
        elif item.name == "WORKDIR":
            within(root, config.workdir).mkdir(parents=True, exist_ok=True)
        elif item.name == "COPY":
            *sources, target = expanded(item.value, config.variables()).split()
            self._copy(item.flags.get("from"), sources, within(root, str(PurePosixPath(config.workdir) / target)))

    def _copy(self, stage: str | None, sources: list[str], target: Path) -> None:
        if stage is not None:
            (source,) = sources
            run("cp", "--archive", "--no-target-directory", within(self._roots[stage], source), target)
            return
        for source in sources:
            origin = self._context / source
            if origin.is_dir():
                shutil.copytree(origin, target, ignore=self._ignored, dirs_exist_ok=True)
            elif ignored(source, self._ignore):
                raise StepError(f"COPY {source}: kept out by .dockerignore")
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin, target)

    def _ignored(self, folder: str, names: list[str]) -> set[str]:
        place = Path(folder).relative_to(self._context)
        return {name for name in names if ignored(str(place / name), self._ignore)}
