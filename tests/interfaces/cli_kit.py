"""The command line as a process of its own, for tests."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from front_door import SETTING_NAMES


def run(data_dir: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in SETTING_NAMES}
    return subprocess.run(
        [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(data_dir), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=data_dir.parent,
        env={**clean, **environment},
    )


def run_json(data_dir: Path, *arguments: str, **environment: str) -> Any:
    result = run(data_dir, *arguments, "--json", **environment)
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads(result.stdout)
