from typing import Any

import httpx2
import pytest
from rest_kit import API, assert_error, upload

pytestmark = pytest.mark.both_databases

COLLECTIONS = f"{API}/collections"


async def create(client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post(COLLECTIONS, json=fields)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"{COLLECTIONS}/{data['id']}"
    return data


async def test_a_collection_can_be_made_shown_changed_and_deleted(client: httpx2.AsyncClient) -> None:
    made = await create(client, name="  Contracts ", description="All of them")
    assert set(made) == {"id", "name", "description", "documentCount", "createdAt", "updatedAt"}
    assert made["name"] == "Contracts"
    assert made["documentCount"] == 0
    address = f"{COLLECTIONS}/{made['id']}"
    assert (await client.get(address)).json() == made
    changed = (await client.patch(address, json={"description": None})).json()
    assert changed["description"] is None
    assert changed["name"] == "Contracts"
    assert (await client.patch(address, json={"name": "contracts"})).json()["name"] == "contracts"
    assert (await client.delete(address)).status_code == 200
    for answer in (await client.get(address), await client.delete(address), await client.patch(address, json={})):
        assert_error(answer, 404, "COLLECTION_NOT_FOUND")


async def test_names_are_unique_whatever_their_case(client: httpx2.AsyncClient) -> None:
    await create(client, name="Straße")
    other = await create(client, name="Other")
    assert_error(await client.post(COLLECTIONS, json={"name": " STRASSE "}), 409, "COLLECTION_EXISTS")
    assert_error(await client.patch(f"{COLLECTIONS}/{other['id']}", json={"name": "straße"}), 409, "COLLECTION_EXISTS")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": None}, "name"),
        ({"name": ["a"]}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "a", "description": 5}, "description"),
        ({"name": "a", "description": "\0"}, "description"),
        ({"name": "a", "colour": "red"}, "colour"),
    ],
)
async def test_a_wrong_field_is_named(client: httpx2.AsyncClient, body: dict[str, Any], named: str) -> None:
    assert_error(await client.post(COLLECTIONS, json=body), 400, "INVALID_ARGUMENT", named)


async def test_a_name_may_have_200_characters_after_trimming(client: httpx2.AsyncClient) -> None:
    assert (await create(client, name=" " + "ü" * 200 + " "))["name"] == "ü" * 200


async def test_a_collection_with_documents_cannot_be_deleted(client: httpx2.AsyncClient) -> None:
    made = await create(client, name="Full")
    receipt = await upload(client, "a.txt", b"inside", collectionId=made["id"])
    assert (await client.get(f"{COLLECTIONS}/{made['id']}")).json()["documentCount"] == 1
    assert_error(await client.delete(f"{COLLECTIONS}/{made['id']}"), 409, "COLLECTION_NOT_EMPTY")
    await client.delete(f"{API}/documents/{receipt['id']}")
    assert (await client.delete(f"{COLLECTIONS}/{made['id']}")).json() == {"ok": True}


async def test_collections_are_paged_newest_first(client: httpx2.AsyncClient) -> None:
    ids = [(await create(client, name=f"c{n}"))["id"] for n in range(5)]
    found: list[str] = []
    cursor = None
    for _ in range(3):
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        answer = (await client.get(COLLECTIONS, params=query)).json()
        found += [item["id"] for item in answer["items"]]
        cursor = answer["nextCursor"]
    assert found == ids[::-1]
    assert cursor is None
