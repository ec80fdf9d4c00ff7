"""Parsing in disposable processes: a warm pool of workers, so that no file can hang the server or bring it down.

A worker is killed at the wall clock limit; CPU, memory and file limits it sets on itself before it sees a file. It is
replaced after a number of files, after every failure that may have left something behind, and when it dies.
"""

import asyncio
import json
import logging
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_knowledge.adapters.parsers import framing
from mcp_knowledge.adapters.parsers.faults import fault_of
from mcp_knowledge.adapters.parsers.registry import load_registry
from mcp_knowledge.adapters.parsers.source import Limits
from mcp_knowledge.domain.blocks import Block, NormalizedDocument, block_from_json
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import ParsedFile
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

DEFAULT_REGISTRY = "mcp_knowledge.adapters.parsers.registry:REGISTRY"
_START_TIMEOUT_SECONDS = 30.0
_FILES_PER_WORKER = 500
_STDERR_TAIL_BYTES = 4096
_PIPE_BUFFER_BYTES = 1024 * 1024
_ANSWER_FACTOR = 16  # of the extracted text: JSON escapes, and blocks of a few characters with their locations
# A file's verdict that says nothing against the worker that gave it.
_HARMLESS = frozenset({"DOCUMENT_EMPTY", "DOCUMENT_ENCRYPTED", "DOCUMENT_NEEDS_OCR", "DOCUMENT_UNSUPPORTED_FORMAT"})
_OUT_OF_MEMORY = (
    b"memory allocation of",
    b"out of memory",
    b"std::bad_alloc",
    b"MemoryError",
    b"Cannot allocate memory",
)


_FAULT = re.compile(r"\w{1,100} at [\w.]{1,200}(:\d{1,6})?")  # nothing else gets from a worker into the log


class ParserFault(Exception):
    """Stands as the cause of a verdict that no reader gave: what went wrong, and where in our code."""


class _Died(Exception):
    """A worker ended before it had answered."""

    def __init__(self, returncode: int, stderr: bytes, first_file: bool) -> None:
        super().__init__(f"The parser process ended with status {returncode}")
        self.returncode = returncode
        self.first_file = first_file
        self.out_of_memory = any(sign in stderr for sign in _OUT_OF_MEMORY)


class _Worker:
    """One parser process."""

    def __init__(self, process: asyncio.subprocess.Process, max_answer_bytes: int) -> None:
        self._process = process
        self._max_answer_bytes = max_answer_bytes
        self._answer_bytes = 0
        self._stderr: deque[int] = deque(maxlen=_STDERR_TAIL_BYTES)
        self._drain = asyncio.create_task(self._drain_stderr())
        self.files = 0
        self.confined = False

    @classmethod
    async def start(cls, registry: str, limits: Limits, timeout_seconds: float) -> "_Worker":
        """Start a process and wait until it is ready. Raises INGESTION_FAILED when it never is."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-S", "-m", "mcp_knowledge.adapters.parsers.worker", registry, json.dumps(asdict(limits))),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
            cwd=os.sep,
            limit=_PIPE_BUFFER_BYTES,
            start_new_session=True,
        )
        worker = cls(process, limits.max_extract_bytes * _ANSWER_FACTOR + framing.MAX_OVERHEAD_BYTES)
        try:
            async with asyncio.timeout(timeout_seconds):
                worker.confined = (await worker._receive()).get("confined") is True
        except (TimeoutError, _Died, ValueError):
            await worker.kill()
            raise KnowledgeError("INGESTION_FAILED") from None
        except BaseException:
            await worker.kill()
            raise
        return worker

    async def parse(self, path: Path, filename: str) -> ParsedFile:
        """Parse one file. Raises KnowledgeError with the worker's verdict, or _Died."""
        self.files += 1
        self._answer_bytes = 0
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # it died: its exit status is met while receiving
            self._process.stdin.write(_request(path, filename))
            await self._process.stdin.drain()
        blocks: list[Block] = []
        while "blocks" in (message := await self._receive()):
            blocks.extend(block_from_json(data) for data in message["blocks"])
            await asyncio.sleep(0)  # a frame that is there already would not let other tasks run
        if "error" in message:
            raise KnowledgeError(message["error"] if message["error"] in ERROR_CODES else "INGESTION_FAILED") from (
                ParserFault(fault) if _FAULT.fullmatch(fault := str(message.get("fault"))) else None
            )
        document = NormalizedDocument(message["title"], dict(message["metadata"]), tuple(blocks))
        return ParsedFile(document, message["parser"], message["version"], message["mimeType"])

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

    async def _receive(self) -> dict[str, Any]:
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
            raise _Died(returncode, bytes(self._stderr), self.files <= 1) from None
        if not isinstance(message, dict):
            raise ValueError("not a message")
        return message

    async def _drain_stderr(self) -> None:
        """Keep the pipe empty. The tail tells a failed allocation from other crashes; it may quote text: no log."""
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(65_536):
            self._stderr.extend(data[-_STDERR_TAIL_BYTES:])


class SandboxedParser:
    """The `Parser` port over a pool of worker processes.

    Args:
        settings: the limits (MAX_*, PARSER_*), and WORKER_CONCURRENCY for the pool's size.
        registry: `module:attribute` of the formats to read.
        files_per_worker: how many files a process reads before a fresh one takes its place.
    """

    def __init__(
        self, settings: Settings, registry: str = DEFAULT_REGISTRY, files_per_worker: int = _FILES_PER_WORKER
    ) -> None:
        self._formats = load_registry(registry)
        self._registry = registry
        self._files_per_worker = files_per_worker
        self._timeout_seconds = settings.parser_timeout_ms / 1000
        self._limits = Limits(
            max_extract_bytes=settings.max_extract_bytes,
            max_document_pages=settings.max_document_pages,
            max_spreadsheet_cells=settings.max_spreadsheet_cells,
            max_archive_uncompressed_bytes=settings.max_archive_uncompressed_bytes,
            max_archive_entries=settings.max_archive_entries,
            max_archive_compression_ratio=settings.max_archive_compression_ratio,
            memory_bytes=settings.parser_memory_bytes,
            cpu_seconds=max(1, round(self._timeout_seconds)),
        )
        self._slots = asyncio.Semaphore(settings.worker_concurrency)
        self._idle: list[_Worker] = []
        self._living: set[_Worker] = set()
        self._told = False

    def current_version(self, extension: str) -> tuple[str, str]:
        """Name and version of the parser for this extension. Raises DOCUMENT_UNSUPPORTED_FORMAT."""
        found = self._formats.for_extension(extension)
        return found.name, found.version

    async def parse(self, path: Path, filename: str) -> ParsedFile:
        """Parse a file in a worker; waits for a free one. Raises KnowledgeError with a document failure code."""
        async with self._slots:
            try:
                return await self._parse_once(path, filename)
            except _Died as death:
                code = _code_of_death(death)
                if code is not None and (code != "INGESTION_FAILED" or death.first_file):
                    raise KnowledgeError(code) from death
            # An earlier file may have left it broken, or it died idle: only what happens again is this file's doing.
            try:
                return await self._parse_once(path, filename)
            except _Died as death:
                raise KnowledgeError(_code_of_death(death) or "DOCUMENT_MALFORMED") from death

    @property
    def worker_pids(self) -> frozenset[int]:
        """The processes of the pool."""
        return frozenset(worker.pid for worker in self._living)

    async def close(self) -> None:
        """End all workers. A parse that is still at work fails with INGESTION_FAILED."""
        self._idle.clear()
        await asyncio.gather(*map(self._end, tuple(self._living)))

    async def _parse_once(self, path: Path, filename: str) -> ParsedFile:
        worker = await self._take()
        keep = False
        try:
            async with asyncio.timeout(self._timeout_seconds):
                parsed = await worker.parse(path, filename)
            keep = True
            return parsed
        except TimeoutError:
            raise KnowledgeError("INGESTION_TIMEOUT") from None
        except KnowledgeError as error:
            keep = error.code in _HARMLESS
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            # Our own worker would not say that. The error may quote what it says: it is not passed on.
            raise KnowledgeError("INGESTION_FAILED") from ParserFault(fault_of(error))
        finally:
            if keep and worker.files < self._files_per_worker:
                self._idle.append(worker)
            else:
                await self._end(worker)

    async def _take(self) -> _Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            await self._end(worker)
        worker = await _Worker.start(self._registry, self._limits, _START_TIMEOUT_SECONDS)
        self._living.add(worker)
        if not worker.confined and not self._told:
            self._told = True
            log.warning("This system cannot keep parser processes from the network; their other limits hold")
        return worker

    async def _end(self, worker: _Worker) -> None:
        self._living.discard(worker)
        await worker.kill()


def _request(path: Path, filename: str) -> bytes:
    """The frame that asks for a file; the worker has another current folder."""
    return framing.encode({"path": str(path.absolute()), "filename": filename})


def _code_of_death(death: _Died) -> str | None:
    """The public code for a dead worker; None when the file may have crashed it."""
    if death.out_of_memory:
        return "DOCUMENT_RESOURCE_LIMIT"
    if sys.platform != "win32" and death.returncode == -signal.SIGXCPU:
        return "INGESTION_TIMEOUT"
    if death.returncode in (-signal.SIGTERM, -9, -signal.SIGINT, -1):
        return "INGESTION_FAILED"  # somebody ended it from outside: not the file's fault
    return None


def _environment(path: Sequence[str] | None = None) -> dict[str, str]:
    """The worker's whole environment: where modules are, and nothing of the server's secrets."""
    modules = [str(Path(entry).absolute()) for entry in (path or sys.path) if entry]
    variables = {"PYTHONPATH": os.pathsep.join(modules), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    if sys.platform == "win32":
        variables["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    return variables
