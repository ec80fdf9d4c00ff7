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
from typing import Any

POLL_S = 0.2


def main(task: dict[str, Any]) -> None:
    """Wait, stop the server, and remove its temporary directory.

    Args:
        task: `owner` (process id), `stop` (the command that stops the server), `account` (keywords for subprocess),
            `remove` (a directory).
    """
    asked, ask = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(ask, b"."))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # its parent may have blocked it
    print("watching", flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _wait(task["owner"], asked)
    subprocess.run(task["stop"], cwd="/", check=False, **task["account"])
    shutil.rmtree(task["remove"], ignore_errors=True)


def _wait(owner: int, asked: int) -> None:
    """Until the owner has ended, or the pipe `asked` says so."""
    if not hasattr(os, "pidfd_open"):
        while _exists(owner) and not select.select([asked], [], [], POLL_S)[0]:
            pass
        return
    try:
        select.select([asked, os.pidfd_open(owner)], [], [])
    except ProcessLookupError:
        return


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
