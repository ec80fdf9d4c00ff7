"""The documents that the MCP tests read, and how they get into a running application."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx2

from mcp_knowledge.app import create_app
from mcp_knowledge.services import Services
from mcp_knowledge.settings import load_settings

HANDBOOK = """\
# Handbook

How the office works.

## Invoices

Every invoice has a number. Invoice INV-0042 is paid by Ada Lovelace.

### Approval

Amounts above 500 euros need the signature of the treasurer.

## Travel

Trains are booked by the travellers themselves. Flights need a reason.
"""
LONG = "# Almanac\n\n" + "\n\n".join(
    f"## Day {day}\n\nOn day {day} the barometer stood at {900 + day} and the lighthouse keeper wrote {day * 3} lines."
    for day in range(1, 41)
)
NOTES = "Die Überfahrt nach Göteborg dauerte vierzehn Stunden. 船は遅れて到着した。\n"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Document and collection ids."""

    handbook: str
    almanac: str
    notes: str
    broken: str
    collection: str


@dataclass(frozen=True, slots=True)
class Running:
    """The real application in this process, with the corpus in it."""

    services: Services
    rest: httpx2.AsyncClient
    corpus: Corpus


class RealServer(Protocol):
    """What the tests here use of the `server` fixture: a server process of its own."""

    url: str
    data_dir: Path

    def add(self, name: str, content: bytes, **fields: str) -> dict[str, Any]: ...

    def request(self, method: str, path: str, **arguments: Any) -> httpx2.Response: ...


async def add(rest: httpx2.AsyncClient, name: str, content: bytes, **fields: str) -> str:
    """Upload a document and wait until it is ready or has failed; its id."""
    answer = await rest.post("/api/v1/documents", files={"file": (name, content)}, data=fields)
    assert answer.status_code == 202, answer.text
    document_id: str = answer.json()["id"]
    await finished(rest, document_id)
    return document_id


async def finished(rest: httpx2.AsyncClient, document_id: str) -> dict[str, Any]:
    """The document, once no job is at work on it."""
    async with asyncio.timeout(60):
        while True:
            document: dict[str, Any] = (await rest.get(f"/api/v1/documents/{document_id}")).json()
            if document["status"] in ("ready", "failed") and document["progress"] is None:
                return document
            await asyncio.sleep(0.02)  # a condition is polled here: nothing rests on how long this takes


async def fill(rest: httpx2.AsyncClient) -> Corpus:
    """Put the corpus in."""
    collection = (await rest.post("/api/v1/collections", json={"name": "Logbooks"})).json()["id"]
    metadata = json.dumps({"year": 2024, "author": "Ada"})
    return Corpus(
        handbook=await add(rest, "handbook.md", HANDBOOK.encode()),
        almanac=await add(rest, "almanac.md", LONG.encode(), collectionId=collection, metadata='{"year": 1871}'),
        notes=await add(rest, "notes.txt", NOTES.encode(), collectionId=collection, metadata=metadata),
        broken=await add(rest, "broken.pdf", b"%PDF-1.7 and nothing else"),
        collection=collection,
    )


@asynccontextmanager
async def running(data_dir: Path, **settings: Any) -> AsyncIterator[Running]:
    """Start the application on an empty folder and fill it."""
    app = create_app(load_settings(_env_file=None, data_dir=data_dir, **settings))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as rest:
            yield Running(app.state.services, rest, await fill(rest))
