"""The services of a compose file, with the variables that it takes from its environment."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

VARIABLE = re.compile(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}")


class UnsetVariableError(ValueError):
    """A variable that the file demands has no value."""


def interpolated(text: str, values: Mapping[str, str]) -> str:
    """`${NAME}`, `${NAME:-default}` and `${NAME:?message}` as Compose reads them.

    Raises:
        UnsetVariableError: a demanded one is unset or empty.
    """

    def value(match: "re.Match[str]") -> str:
        name, operator, rest = match.groups()
        found = values.get(name, "")
        if not found and operator == ":?":
            raise UnsetVariableError(f"{name}: {rest}")
        return found or (rest if operator == ":-" else "")

    return VARIABLE.sub(value, text)


def services(path: Path, values: Mapping[str, str]) -> dict[str, Any]:
    """The services of a file by their names."""
    found: dict[str, Any] = yaml.safe_load(interpolated(path.read_text(), values))["services"]
    return found


def seconds(duration: str) -> float:
    """The seconds of `20s`."""
    return float(duration.removesuffix("s"))
