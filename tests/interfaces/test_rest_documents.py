import httpx2
import pytest
from front_door import add
from rest_kit import API, assert_error, upload

pytestmark = pytest.mark.both_databases

DOCUMENTS = f"{API}/documents"
FIELDS = {
    "id", "collectionId", "currentRevisionId", "revision", "title", "originalFilename", "mimeType", "extension",
    "sizeBytes", "sha256", "status", "metadata", "sourcePath", "sourceUrl", "chunkCount", "latestError", "progress",
    "createdAt", "updatedAt",
}  # fmt: skip


async def pages(client: httpx2.AsyncClient, address: str) -> list[list[str]]:
    found, cursor = [], ""
    while True:
        answer = await client.get(address + (f"&cursor={cursor}" if cursor else ""))
        assert answer.status_code == 200, answer.text
        found.append([item["id"] for item in answer.json()["items"]])
        cursor = answer.json()["nextCursor"]
        if cursor is None:
            return found


async def test_a_document_has_exactly_the_promised_fields(client: httpx2.AsyncClient) -> None:
    receipt = await upload(client, "Plan B.md", b"# Plan")
    document = (await client.get(f"{DOCUMENTS}/{receipt['id']}")).json()
    assert set(document) == FIELDS
    assert document["title"] == "Plan B"
    assert document["createdAt"].endswith("Z")


@pytest.mark.parametrize("path", ["", "/file", "/normalized", "/chunks", "/revisions"])
async def test_an_unknown_document_is_not_found_anywhere(client: httpx2.AsyncClient, path: str) -> None:
    assert_error(await client.get(f"{DOCUMENTS}/doc_none{path}"), 404, "DOCUMENT_NOT_FOUND")
    assert_error(await client.get(f"{DOCUMENTS}/doc%00none{path}"), 404, "NOT_FOUND")


async def test_a_list_is_paged_newest_first_without_gaps_or_repeats(client: httpx2.AsyncClient) -> None:
    ids = [(await upload(client, f"{n}.txt", f"text {n}".encode()))["id"] for n in range(7)]
    assert await pages(client, f"{DOCUMENTS}?limit=3") == [ids[6:3:-1], ids[3:0:-1], ids[:1]]


@pytest.mark.parametrize("limit", ["0", "-5", "1"])
async def test_too_small_a_limit_is_brought_to_one(client: httpx2.AsyncClient, limit: str) -> None:
    for n in range(2):
        await upload(client, f"{n}.txt", f"text {n}".encode())
    assert len((await client.get(f"{DOCUMENTS}?limit={limit}")).json()["items"]) == 1


async def test_too_large_a_limit_is_brought_to_the_most(client: httpx2.AsyncClient) -> None:
    await upload(client, "1.txt", b"text")
    for limit in ("101", "9" * 30, "9" * 5000):
        answer = await client.get(f"{DOCUMENTS}?limit={limit}")
        assert answer.status_code == 200
        assert len(answer.json()["items"]) == 1


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("limit=1.5", "limit"),
        ("limit=1_0", "limit"),
        ("limit=٣", "limit"),
        ("status=gone", "status"),
        ("status=", "status"),
        ("sort=size", "sort"),
        ("sort=--title", "sort"),
        ("colectionId=col_1", "colectionId"),
        ("limit=1&limit=2", "limit"),
        ("collectionId=", "collectionId"),
        ("search=" + "x" * 201, "search"),
        ("search=%00", "search"),
    ],
)
async def test_a_wrong_query_argument_is_named(client: httpx2.AsyncClient, query: str, named: str) -> None:
    assert_error(await client.get(f"{DOCUMENTS}?{query}"), 400, "INVALID_ARGUMENT", named)


async def test_a_query_string_of_nonsense_is_refused_or_empty(client: httpx2.AsyncClient) -> None:
    for query in (
        "%ff%fe",
        "&&&",
        "=",
        "a" * 5000,
        "&".join(f"a{n}=1" for n in range(1000)),
        "search=%ff",
        "%ED%A0%80=1",
    ):
        answer = await client.get(f"{DOCUMENTS}?{query}")
        assert answer.status_code in (200, 400), query


async def test_a_list_can_be_sorted_both_ways(client: httpx2.AsyncClient) -> None:
    names = ["beta.txt", "Alpha.txt", "gamma.txt", "ALPHA2.txt"]
    # Each is ready before the next comes: indexing changes `updatedAt`, and with it the order.
    ids = {name: (await add(client, name, name.encode() * (n + 1)))["id"] for n, name in enumerate(names)}
    by_title = [ids[name] for name in ("Alpha.txt", "ALPHA2.txt", "beta.txt", "gamma.txt")]
    by_size = [ids[name] for name in sorted(names, key=lambda name: len(name) * (names.index(name) + 1))]
    for query, expected in (
        ("sort=title", by_title),
        ("sort=-title", by_title[::-1]),
        ("sort=sizeBytes", by_size),
        ("sort=-sizeBytes", by_size[::-1]),
        ("sort=createdAt", list(ids.values())),
        ("sort=-updatedAt", list(ids.values())[::-1]),
    ):
        for limit in (1, 3):
            found = await pages(client, f"{DOCUMENTS}?limit={limit}&{query}")
            assert [item for page in found for item in page] == expected, query


async def test_a_list_can_be_searched_by_part_of_title_or_file_name(client: httpx2.AsyncClient) -> None:
    plan = await upload(client, "Straßenplan.txt", b"streets")
    note = await upload(client, "100% note_1.txt", b"note")
    await client.patch(f"{DOCUMENTS}/{note['id']}", json={"title": "Über alles"})

    async def found(text: str) -> set[str]:
        answer = await client.get(DOCUMENTS, params={"search": text})
        return {item["id"] for item in answer.json()["items"]}

    assert await found("STRASSENPLAN") == {plan["id"]}
    assert await found("über") == {note["id"]}
    assert await found("100%") == {note["id"]}
    assert await found("%") == {note["id"]}
    assert await found("_") == {note["id"]}
    assert await found("nothing like it") == set()
    assert await found("") == {plan["id"], note["id"]}


async def test_a_list_can_be_narrowed_to_a_collection_and_a_status(client: httpx2.AsyncClient) -> None:
    collection = (await client.post(f"{API}/collections", json={"name": "Inside"})).json()["id"]
    inside = await upload(client, "in.txt", b"in", collectionId=collection)
    outside = await upload(client, "out.txt", b"out")
    items = (await client.get(f"{DOCUMENTS}?collectionId={collection}")).json()["items"]
    assert [item["id"] for item in items] == [inside["id"]]
    assert (await client.get(f"{DOCUMENTS}?collectionId=col_none")).json()["items"] == []
    await client.delete(f"{DOCUMENTS}/{outside['id']}")
    assert [item["id"] for item in (await client.get(DOCUMENTS)).json()["items"]] == [inside["id"]]
    assert (await client.get(f"{DOCUMENTS}?status=failed")).json()["items"] == []


async def test_a_cursor_serves_its_own_list_and_query_alone(client: httpx2.AsyncClient) -> None:
    for n in range(3):
        await upload(client, f"{n}.txt", f"text {n}".encode())
        await client.post(f"{API}/collections", json={"name": f"c{n}"})
    cursor = (await client.get(f"{DOCUMENTS}?limit=1")).json()["nextCursor"]
    assert (await client.get(f"{DOCUMENTS}?limit=2&cursor={cursor}")).status_code == 200
    changed = ("B" if cursor[10] == "A" else "A").join((cursor[:10], cursor[11:]))
    for address in (
        f"{DOCUMENTS}?limit=1&sort=title&cursor={cursor}",
        f"{DOCUMENTS}?limit=1&search=text&cursor={cursor}",
        f"{API}/collections?cursor={cursor}",
        f"{API}/jobs?cursor={cursor}",
        f"{DOCUMENTS}?cursor={changed}",
        f"{DOCUMENTS}?cursor={cursor[:-2]}",
        f"{DOCUMENTS}?cursor=",
        f"{DOCUMENTS}?cursor=eyJhIjoxfQ",
        f"{DOCUMENTS}?cursor=%00%ff",
        f"{DOCUMENTS}?cursor={'A' * 30_000}",
    ):
        assert_error(await client.get(address), 400, "INVALID_CURSOR")


async def test_a_change_leaves_out_what_it_does_not_name(client: httpx2.AsyncClient) -> None:
    collection = (await client.post(f"{API}/collections", json={"name": "Home"})).json()["id"]
    receipt = await upload(client, "a.txt", b"text", metadata='{"a": 1}', collectionId=collection)
    address = f"{DOCUMENTS}/{receipt['id']}"
    changed = (await client.patch(address, json={"title": "  A new title "})).json()
    assert changed["title"] == "A new title"
    assert changed["collectionId"] == collection
    assert changed["metadata"]["a"] == 1
    changed = (await client.patch(address, json={"metadata": {"b": [1, {"c": None}]}})).json()
    assert changed["metadata"] == {"b": [1, {"c": None}]}
    changed = (await client.patch(address, json={"collectionId": None})).json()
    assert changed["collectionId"] is None
    assert changed["title"] == "A new title"
    assert (await client.patch(address, json={})).json()["title"] == "A new title"
    assert (await client.get(address)).json()["metadata"] == {"b": [1, {"c": None}]}


@pytest.mark.parametrize(
    ("change", "status", "code", "named"),
    [
        ({"title": None}, 400, "INVALID_ARGUMENT", "title"),
        ({"title": " "}, 400, "INVALID_ARGUMENT", "title"),
        ({"title": "x" * 501}, 400, "INVALID_ARGUMENT", "title"),
        ({"title": "two\nlines"}, 400, "INVALID_ARGUMENT", "title"),
        ({"title": 5}, 400, "INVALID_ARGUMENT", "title"),
        ({"collectionId": 5}, 400, "INVALID_ARGUMENT", "collectionId"),
        ({"collectionId": ""}, 400, "INVALID_ARGUMENT", "collectionId"),
        ({"collectionId": "col_none"}, 404, "COLLECTION_NOT_FOUND", ""),
        ({"metadata": []}, 400, "INVALID_METADATA", ""),
        ({"metadata": None}, 400, "INVALID_METADATA", ""),
        ({"metadata": {"a": "\0"}}, 400, "INVALID_METADATA", ""),
        ({"metadata": {"a": 2**63}}, 400, "INVALID_METADATA", ""),
        ({"metadata": {"a": "x" * 70_000}}, 400, "INVALID_METADATA", ""),
        ({"titel": "typo"}, 400, "INVALID_ARGUMENT", "titel"),
        ({"title": "Valid", "sizeBytes": 1}, 400, "INVALID_ARGUMENT", "sizeBytes"),
    ],
)
async def test_a_wrong_change_is_refused_whole(
    client: httpx2.AsyncClient, change: dict[str, object], status: int, code: str, named: str
) -> None:
    receipt = await upload(client, "a.txt", b"text")
    before = (await client.get(f"{DOCUMENTS}/{receipt['id']}")).json()
    assert_error(await client.patch(f"{DOCUMENTS}/{receipt['id']}", json=change), status, code, named)
    after = (await client.get(f"{DOCUMENTS}/{receipt['id']}")).json()
    assert [before[name] for name in ("title", "collectionId", "metadata")] == [
        after[name] for name in ("title", "collectionId", "metadata")
    ]


async def test_a_deleted_document_is_gone_at_once(client: httpx2.AsyncClient) -> None:
    receipt = await upload(client, "a.txt", b"text")
    address = f"{DOCUMENTS}/{receipt['id']}"
    answer = await client.delete(address)
    assert answer.status_code == 200
    assert answer.json() == {"ok": True}
    assert_error(await client.get(address), 404, "DOCUMENT_NOT_FOUND")
    assert_error(await client.delete(address), 404, "DOCUMENT_NOT_FOUND")
    assert_error(await client.patch(address, json={"title": "x"}), 404, "DOCUMENT_NOT_FOUND")
    assert_error(await client.post(f"{address}/reindex"), 404, "DOCUMENT_NOT_FOUND")
    assert (await client.get(DOCUMENTS)).json()["items"] == []


async def test_a_purge_needs_its_confirmation_and_spares_collections(client: httpx2.AsyncClient) -> None:
    collection = (await client.post(f"{API}/collections", json={"name": "Stays"})).json()["id"]
    await upload(client, "a.txt", b"text", collectionId=collection)
    for body in ({}, {"confirm": True}, {"confirm": "Purge"}, {"confirm": "purge", "x": 1}):
        assert_error(await client.post(f"{DOCUMENTS}/purge", json=body), 400, "INVALID_REQUEST")
    assert_error(await client.post(f"{DOCUMENTS}/purge"), 400, "INVALID_JSON")
    assert len((await client.get(DOCUMENTS)).json()["items"]) == 1
    assert (await client.post(f"{DOCUMENTS}/purge", json={"confirm": "purge"})).json() == {"ok": True}
    assert (await client.get(DOCUMENTS)).json()["items"] == []
    assert (await client.get(f"{API}/jobs")).json()["items"] == []
    assert (await client.get(f"{API}/collections")).json()["items"][0]["documentCount"] == 0


async def test_the_catalog_gives_the_chosen_fields_and_notices_that_nothing_changed(client: httpx2.AsyncClient) -> None:
    catalog = f"{API}/document-catalog"
    ids = [(await upload(client, f"{n}.txt", f"text {n}".encode()))["id"] for n in range(3)]
    await client.delete(f"{DOCUMENTS}/{ids[0]}")
    answer = (await client.get(f"{catalog}?status=deleted&fields=id,status")).json()
    assert answer["items"] == [{"id": ids[0], "status": "deleted"}]
    assert "nextCursor" not in answer
    same = await client.get(f"{catalog}?ifCorpusVersion={answer['corpusVersion']}")
    if same.json().get("unchanged"):  # unless the worker made a document ready in between
        assert set(same.json()) == {"corpusVersion", "unchanged"}
    for query, code in (
        ("limit=0", "INVALID_ARGUMENT"),
        ("limit=101", "INVALID_ARGUMENT"),
        ("limit=x", "INVALID_ARGUMENT"),
        ("status=gone", "INVALID_ARGUMENT"),
        ("fields=id,body", "INVALID_PROJECTION"),
        ("fields=", "INVALID_PROJECTION"),
        ("filters={", "INVALID_FILTER"),
        ("filters=[1]", "INVALID_FILTER"),
        ("ifCorpusVersion=7", "INVALID_CORPUS_VERSION"),
        ("cursor=AAAA", "INVALID_CURSOR"),
        ("what=1", "INVALID_ARGUMENT"),
    ):
        assert_error(await client.get(f"{catalog}?{query}"), 400, code)
