"""The front door for tests: the real application in this process, and a real server process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest
from quick_start import QuickProcess

from mcp_knowledge.app import create_app
from mcp_knowledge.settings import Settings

FINISHED = ("ready", "failed")
START_S = 30.0
FINISH_S = 60.0
POLL_S = 0.02


def missing_tool(reason: str) -> None:
    """Skip the test where a tool is not installed, or fail it where all must run (`REQUIRE_ALL_TESTS`)."""
    if os.environ.get("REQUIRE_ALL_TESTS"):
        pytest.fail(reason)
    pytest.skip(reason)


def wait_until(condition: Callable[[], Any], timeout_s: float = FINISH_S, what: str = "the condition") -> Any:
    """Poll until the condition is truthy and return its value; fail the test when time runs out."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"timed out waiting for {what}")
        pause.wait(POLL_S)


async def until(condition: Callable[[], object], timeout_s: float = 20) -> None:
    """Wait for a condition (an async one may be given too) that other tasks make true."""
    pause = asyncio.Event()
    async with asyncio.timeout(timeout_s):
        while True:
            value = condition()
            if await value if isinstance(value, Awaitable) else value:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(pause.wait(), 0.005)


class Server:
    """A real server process on a data directory of its own, at a free port; started as quick_start.py says."""

    def __init__(self, data_dir: Path, environment: dict[str, str] | None = None) -> None:
        self.data_dir = data_dir
        self.environment = environment or {}
        self.process: QuickProcess | subprocess.Popen[bytes] | None = None
        self.url = ""
        self.log = data_dir.parent / f"{data_dir.name}.log"

    def start(self) -> Self:
        clean = {name: value for name, value in os.environ.items() if name not in SETTING_NAMES}
        self.process = self.launch({**clean, **self.environment})
        self.url = wait_until(self._announced, START_S, f"the server to start, see {self.log}")
        return self

    def launch(self, environment: dict[str, str]) -> QuickProcess | subprocess.Popen[bytes]:
        """Begin the process."""
        return QuickProcess(self.arguments(), environment, self.data_dir.parent, self.log, self.log)

    def arguments(self) -> list[str]:
        """Those of the command line."""
        return ["--data-dir", str(self.data_dir), "serve", "--port", "0"]

    def _announced(self) -> str | None:
        assert self.process is not None
        if self.process.poll() is not None:
            pytest.fail(f"the server ended at start:\n{self.log.read_text()[-3000:]}")
        for path in self.data_dir.glob("server*.json"):  # several servers of one database have one each
            try:
                note = json.loads(path.read_text())
            except (OSError, ValueError):
                continue
            if note["pid"] == self.process.pid:
                return str(note["url"])
        return None

    def stop(self) -> None:
        """SIGTERM, and the end of the process."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def kill(self) -> None:
        """SIGKILL: no chance to clean up."""
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def request(self, method: str, path: str, **arguments: Any) -> httpx2.Response:
        """One request, on a connection of its own."""
        # Without TLS there is nothing to verify, and loading the certificates takes longer than a request.
        return httpx2.request(method, self.url + path, timeout=30, verify=False, **arguments)

    def upload(self, name: str, content: bytes, **fields: str) -> dict[str, Any]:
        """Upload a document and return the receipt."""
        answer = self.request("POST", "/api/v1/documents", files={"file": (name, content)}, data=fields)
        assert answer.status_code in (200, 202), answer.text
        data: dict[str, Any] = answer.json()
        return data

    def wait_finished(self, document_id: str) -> dict[str, Any]:
        """The document, once it is ready or has failed."""

        def finished() -> dict[str, Any] | None:
            document: dict[str, Any] = self.request("GET", f"/api/v1/documents/{document_id}").json()
            done = document["status"] in FINISHED and document["progress"] is None
            return document if done else None

        document: dict[str, Any] = wait_until(finished, what=f"{document_id} to be ready")
        return document

    def add(self, name: str, content: bytes, **fields: str) -> dict[str, Any]:
        """Upload a document and wait until it is ready or has failed."""
        return self.wait_finished(self.upload(name, content, **fields)["id"])


class FreshServer(Server):
    """A server whose interpreter starts as it does at a user's."""

    def launch(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Begin the process."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command(),
                env=environment,
                cwd=self.data_dir.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def command(self) -> list[str]:
        """What starts the process."""
        return [sys.executable, "-m", "mcp_knowledge", *self.arguments()]


SETTING_NAMES = {name.upper() for name in Settings.model_fields}


@asynccontextmanager
async def running_client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """The real application with its lifespan, and a client for it."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as connected:
            yield connected


async def wait_finished(client: httpx2.AsyncClient, document_id: str, timeout_s: float = FINISH_S) -> dict[str, Any]:
    """The document, once it is ready or has failed."""
    async with asyncio.timeout(timeout_s):
        while True:
            document: dict[str, Any] = (await client.get(f"/api/v1/documents/{document_id}")).json()
            if document["status"] in FINISHED and document["progress"] is None:
                return document
            await asyncio.sleep(POLL_S)  # a condition is polled here: nothing rests on how long this takes


async def add(client: httpx2.AsyncClient, name: str, content: bytes, **fields: str) -> dict[str, Any]:
    """Upload a document and wait until it is ready or has failed."""
    answer = await client.post("/api/v1/documents", files={"file": (name, content)}, data=fields)
    assert answer.status_code in (200, 202), answer.text
    return await wait_finished(client, answer.json()["id"])
