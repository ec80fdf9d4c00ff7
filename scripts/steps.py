"""Steps of scripts: each does its part or says what is wrong."""

import subprocess
from collections.abc import Mapping
from pathlib import Path


class StepError(RuntimeError):
    """A step that failed, with what there is to say of it."""


def run(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """A program's output.

    Raises:
        StepError: it failed.
    """
    words = [str(word) for word in command]
    done = subprocess.run(words, env=env, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise StepError(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(is_so: bool, otherwise: str) -> None:
    """Raise a StepError with this sentence unless it is so."""
    if not is_so:
        raise StepError(otherwise)
