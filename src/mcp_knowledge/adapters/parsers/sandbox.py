"""Parsing in disposable processes: a warm pool of workers, so that no file can hang the server or bring it down.

A worker is killed at the wall clock limit; CPU, memory and file limits it sets on itself before it sees a file. It is
replaced after a number of files, after every failure that may have left something behind, and when it dies.
"""

import asyncio
import json
import logging
import re
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from mcp_knowledge.adapters.parsers import framing
from mcp_knowledge.adapters.parsers.faults import fault_of
from mcp_knowledge.adapters.parsers.process import ProcessDied, SandboxProcess, absolute
from mcp_knowledge.adapters.parsers.registry import load_registry
from mcp_knowledge.adapters.parsers.source import Limits
from mcp_knowledge.domain.blocks import Block, NormalizedDocument, block_from_json
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import ParsedFile
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

DEFAULT_REGISTRY = "mcp_knowledge.adapters.parsers.registry:REGISTRY"
_MODULE = "mcp_knowledge.adapters.parsers.worker"
_FILES_PER_WORKER = 500
_ANSWER_FACTOR = 16  # of the extracted text: JSON escapes, and blocks of a few characters with their locations
# A file's verdict that says nothing against the worker that gave it.
_HARMLESS = frozenset({"DOCUMENT_EMPTY", "DOCUMENT_ENCRYPTED", "DOCUMENT_NEEDS_OCR", "DOCUMENT_UNSUPPORTED_FORMAT"})
_FAULT = re.compile(r"\w{1,100} at [\w.]{1,200}(:\d{1,6})?")  # nothing else gets from a worker into the log


class ParserFault(Exception):
    """Stands as the cause of a verdict that no reader gave: what went wrong, and where in our code."""


class _Worker(SandboxProcess):
    """One parser process."""

    async def parse(self, path: Path, filename: str) -> ParsedFile:
        """Parse one file. Raises KnowledgeError with the worker's verdict, or ProcessDied."""
        await self.ask({"path": absolute(path), "filename": filename})
        blocks: list[Block] = []
        while "blocks" in (message := await self.receive()):
            blocks.extend(block_from_json(data) for data in message["blocks"])
            await asyncio.sleep(0)  # a frame that is there already would not let other tasks run
        if "error" in message:
            raise KnowledgeError(message["error"] if message["error"] in ERROR_CODES else "INGESTION_FAILED") from (
                ParserFault(fault) if _FAULT.fullmatch(fault := str(message.get("fault"))) else None
            )
        document = NormalizedDocument(message["title"], dict(message["metadata"]), tuple(blocks))
        return ParsedFile(document, message["parser"], message["version"], message["mimeType"])


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
        self._max_answer_bytes = self._limits.max_extract_bytes * _ANSWER_FACTOR + framing.MAX_OVERHEAD_BYTES
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
            except ProcessDied as death:
                code = _code_of_death(death)
                if code is not None and (code != "INGESTION_FAILED" or death.first_request):
                    raise KnowledgeError(code) from death
            # An earlier file may have left it broken, or it died idle: only what happens again is this file's doing.
            try:
                return await self._parse_once(path, filename)
            except ProcessDied as death:
                raise KnowledgeError(_code_of_death(death) or "DOCUMENT_MALFORMED") from death

    @property
    def worker_pids(self) -> frozenset[int]:
        """The processes of the pool."""
        return frozenset(worker.pid for worker in self._living)

    @property
    def confined(self) -> bool:
        """Whether the processes that run now are kept from the network; without any, there is nothing to keep."""
        return all(worker.confined for worker in self._living)

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
            if keep and worker.requests < self._files_per_worker:
                self._idle.append(worker)
            else:
                await self._end(worker)

    async def _take(self) -> _Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            await self._end(worker)
        worker = await _Worker.start(
            _MODULE, self._registry, json.dumps(asdict(self._limits)), max_answer_bytes=self._max_answer_bytes
        )
        self._living.add(worker)
        if not worker.confined and not self._told:
            self._told = True
            log.warning("This system cannot keep parser processes from the network; their other limits hold")
        return worker

    async def _end(self, worker: _Worker) -> None:
        self._living.discard(worker)
        await worker.kill()


def _code_of_death(death: ProcessDied) -> str | None:
    """The public code for a dead worker; None when the file may have crashed it."""
    if death.out_of_memory:
        return "DOCUMENT_RESOURCE_LIMIT"
    if sys.platform != "win32" and death.returncode == -signal.SIGXCPU:
        return "INGESTION_TIMEOUT"
    if death.returncode in (-signal.SIGTERM, -9, -signal.SIGINT, -1):
        return "INGESTION_FAILED"  # somebody ended it from outside: not the file's fault
    return None
