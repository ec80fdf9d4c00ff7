"""One disposable process with a module of ours in it: started, asked, read and killed."""

import asyncio
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from mcp_knowledge.adapters.parsers import framing
from mcp_knowledge.errors import KnowledgeError

_START_TIMEOUT_SECONDS = 30.0
_STDERR_TAIL_BYTES = 4096
_PIPE_BUFFER_BYTES = 1024 * 1024
_OUT_OF_MEMORY = (
    b"memory allocation of",
    b"out of memory",
    b"std::bad_alloc",
    b"MemoryError",
    b"Cannot allocate memory",
)


class ProcessDied(Exception):
    """A process ended before it had answered."""

    def __init__(self, returncode: int, stderr: bytes, first_request: bool) -> None:
        super().__init__(f"The process ended with status {returncode}")
        self.returncode = returncode
        self.first_request = first_request
        self.out_of_memory = any(sign in stderr for sign in _OUT_OF_MEMORY)


class SandboxProcess:
    """A running process that answers requests with frames (`framing`).

    Args:
        max_answer_bytes: of all frames of one answer.
    """

    def __init__(self, process: asyncio.subprocess.Process, max_answer_bytes: int) -> None:
        self._process = process
        self._max_answer_bytes = max_answer_bytes
        self._answer_bytes = 0
        self._stderr: deque[int] = deque(maxlen=_STDERR_TAIL_BYTES)
        self._drain = asyncio.create_task(self._drain_stderr())
        self.requests = 0
        self.confined = False

    @classmethod
    async def start(cls, module: str, *arguments: str, max_answer_bytes: int) -> Self:
        """Start a process and wait until it is ready. Raises INGESTION_FAILED when it never is."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-S", "-m", module, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
            cwd=os.sep,
            limit=_PIPE_BUFFER_BYTES,
            start_new_session=True,
        )
        started = cls(process, max_answer_bytes)
        try:
            async with asyncio.timeout(_START_TIMEOUT_SECONDS):
                started.confined = (await started.receive()).get("confined") is True
        except (TimeoutError, ProcessDied, ValueError):
            await started.kill()
            raise KnowledgeError("INGESTION_FAILED") from None
        except BaseException:
            await started.kill()
            raise
        return started

    async def ask(self, request: dict[str, Any]) -> None:
        """Send a request; its answer is what `receive` gives from now on."""
        self.requests += 1
        self._answer_bytes = 0
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # it died: its exit status is met while receiving
            self._process.stdin.write(framing.encode(request))
            await self._process.stdin.drain()

    async def receive(self) -> dict[str, Any]:
        """The next frame. Raises ProcessDied, and ValueError for what is no frame of ours."""
        assert self._process.stdout is not None
        try:
            (size,) = framing.HEADER.unpack(await self._process.stdout.readexactly(framing.HEADER.size))
            self._answer_bytes += size
            if self._answer_bytes > self._max_answer_bytes:
                raise ValueError("answer too large")
            message = json.loads(await self._process.stdout.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            returncode = await self._process.wait()
            await self._drain
            raise ProcessDied(returncode, bytes(self._stderr), self.requests <= 1) from None
        if not isinstance(message, dict):
            raise ValueError("not a message")
        return message

    async def kill(self) -> None:
        """End the process and everything it started, and wait until it is gone."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                if sys.platform == "win32":
                    self._process.kill()
                else:
                    os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._drain.cancel()
        with suppress(asyncio.CancelledError):
            await self._drain

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.returncode is None

    async def _drain_stderr(self) -> None:
        """Keep the pipe empty. The tail tells a failed allocation from other crashes; it may quote text: no log."""
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(65_536):
            self._stderr.extend(data[-_STDERR_TAIL_BYTES:])


def absolute(path: Path) -> str:
    """A file as a process finds it, whose current folder is another one."""
    return str(path.absolute())


def _environment(path: Sequence[str] | None = None) -> dict[str, str]:
    """The process's whole environment: where modules are, and nothing of the server's secrets."""
    modules = [str(Path(entry).absolute()) for entry in (path or sys.path) if entry]
    variables = {"PYTHONPATH": os.pathsep.join(modules), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    if sys.platform == "win32":
        variables["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    return variables
