from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from front_door import add, running_client
from rest_kit import API

from mcp_knowledge.settings import load_settings

OTTERS = "Otters sleep on the bank of the river and hunt for fish at night."


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with running_client(load_settings(data_dir=tmp_path)) as connected:
        yield connected


async def passages(client: httpx2.AsyncClient, document_id: str) -> list[str]:
    chunks = (await client.get(f"{API}/documents/{document_id}/chunks")).json()["items"]
    return [item["id"] for item in chunks]


async def test_a_passage_finds_those_of_other_documents_that_mean_nearly_the_same(client: httpx2.AsyncClient) -> None:
    sections = "\n\n".join(f"# Part {number}\n\n{OTTERS} {OTTERS} {OTTERS} {OTTERS} {number}" for number in range(60))
    own = await add(client, "otters.md", sections.encode())
    near = await add(client, "fish.txt", b"At night otters go fishing in the river; by day they sleep on its banks.")
    far = await add(client, "tax.txt", b"The value added tax is declared every quarter with the form of the office.")
    first = (await passages(client, own["id"]))[0]
    answer = (await client.get(f"{API}/chunks/{first}/similar", params={"limit": "2"})).json()
    assert [item["chunk"]["documentId"] for item in answer["items"]] == [near["id"], far["id"]]
    assert [item["title"] for item in answer["items"]] == [near["title"], far["title"]]
    nearest, farther = (item["score"] for item in answer["items"])
    assert 1 >= nearest > 0.6 > farther
    alone = await client.get(f"{API}/chunks/{first}/similar", params={"limit": "0"})
    assert len(alone.json()["items"]) == 1  # as in searches, the limit is brought into its range


async def test_what_has_no_neighbours_and_what_is_not_there(client: httpx2.AsyncClient) -> None:
    own = await add(client, "otters.md", OTTERS.encode())
    (only,) = await passages(client, own["id"])
    assert (await client.get(f"{API}/chunks/{only}/similar")).json() == {"items": []}
    missing = await client.get(f"{API}/chunks/chk_none/similar")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "CHUNK_NOT_FOUND")
    wrong = await client.get(f"{API}/chunks/{only}/similar", params={"limit": "many"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
