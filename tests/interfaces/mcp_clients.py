"""Where the Node clients of the tests are, and how to run them."""

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

CLIENTS = Path(__file__).parent / "clients"
PACKAGES = CLIENTS / "node_modules"
_MISSING = f"the Node clients are not installed: run 'npm ci' in {CLIENTS.relative_to(CLIENTS.parents[2])}"
_TIMEOUT_S = 240


def node() -> str:
    """The Node that came with the packages. Skips the test without it, or fails it where all must run."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    program = PACKAGES / f"node-{platform.system().lower()}-{machine}" / "bin" / "node"
    if not program.exists() or not (PACKAGES / "@modelcontextprotocol").exists():
        if os.environ.get("REQUIRE_ALL_TESTS"):
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return str(program)


def run(*arguments: str, home: Path, cwd: Path = CLIENTS) -> subprocess.CompletedProcess[str]:
    """Run a script with that Node; `home` keeps what it writes out of the user's own folder."""
    program = node()
    path = f"{Path(program).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run(
        [program, *arguments],
        cwd=cwd,
        env={**os.environ, "HOME": str(home), "PATH": path, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
    )


def run_json(*arguments: str, home: Path) -> Any:
    """Run a script that prints one JSON value and succeeds."""
    result = run(*arguments, home=home)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)
