"""A Dockerfile, read: its stages, their instructions, and what an image says of how it is run."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")
FLAG = re.compile(r"--([a-z-]+)=(\S+)\s+")
KNOWN = {
    *("ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "STOPSIGNAL"),
    *("USER", "VOLUME", "WORKDIR"),
}
# What lets a variable stand in its value; a shell reads those of RUN.
EXPANDED = KNOWN - {"RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"}


class DockerfileError(ValueError):
    """Something in the file that is not read here."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its name in capitals, its `--flags`, and the rest of its lines as one text."""

    name: str
    flags: Mapping[str, str]
    value: str


@dataclass(frozen=True, slots=True)
class Stage:
    """What follows one FROM."""

    base: str
    name: str
    instructions: tuple[Instruction, ...]


@dataclass(slots=True)
class Config:
    """How a container of an image is started."""

    env: dict[str, str] = field(default_factory=dict)
    args: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"
    volumes: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)
    stop_signal: str = "SIGTERM"
    health: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    cmd: list[str] = field(default_factory=list)

    def variables(self) -> dict[str, str]:
        """What a step sees: build arguments, and over them the environment."""
        return {**self.args, **self.env}


def expanded(text: str, values: Mapping[str, str]) -> str:
    """`$NAME`, `${NAME}` and `${NAME:-default}` replaced; what has no value is empty."""
    return VARIABLE.sub(lambda found: values.get(found[1] or found[2]) or found[3] or "", text)


def instructions(text: str) -> list[Instruction]:
    """The instructions of a file in their order.

    Raises:
        DockerfileError: an instruction that this reader does not know.
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found: list[Instruction] = []
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if not line.strip():
            continue
        name, _, value = line.strip().partition(" ")
        if name.upper() not in KNOWN:
            raise DockerfileError(f"{name} is not carried out here")
        flags: dict[str, str] = {}
        value = value.strip()
        while match := FLAG.match(value):
            flags[match[1]] = match[2]
            value = value[match.end() :]
        found.append(Instruction(name.upper(), flags, value))
    return found


def stages(path: Path, build_args: Mapping[str, str]) -> list[Stage]:
    """The stages of a file; `build_args` stand for the defaults of ARG lines of the same names."""
    found: list[Stage] = []
    before_all: dict[str, str] = {}
    for item in instructions(path.read_text()):
        if item.name == "FROM":
            base, _, name = expanded(item.value, before_all).partition(" AS ")
            found.append(Stage(base, name or str(len(found)), ()))
        elif not found:
            before_all.update(argument(item, build_args))
        else:
            last = found[-1]
            found[-1] = Stage(last.base, last.name, (*last.instructions, item))
    return found


def argument(item: Instruction, build_args: Mapping[str, str]) -> dict[str, str]:
    """The name and value of an ARG line."""
    name, _, default = item.value.partition("=")
    return {name: build_args.get(name, default)}


def pairs(value: str) -> dict[str, str]:
    """The `NAME=value` pairs of ENV and LABEL."""
    return dict(word.split("=", 1) for word in shlex.split(value))


def configure(config: Config, item: Instruction, build_args: Mapping[str, str]) -> None:
    """Note what an instruction says of the image. RUN and COPY say nothing of it.

    Raises:
        DockerfileError: a shell form, where signals would end at the shell.
    """
    value = expanded(item.value, config.variables()) if item.name in EXPANDED else item.value
    if item.name == "ARG":
        config.args.update(argument(item, build_args))
    elif item.name == "ENV":
        config.env.update(pairs(value))
    elif item.name == "LABEL":
        config.labels.update(pairs(value))
    elif item.name == "WORKDIR":
        config.workdir = str(Path(config.workdir) / value)
    elif item.name == "USER":
        config.user = value
    elif item.name == "VOLUME":
        config.volumes += value.split()
    elif item.name == "EXPOSE":
        config.ports += value.split()
    elif item.name == "STOPSIGNAL":
        config.stop_signal = value
    elif item.name == "HEALTHCHECK":
        config.health = exec_form(value.removeprefix("CMD").strip())
    elif item.name == "ENTRYPOINT":
        config.entrypoint = exec_form(value)
    elif item.name == "CMD":
        config.cmd = exec_form(value)


def exec_form(value: str) -> list[str]:
    """The words of `["program", "argument"]`."""
    try:
        words = json.loads(value)
    except ValueError as error:
        raise DockerfileError(f"not in exec form: {value}") from error
    return [str(word) for word in words]


def ignored(path: str, patterns: str) -> bool:
    """Whether `.dockerignore` keeps a file of the context out; the last line that fits decides."""
    out = False
    for line in patterns.splitlines():
        pattern = line.strip().removeprefix("!").strip("/")
        if not pattern or pattern.startswith("#"):
            continue
        glob = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        if re.fullmatch(f"{glob}(?:/.*)?", path):
            out = not line.strip().startswith("!")
    return out
