"""Processes of the real command line that start in a fraction of the time.

Most of what a command or a server costs until it is at work is the import of its modules, the same each time. A fork
server imports them once, and each process is a fork of it: with a command line, an environment, a folder, signals and
an end of its own, as `mcp-knowledge` has them. What depends on how the interpreter starts takes `subprocess` instead.
"""

import multiprocessing
import os
import subprocess
import sys
import threading
from multiprocessing.connection import wait
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
# Not the commands themselves: they look at their output and their environment as they are imported.
_CONTEXT.set_forkserver_preload(
    [
        "rich.progress",
        "rich.table",
        "typer",
        "mcp_knowledge.app",
        "mcp_knowledge.adapters.sqlite.drivers",
        "mcp_knowledge.interfaces.mcp.http",
        "mcp_knowledge.interfaces.rest.api",
        "mcp_knowledge.interfaces.serving",
        "mcp_knowledge.interfaces.web.pages",
    ]
)
_ENDS = threading.Lock()  # how a process ended can be read once, and several threads may ask


class QuickProcess:
    """A running `mcp-knowledge`, with the part of subprocess.Popen that tests need.

    Args:
        arguments: of the command line.
        environment: all of it, nothing is inherited.
        folder: its current one.
        stdout: the file that its output is added to.
        stderr: the same for errors; may be the same file.
    """

    def __init__(
        self, arguments: list[str], environment: dict[str, str], folder: Path, stdout: Path, stderr: Path
    ) -> None:
        given = (arguments, environment, str(folder), str(stdout), str(stderr))
        self._process = _CONTEXT.Process(target=_run, args=given, daemon=True)
        with _ENDS:
            self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        with _ENDS:
            return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended. Raises subprocess.TimeoutExpired."""
        wait([self._process.sentinel], timeout)
        code = self.returncode
        if code is None:
            raise subprocess.TimeoutExpired("mcp-knowledge", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()


def _run(arguments: list[str], environment: dict[str, str], folder: str, stdout: str, stderr: str) -> None:
    """Become that process."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    writing = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, (path, flags) in enumerate(((os.devnull, os.O_RDONLY), (stdout, writing), (stderr, writing))):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    sys.argv = ["mcp-knowledge", *arguments]
    from mcp_knowledge.interfaces.cli import main

    main()
