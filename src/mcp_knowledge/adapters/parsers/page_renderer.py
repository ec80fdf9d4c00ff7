"""Drawing pages in a disposable process, which starts with the first page somebody wants to see and ends when nobody
has looked for a while: a service that only answers searches never has one.
"""

import asyncio
import base64
import binascii
import json
import logging
from pathlib import Path
from typing import Any

from mcp_knowledge.adapters.parsers.process import ProcessDied, SandboxProcess, absolute
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import PageImage

log = logging.getLogger(__name__)

MODULE = "mcp_knowledge.adapters.parsers.page_worker"
_TIMEOUT_SECONDS = 10.0
_IDLE_SECONDS = 60.0
_PAGES_PER_PROCESS = 500
_MAX_ANSWER_BYTES = 32 * 1024 * 1024  # the largest picture, not compressed, in base64
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEEPS_PROCESS = frozenset({"PAGE_NOT_FOUND", "DOCUMENT_ENCRYPTED"})
_VERDICTS = {
    "PAGE_NOT_FOUND": KnowledgeError("PAGE_NOT_FOUND").message,
    "DOCUMENT_ENCRYPTED": "This document is password-protected, so its pages cannot be shown.",
    "DOCUMENT_MALFORMED": "This page is damaged and cannot be shown.",
    "DOCUMENT_RESOURCE_LIMIT": "This page is too large or complex to be shown.",
}


class SandboxedPageRenderer:
    """The `PageRenderer` port over one process; pages are drawn one after another.

    Args:
        memory_bytes: of the process's address space.
        timeout_seconds: wall clock and CPU time of one page.
        idle_seconds: after so long without a page the process ends.
    """

    def __init__(
        self, memory_bytes: int, timeout_seconds: float = _TIMEOUT_SECONDS, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self._limits = json.dumps({"memory_bytes": memory_bytes, "cpu_seconds": max(1, round(timeout_seconds))})
        self._timeout_seconds = timeout_seconds
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._process: SandboxProcess | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    async def render(self, path: Path, page: int, width: int, passage: str | None = None) -> PageImage:
        """Draw a page. Raises PAGE_NOT_FOUND, PAGE_UNREADABLE, and SERVICE_UNAVAILABLE when no process starts."""
        async with self._turn:
            try:
                return await self._render(path, page, width, passage)
            except ProcessDied as death:  # of its CPU time, of a lack of memory, of the file, or killed
                if death.first_request:
                    raise _unreadable("DOCUMENT_RESOURCE_LIMIT") from death
            try:  # a process that had drawn others before may have died of them, or while nobody looked
                return await self._render(path, page, width, passage)
            except ProcessDied as death:
                raise _unreadable("DOCUMENT_RESOURCE_LIMIT") from death

    @property
    def process_id(self) -> int | None:
        """The process that draws, None while there is none."""
        return self._process.pid if self._process else None

    async def close(self) -> None:
        """End the process. A page that is being drawn fails."""
        if self._idle:
            self._idle.cancel()
        await self._end()

    async def _render(self, path: Path, page: int, width: int, passage: str | None) -> PageImage:
        process = await self._ready()
        keep = False
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await process.ask({"path": absolute(path), "page": page, "width": width, "passage": passage})
                answer = await process.receive()
            image = _image(answer)
            keep = True
            return image
        except KnowledgeError:
            keep = answer.get("error") in _KEEPS_PROCESS
            raise
        except TimeoutError:
            raise _unreadable("DOCUMENT_RESOURCE_LIMIT") from None
        except (ValueError, TypeError, KeyError):  # our own process would not say that, and it may quote what it says
            raise _unreadable("DOCUMENT_MALFORMED") from None
        finally:
            if keep and process.requests < _PAGES_PER_PROCESS:
                self._rest()
            else:
                await self._end()

    async def _ready(self) -> SandboxProcess:
        if self._idle:
            self._idle.cancel()
        if self._process and not self._process.alive:
            await self._end()
        if self._process is None:
            try:
                self._process = await SandboxProcess.start(MODULE, self._limits, max_answer_bytes=_MAX_ANSWER_BYTES)
            except KnowledgeError:
                raise KnowledgeError("SERVICE_UNAVAILABLE", "Pages cannot be drawn right now.") from None
        return self._process

    def _rest(self) -> None:
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._end_soon)

    def _end_soon(self) -> None:
        self._ending = asyncio.get_running_loop().create_task(self._end_idle())

    async def _end_idle(self) -> None:
        async with self._turn:
            await self._end()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            await process.kill()


def _image(answer: dict[str, Any]) -> PageImage:
    if "error" in answer:
        raise _unreadable(str(answer["error"]))
    try:
        data = base64.b64decode(answer["image"], validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
    if not data.startswith(_SIGNATURE):
        raise ValueError("not a picture")
    return PageImage(data, "image/png", int(answer["pages"]))


def _unreadable(verdict: str) -> KnowledgeError:
    code = "PAGE_NOT_FOUND" if verdict == "PAGE_NOT_FOUND" else "PAGE_UNREADABLE"
    return KnowledgeError(code, _VERDICTS.get(verdict))
