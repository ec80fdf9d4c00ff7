"""Ends a PostgreSQL server when the process that it was started for is gone, however that one ended.

Runs as a process of its own, in a session of its own (Ctrl-C and a killed process group do not reach it), on the
standard library alone. SIGTERM ends the server, too: there is one way to end, and it is here.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any

POLL_S = 0.2


def wait_for_end_of(pid: int, asked_to_stop: threading.Event) -> None:
    """Return when that process has ended, or SIGTERM came."""
    try:
        process = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return
    while not asked_to_stop.is_set():
        if process is not None:
            if select.select([process], [], [], POLL_S)[0]:
                return
        elif not _runs(pid):
            return
        else:
            asked_to_stop.wait(POLL_S)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(task: dict[str, Any]) -> None:
    """Wait, stop the server, and remove its temporary directory.

    Args:
        task: `owner` (process id), `stop` (the command that stops the server), `account` (keywords for subprocess),
            `remove` (a directory).
    """
    asked_to_stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wait_for_end_of(task["owner"], asked_to_stop)
    subprocess.run(task["stop"], cwd="/", check=False, **task["account"])
    shutil.rmtree(task["remove"], ignore_errors=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
