import json
from typing import Any

import httpx2
import pytest
from front_door import add
from rest_kit import API, assert_error

from mcp_knowledge.ports.metadata import MetadataStore
from mcp_knowledge.services.metadata import Metadata

LEAVE = b"# Leave policy\n\nFive unused days may be carried over.\n"


async def listing(client: httpx2.AsyncClient, path: str, **query: str) -> dict[str, Any]:
    answer = await client.get(f"{API}/metadata-keys{path}", params=query)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()
    return data


@pytest.mark.both_databases
async def test_keys_and_values_are_offered_as_filters_take_them(client: httpx2.AsyncClient) -> None:
    collection = (await client.post(f"{API}/collections", json={"name": "Team"})).json()["id"]
    await add(client, "a.md", LEAVE, metadata=json.dumps({"year": 2024, "by": {"team": "audit"}}))
    await add(
        client, "b.md", LEAVE + b"b", metadata=json.dumps({"year": "2024", "draft": True}), collectionId=collection
    )

    keys = await listing(client, "", search="YEAR")
    assert keys == {"items": [{"key": "year", "documents": 2, "kinds": ["number", "string"]}], "more": False}
    assert {item["key"] for item in (await listing(client, ""))["items"]} >= {"year", "by.team", "draft"}
    assert (await listing(client, "", limit="1"))["more"] is True
    assert [item["key"] for item in (await listing(client, "", collectionId=collection, search="r"))["items"]] == [
        "draft",
        "year",
    ]
    values = await listing(client, "/year/values")
    assert values["items"] == [{"value": 2024, "documents": 1}, {"value": "2024", "documents": 1}]
    assert (await listing(client, "/by.team/values", search="AUD"))["items"] == [{"value": "audit", "documents": 1}]
    assert (await listing(client, "/year/values", limit="1"))["more"] is True
    for key in ("none", "x" * 300, "%00", "a%2Fb"):
        answer = await client.get(f"{API}/metadata-keys/{key}/values")
        assert answer.status_code == 404 or answer.json() == {"items": [], "more": False}, key


async def test_keys_follow_the_corpus(client: httpx2.AsyncClient) -> None:
    document = await add(client, "a.md", LEAVE, metadata='{"year": 2024}')
    assert (await listing(client, "", search="year"))["items"][0]["kinds"] == ["number"]
    await client.patch(f"{API}/documents/{document['id']}", json={"metadata": {"jahr": 2024}})
    assert [item["key"] for item in (await listing(client, "", search="a"))["items"]][:1] == ["jahr"]
    await client.delete(f"{API}/documents/{document['id']}")
    assert (await listing(client, ""))["items"] == []


async def test_strange_arguments_are_told(client: httpx2.AsyncClient) -> None:
    assert_error(await client.get(f"{API}/metadata-keys?limit=x"), 400, "INVALID_ARGUMENT", "limit")
    assert_error(await client.get(f"{API}/metadata-keys?prefix=x"), 400, "INVALID_ARGUMENT", "prefix")
    assert_error(await client.get(f"{API}/metadata-keys?search=" + "y" * 201), 400, "INVALID_ARGUMENT", "search")
    assert_error(await client.get(f"{API}/metadata-keys/year/values?search=%00"), 400, "INVALID_ARGUMENT", "search")


async def test_only_the_keys_of_the_last_collections_are_remembered() -> None:
    class Counting:
        def __init__(self) -> None:
            self.asked: list[str | None] = []

        async def keys(self, collection_id: str | None, limit: int) -> list[Any]:
            self.asked.append(collection_id)
            return []

        async def generation(self) -> int:
            return 7

    counting: Any = Counting()
    store: MetadataStore = counting
    metadata = Metadata(counting, store)
    for name in [None, "c0", None, *(f"c{number}" for number in range(20)), "c19", None]:
        await metadata.keys(collection_id=name)
    assert counting.asked == [None, "c0", *(f"c{number}" for number in range(1, 20)), None]
