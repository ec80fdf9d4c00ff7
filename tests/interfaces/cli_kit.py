"""The command line as a process of its own, for tests; started as quick_start.py says."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from front_door import SETTING_NAMES
from quick_start import QuickProcess

END_S = 120.0


def run(data_dir: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in SETTING_NAMES}
    words = ["--data-dir", str(data_dir), *arguments]
    with tempfile.TemporaryDirectory() as written:
        stdout, stderr = Path(written, "stdout"), Path(written, "stderr")
        process = QuickProcess(words, {**clean, **environment}, data_dir.parent, stdout, stderr)
        try:
            code = process.wait(END_S)
        finally:
            process.kill()
        return subprocess.CompletedProcess(words, code, stdout.read_text(), stderr.read_text())


def run_json(data_dir: Path, *arguments: str, **environment: str) -> Any:
    result = run(data_dir, *arguments, "--json", **environment)
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads(result.stdout)
