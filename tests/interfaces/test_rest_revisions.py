"""Documents that change: what a reader sees meanwhile, and how little of them is embedded again."""

import asyncio
import re
from typing import Any

import httpx2
import pytest
from front_door import add, wait_finished
from rest_kit import API, assert_error

from mcp_knowledge.adapters.minilm import MiniLmEmbedder

pytestmark = pytest.mark.both_databases

DOCUMENTS = f"{API}/documents"
SECTIONS = 8


def handbook(changed: dict[int, str] | None = None, title: str = "Handbook") -> bytes:
    """A Markdown text of sections, each of one chunk; `changed` has other words for some of them."""
    parts = [f"# {title}"]
    for number in range(SECTIONS):
        words = (changed or {}).get(number) or f"Rule {number} of the house concerns the keys of room {number}. " * 8
        parts.append(f"## Section {number}\n\n{words}")
    return "\n\n".join(parts).encode()


async def embedded_passages(client: httpx2.AsyncClient) -> int:
    """Passages that the model has read since the process started."""
    found = re.search(r"^embedding_chunks_total (\S+)$", (await client.get("/metrics")).text, re.MULTILINE)
    assert found
    return int(float(found[1]))


async def revise(client: httpx2.AsyncClient, document_id: str, name: str, content: bytes) -> dict[str, Any]:
    """Send a new revision and wait until it is ready or has failed; the document."""
    answer = await client.post(f"{DOCUMENTS}/{document_id}/revisions", files={"file": (name, content)})
    assert answer.status_code == 202, answer.text
    return await wait_finished(client, document_id)


async def reindex(client: httpx2.AsyncClient, document_id: str) -> dict[str, Any]:
    """Index a document again; the document."""
    assert (await client.post(f"{DOCUMENTS}/{document_id}/reindex")).status_code == 202
    return await wait_finished(client, document_id)


async def titles_found(client: httpx2.AsyncClient, query: str) -> list[str]:
    answer = await client.post(f"{API}/search", json={"query": query, "mode": "lexical"})
    return [hit["title"] for hit in answer.json()["hits"]]


async def test_only_the_passages_that_changed_are_embedded_again(client: httpx2.AsyncClient) -> None:
    start = await embedded_passages(client)
    document = await add(client, "handbook.md", handbook())
    chunks = document["chunkCount"]
    assert chunks >= SECTIONS
    assert await embedded_passages(client) == start + chunks

    changed = await revise(client, document["id"], "handbook.md", handbook({4: "The ferry leaves at noon. " * 8}))
    assert (changed["revision"], changed["latestError"]) == (2, None)
    assert await embedded_passages(client) == start + chunks + 1
    assert await titles_found(client, "ferry") == ["Handbook"]

    again = await reindex(client, document["id"])
    assert (again["revision"], again["chunkCount"]) == (2, changed["chunkCount"])
    assert await embedded_passages(client) == start + chunks + 1


async def test_a_new_title_or_file_name_embeds_nothing_again(client: httpx2.AsyncClient) -> None:
    document = await add(client, "handbook.md", handbook())
    start = await embedded_passages(client)

    await client.patch(f"{DOCUMENTS}/{document['id']}", json={"title": "Blue binder"})
    assert await titles_found(client, "binder") == ["Blue binder"] * 8
    assert (await reindex(client, document["id"]))["title"] == "Blue binder"
    assert await embedded_passages(client) == start

    renamed = await revise(client, document["id"], "rules of the house.md", handbook())
    assert (renamed["revision"], renamed["originalFilename"]) == (2, "rules of the house.md")
    assert await embedded_passages(client) == start

    retitled = await revise(client, document["id"], "handbook.md", handbook(title="Green binder"))
    assert retitled["title"] == "Blue binder"  # the user's own word stands
    assert await embedded_passages(client) == start + retitled["chunkCount"]  # the model reads the file's title


async def test_a_revision_that_fails_leaves_the_old_one_and_says_so_until_the_next_good_one(
    client: httpx2.AsyncClient,
) -> None:
    document = await add(client, "notes.txt", b"The lighthouse keeper writes every evening.")

    failed = await revise(client, document["id"], "notes.pdf", b"%PDF-1.4 and nothing that could be read")
    assert (failed["status"], failed["revision"], failed["originalFilename"]) == ("ready", 1, "notes.txt")
    assert failed["latestError"] == "DOCUMENT_MALFORMED: This file could not be read."
    assert await titles_found(client, "lighthouse") == ["notes"]
    revisions = (await client.get(f"{DOCUMENTS}/{document['id']}/revisions")).json()["items"]
    assert [(item["revision"], item["current"]) for item in revisions] == [(2, False), (1, True)]

    again = await reindex(client, document["id"])
    assert again["latestError"] == failed["latestError"]
    assert await titles_found(client, "lighthouse") == ["notes"]

    good = await revise(client, document["id"], "notes.txt", b"The harbour master writes every morning.")
    assert (good["status"], good["revision"], good["latestError"]) == ("ready", 3, None)
    assert await titles_found(client, "lighthouse") == []
    assert await titles_found(client, "harbour") == ["notes"]


async def test_a_document_at_work_is_busy_can_be_replaced_and_can_be_deleted(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = hold_the_model(monkeypatch)
    first = (await client.post(DOCUMENTS, files={"file": ("a.txt", b"a text that waits")})).json()["id"]
    second = (await client.post(DOCUMENTS, files={"file": ("b.txt", b"another that waits")})).json()["id"]
    await gate.reached()
    assert_error(await client.post(f"{DOCUMENTS}/{first}/reindex"), 409, "DOCUMENT_BUSY")

    newer = await client.post(f"{DOCUMENTS}/{first}/revisions", files={"file": ("a.txt", b"a newer text")})
    assert newer.status_code == 202
    assert (await client.delete(f"{DOCUMENTS}/{second}")).json() == {"ok": True}
    gate.open()

    document = await wait_finished(client, first)
    assert (document["status"], document["revision"]) == ("ready", 2)
    chunks = (await client.get(f"{DOCUMENTS}/{first}/chunks")).json()["items"]
    assert [item["content"] for item in chunks] == ["a newer text"]
    assert_error(await client.get(f"{DOCUMENTS}/{second}"), 404, "DOCUMENT_NOT_FOUND")
    assert await titles_found(client, "waits") == []


async def test_what_was_at_work_during_a_purge_writes_nothing_afterwards(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(client, "old.txt", b"a text that was ready before")
    gate = hold_the_model(monkeypatch)
    await client.post(DOCUMENTS, files={"file": ("a.txt", b"a text at the model")})
    await gate.reached()

    assert (await client.post(f"{DOCUMENTS}/purge", json={"confirm": "purge"})).status_code == 200
    gate.open()
    after = await add(client, "new.txt", b"a text that came afterwards")  # the works before it are over by then

    assert after["status"] == "ready"
    status = (await client.get(f"{API}/system/status")).json()
    assert (status["chunks"], status["documents"]["ready"]) == (1, 1)
    assert status["queue"] == {"queued": 0, "running": 0, "retrying": 0, "failed": 0}
    assert [job["filename"] for job in (await client.get(f"{API}/jobs")).json()["items"]] == ["new.txt"]
    assert await titles_found(client, "text") == ["new"]


class Gate:
    """Passages wait at it until it is opened."""

    def __init__(self) -> None:
        self._waiting, self._opened = asyncio.Event(), asyncio.Event()

    async def pass_through(self) -> None:
        self._waiting.set()
        await self._opened.wait()

    async def reached(self) -> None:
        """Return when passages have come to it."""
        async with asyncio.timeout(20):
            await self._waiting.wait()

    def open(self) -> None:
        self._opened.set()


def hold_the_model(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Make passages wait before the model reads them; searches are not held."""
    gate, embed = Gate(), MiniLmEmbedder.embed_passages

    async def held(self: MiniLmEmbedder, texts: list[str]) -> Any:
        await gate.pass_through()
        return await embed(self, texts)

    monkeypatch.setattr(MiniLmEmbedder, "embed_passages", held)
    return gate
