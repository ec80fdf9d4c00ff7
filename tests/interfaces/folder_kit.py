"""A folder of files, and a service that scans it at each start."""

import asyncio
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from front_door import FINISHED, running_client
from rest_kit import API

from mcp_knowledge.settings import load_settings

Json = dict[str, Any]
_SETTLE_S = 60.0
_POLL_S = 0.02


class Look:
    """What a running service shows of the folder once everything is done."""

    def __init__(self, client: httpx2.AsyncClient, status: Json, documents: list[Json]) -> None:
        self.client = client
        self.status = status
        self.documents = documents

    @property
    def counts(self) -> Json:
        counts: Json = self.status["counts"]
        return counts

    @property
    def paths(self) -> set[str]:
        """Source paths of all documents."""
        return {item["sourcePath"] for item in self.documents}

    @property
    def skipped(self) -> dict[str, str]:
        """Outcomes of the files that gave no document, by path."""
        return {item["path"]: item["outcome"] for item in self.status["skipped"]}

    def reason(self, path: str) -> str:
        (file,) = [item for item in self.status["skipped"] if item["path"] == path]
        return str(file["reason"])

    def document(self, path: str) -> Json:
        """The one document from this place."""
        (found,) = [item for item in self.documents if item["sourcePath"] == path]
        return found

    async def finds(self, words: str) -> set[str]:
        """Ids of the documents that hold these words."""
        answer = await self.client.post(f"{API}/search", json={"query": f'"{words}"', "mode": "lexical"})
        assert answer.status_code == 200, answer.text
        return {hit["documentId"] for hit in answer.json()["hits"]}

    async def embedded(self) -> float:
        """Passages that this process has embedded so far."""
        metrics = (await self.client.get("/metrics")).text
        (line,) = [line for line in metrics.splitlines() if line.startswith("embedding_chunks_total ")]
        return float(line.split()[1])


class Office:
    """A folder, and the settings of a service that scans it."""

    def __init__(self, base: Path, **settings: Any) -> None:
        self.root = base / "office"
        self.root.mkdir()
        self.settings: Json = {"data_dir": base / "data", "ingest_data_dir": self.root, **settings}

    def write(self, path: str, content: str | bytes = "", **entries: str) -> Path:
        """A file below the folder; with `entries`, a zip of these names and texts."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if entries:
            with zipfile.ZipFile(file, "w") as archive:
                for name, text in entries.items():
                    archive.writestr(f"{name}.txt", text)
        else:
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    @asynccontextmanager
    async def opened(self, **changes: Any) -> AsyncIterator[Look]:
        """The service, started and settled."""
        async with running_client(load_settings(**(self.settings | changes))) as client:
            yield await settled(client)

    async def look(self, **changes: Any) -> Look:
        """Start the service, let it settle and stop it: what it showed."""
        async with self.opened(**changes) as look:
            return look


async def settled(client: httpx2.AsyncClient) -> Look:
    """Wait until the scan has ended and no document or archive is under way."""
    async with asyncio.timeout(_SETTLE_S):
        while True:
            status: Json = (await client.get(f"{API}/ingest/scan-status")).json()
            archives = (await client.get(f"{API}/archives")).json()["items"]
            documents = await all_documents(client)
            if (
                status["state"] != "scanning"
                and all(item["completedAt"] for item in archives)
                and all(item["status"] in FINISHED and item["progress"] is None for item in documents)
            ):
                return Look(client, status, documents)
            await asyncio.sleep(_POLL_S)  # a condition is polled here: nothing rests on how long this takes


async def all_documents(client: httpx2.AsyncClient) -> list[Json]:
    found: list[Json] = []
    cursor: str | None = None
    while True:
        params = {"limit": "100"} | ({"cursor": cursor} if cursor else {})
        page = (await client.get(f"{API}/documents", params=params)).json()
        found += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            return found


async def until(client: httpx2.AsyncClient, wanted: Any, what: str) -> Look:
    """Wait until a settled look is as wanted."""
    try:
        async with asyncio.timeout(_SETTLE_S):
            while True:
                look = await settled(client)
                if wanted(look):
                    return look
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise AssertionError(f"never came: {what}") from None
