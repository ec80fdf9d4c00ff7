"""The page of collections and its forms, without a browser."""

import re
from html import unescape
from typing import Any

import httpx2
import pytest
from front_door import add
from page_kit import FORM, HTML, text_of
from rest_kit import API


async def told(client: httpx2.AsyncClient, path: str, status: int = 200) -> str:
    answer = await client.get(path, headers=HTML)
    assert answer.status_code == status, answer.text
    return text_of(answer.text)


async def send(client: httpx2.AsyncClient, path: str, status: int = 303, **fields: str) -> httpx2.Response:
    answer = await client.post(path, data=fields, headers=FORM)
    assert answer.status_code == status, answer.text
    return answer


async def made(client: httpx2.AsyncClient, name: str, description: str = "") -> str:
    answer = await send(client, "/collections", name=name, description=description)
    return answer.headers["location"].partition("#")[2]


async def kept(client: httpx2.AsyncClient, collection_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"{API}/collections/{collection_id}")).json()
    return found


async def test_a_collection_is_made_described_filled_and_leads_to_its_documents(client: httpx2.AsyncClient) -> None:
    assert "No collections yet" in await told(client, "/collections")
    answer = await send(client, "/collections", name="  Contracts ", description="Signed.\r\nNewest first.")
    address, _, collection_id = answer.headers["location"].partition("#")
    assert "The collection is there." in await told(client, address)
    collection = await kept(client, collection_id)
    assert (collection["name"], collection["description"]) == ("Contracts", "Signed.\nNewest first.")
    assert "Contracts Signed. Newest first. empty" in await told(client, "/collections")

    document = await add(client, "nda.md", b"# NDA\n\nBoth sides keep quiet.\n", collectionId=collection_id)
    page = (await client.get("/collections", headers=HTML)).text
    assert "1 document" in text_of(page)
    link = re.search(r'href="(/\?collection=[^"]+)"', page)
    assert link is not None
    assert document["id"] in (await client.get(link[1], headers=HTML)).text


async def test_a_collection_is_renamed_in_place_and_stays_as_it_was_when_that_fails(client: httpx2.AsyncClient) -> None:
    first, second = await made(client, "Contracts", "Signed"), await made(client, "People")
    changed = await send(client, f"/collections/{first}", name="Agreements", description="")
    assert changed.headers["location"] == f"/collections?notice=collection-changed#{first}"
    assert ((await kept(client, first))["name"], (await kept(client, first))["description"]) == ("Agreements", None)

    taken = await send(client, f"/collections/{second}", 409, name="AGREEMENTS", description="of ours")
    assert "Another collection has this name." in text_of(taken.text)
    form = taken.text[taken.text.index(f'action="/collections/{second}"') :]
    assert 'value="AGREEMENTS"' in form and ">of ours</textarea>" in form  # nothing has to be typed again
    assert taken.text.count('<details class="change" open>') == 1
    assert (await kept(client, second))["name"] == "People"
    await send(client, "/collections/col_none", 404, name="Anything")


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({}, 400, "A collection needs a name."),
        ({"name": " \t "}, 400, "A collection needs a name."),
        ({"name": "n" * 201}, 400, "A name may have 200 characters."),
        ({"name": "n", "description": "d" * 2001}, 400, "A description may have 2,000 characters."),
        ({"name": "a\0b"}, 400, "There are characters in it that cannot be kept"),
        ({"name": "people"}, 409, "Another collection has this name."),
    ],
)
async def test_what_a_new_collection_cannot_be_is_said_at_the_form(
    client: httpx2.AsyncClient, fields: dict[str, str], status: int, reason: str
) -> None:
    await made(client, "People")
    answer = await send(client, "/collections", status, **fields)
    assert reason in text_of(answer.text)
    assert '<details class="make" open>' in answer.text
    assert [item["name"] for item in (await client.get(f"{API}/collections")).json()["items"]] == ["People"]


async def test_an_empty_collection_is_deleted_after_asking(client: httpx2.AsyncClient) -> None:
    collection_id = await made(client, "Contracts")
    assert "It is empty: no document is lost." in await told(client, f"/collections/{collection_id}/delete")
    answer = await send(client, f"/collections/{collection_id}/delete")
    assert "The collection was deleted." in await told(client, answer.headers["location"])
    await told(client, f"/collections/{collection_id}/delete", 404)
    await send(client, f"/collections/{collection_id}/delete", 404)


@pytest.mark.parametrize("to_another", [True, False])
async def test_the_documents_of_a_collection_stay_when_it_is_deleted(
    client: httpx2.AsyncClient, to_another: bool
) -> None:
    full, other = await made(client, "Full"), await made(client, "Other")
    document = await add(client, "nda.md", b"# NDA\n\nBoth sides keep quiet.\n", collectionId=full)
    asked = await client.get(f"/collections/{full}/delete", headers=HTML)
    assert "It holds 1 document , which stay." in text_of(asked.text)
    assert f'href="/?collection={full}"' in asked.text and f'<option value="{other}">' in asked.text
    assert f'<option value="{full}">' not in asked.text

    refused = await send(client, f"/collections/{full}/delete", 409)
    assert "Nothing was deleted: this collection still holds documents." in text_of(refused.text)
    await send(client, f"/collections/{full}/delete", 404, documents="move", target="col_none")
    assert (await kept(client, full))["documentCount"] == 1

    answer = await send(client, f"/collections/{full}/delete", documents="move", target=other if to_another else "")
    assert "The documents were moved and the collection was deleted." in await told(client, answer.headers["location"])
    found = (await client.get(f"{API}/documents/{document['id']}")).json()
    assert found["collectionId"] == (other if to_another else None)
    assert (await client.get(f"{API}/collections/{full}")).status_code == 404


async def test_many_collections_are_paged_and_a_change_leads_back_to_its_page(client: httpx2.AsyncClient) -> None:
    names = [f"Subject {number:02}" for number in range(55)]
    for name in names:
        await client.post(f"{API}/collections", json={"name": name})
    first = (await client.get("/collections", headers=HTML)).text
    following = re.search(r'href="(/collections\?after=[^"]+)">Next page', first)
    assert following is not None
    second = (await client.get(unescape(following[1]), headers=HTML)).text
    assert sorted(re.findall(r"<bdi>(.*?)</bdi>", first + second)) == names
    assert "Back to the start" in second and "Next page" not in second

    position = re.search(r'name="after" value="([^"]+)"', second)
    item = re.search(r'<li id="(col_\w+)"', second)
    assert position is not None and item is not None
    answer = await send(client, f"/collections/{item[1]}", name="Renamed", after=position[1])
    assert "Renamed" in await told(client, answer.headers["location"].partition("#")[0])
    for wrong in ("x", "doc_1~5", "col_1~x", "col_1~99999999999999999999"):
        assert "INVALID_CURSOR" in await told(client, f"/collections?after={wrong}", 400)
