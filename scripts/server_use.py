"""What a user does with a running server: upload, search, ask over MCP."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from steps import StepError, expect

READY_S = 120.0
POLL_S = 0.05
QUESTION = "what is paid for travel to the quay?"
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


class Client:
    """A client of one server, with a passphrase where it has one."""

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=30)

    def text(self, path: str) -> str:
        """The text of a page or file.

        Raises:
            StepError: it answers with an error.
        """
        answer = self._http.get(path)
        expect(answer.status_code == 200, f"{path}: {answer.status_code}")
        return answer.text

    def first_stylesheet(self) -> str:
        """The address of the first stylesheet of the first page."""
        found = re.search(r'href="(/static/[^"]+\.css[^"]*)"', self.text("/"))
        expect(found is not None, "the first page has no style")
        assert found is not None
        return found[1]

    def wait_ready(self) -> None:
        """Come back once `/ready` is satisfied."""
        self._until(lambda: self._http.get("/ready"), lambda answer: answer.status_code == 200)

    def upload(self, files: list[Path]) -> list[dict[str, Any]]:
        """The documents, once all are read."""
        receipts = [
            self._checked(self._http.post("/api/v1/documents", files={"file": (path.name, path.read_bytes())}))
            for path in files
        ]
        return [self._finished(receipt["id"]) for receipt in receipts]

    def search(self) -> list[str]:
        """The chunks that answer a question about the samples, best first."""
        answer = self._checked(self._http.post("/api/v1/search", json={"query": QUESTION, "limit": 5}))
        return [hit["chunkId"] for hit in answer["hits"]]

    def ask_over_mcp(self) -> str:
        """What the search tool answers to the same question."""
        start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "proof", "version": "1"}}
        self._mcp("initialize", start)
        result = self._mcp("tools/call", {"name": "search_documents", "arguments": {"query": QUESTION}})
        if result.get("isError"):
            raise StepError(f"MCP: {result}")
        return str(result["content"][0]["text"])

    def _mcp(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._http.post("/mcp", json=message, headers=MCP_HEADERS)
        text = answer.text
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            text = "".join(line[6:] for line in text.splitlines() if line.startswith("data: "))
        if answer.status_code != 200 or "result" not in json.loads(text):
            raise StepError(f"MCP {method}: {answer.status_code} {text[:500]}")
        result: dict[str, Any] = json.loads(text)["result"]
        return result

    def _finished(self, document_id: str) -> dict[str, Any]:
        def done(answer: httpx2.Response) -> bool:
            return bool(self._checked(answer)["status"] in ("ready", "failed"))

        document: dict[str, Any] = self._until(lambda: self._http.get(f"/api/v1/documents/{document_id}"), done).json()
        if document["status"] != "ready":
            raise StepError(f"{document['title']}: {document}")
        return document

    def _until(
        self, ask: Callable[[], httpx2.Response], satisfied: Callable[[httpx2.Response], bool]
    ) -> httpx2.Response:
        deadline = time.monotonic() + READY_S
        while True:
            answer = ask()
            if satisfied(answer):
                return answer
            if time.monotonic() > deadline:
                raise StepError(f"never satisfied: {answer.status_code} {answer.text[:500]}")
            time.sleep(POLL_S)

    @staticmethod
    def _checked(answer: httpx2.Response) -> Any:
        if answer.status_code >= 400:
            raise StepError(f"{answer.request.url}: {answer.status_code} {answer.text[:500]}")
        return answer.json()
