from typing import Any

import httpx2
import pytest
from front_door import add
from rest_kit import API, assert_error

pytestmark = pytest.mark.both_databases

SEARCH = f"{API}/search"
TEXTS = {
    "invoice.md": "# Invoices\n\nInvoice INV-0042 was paid late by the customer in Lyon.",
    "holiday.md": "# Leave\n\nEmployees may take thirty days of annual leave.",
    "engine.md": "# Engine\n\nThe motor must cool down before maintenance starts.",
}


async def fill(client: httpx2.AsyncClient) -> dict[str, str]:
    return {
        name: (await add(client, name, text.encode(), metadata=f'{{"name": "{name}"}}'))["id"]
        for name, text in TEXTS.items()
    }


async def hits(client: httpx2.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    answer = await client.post(SEARCH, json=body)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["hits"]
    return found


async def test_each_mode_finds_the_passage_and_says_why(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    for mode in ("hybrid", "vector", "lexical"):
        first = (await hits(client, query="INV-0042", mode=mode))[0]
        assert first["documentId"] == ids["invoice.md"], mode
        ranking = first["ranking"]
        assert ranking["finalRank"] == 1
        assert ("vectorRank" in ranking) == (mode != "lexical") or mode == "hybrid"
        assert ("lexicalRank" in ranking) == (mode != "vector")
    hybrid = (await hits(client, query="INV-0042"))[0]
    parts = hybrid["ranking"]["contributions"]
    assert parts["vector"] + parts["lexical"] == hybrid["ranking"]["fusionScore"] == hybrid["score"]
    for mark in hybrid["highlights"]:
        assert hybrid["content"][mark["start"] : mark["end"]].casefold() in ("inv-0042", "inv", "0042")


async def test_filters_ids_and_limit_narrow_the_answer(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    (only,) = await hits(client, query="engine customer leave", filters={"name": "holiday.md"})
    assert only["documentId"] == ids["holiday.md"]
    (only,) = await hits(client, query="engine", documentIds=[ids["invoice.md"]], mode="vector")
    assert only["documentId"] == ids["invoice.md"]
    assert await hits(client, query="engine", collectionIds=["col_none"]) == []
    assert len(await hits(client, query="engine customer leave", mode="vector", limit=2)) == 2
    assert len(await hits(client, query="engine customer leave", mode="vector", limit=0)) == 1
    assert len(await hits(client, query="engine customer leave", mode="vector", limit=10_000)) == 3


async def test_an_explanation_has_both_sides_and_what_was_understood(client: httpx2.AsyncClient) -> None:
    await fill(client)
    body = {"query": "annual leave of the employees", "filters": {"name": {"neq": "engine.md"}}}
    explained = (await client.post(f"{SEARCH}/explain", json=body)).json()
    assert set(explained) == {
        "hits", "mode", "fusion", "vector", "lexical", "timings", "matchedTerms", "filters", "query",
    }  # fmt: skip
    assert [item["rank"] for item in explained["vector"]] == list(range(1, len(explained["vector"]) + 1))
    assert explained["filters"]["conditions"] == [{"field": "name", "operator": "neq", "value": "engine.md"}]
    plain = (await client.post(SEARCH, json=body)).json()
    assert set(plain) == {"hits"}
    assert plain["hits"] == explained["hits"]
    asked = (await client.post(SEARCH, json={**body, "explain": True})).json()
    assert set(asked) == set(explained)


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        ({}, "INVALID_QUERY", ""),
        ({"query": ""}, "INVALID_QUERY", ""),
        ({"query": "  \n "}, "INVALID_QUERY", ""),
        ({"query": "x" * 2001}, "INVALID_QUERY", ""),
        ({"query": 5}, "INVALID_QUERY", ""),
        ({"query": ["a"]}, "INVALID_QUERY", ""),
        ({"query": "a", "mode": "magic"}, "SEARCH_MODE_UNSUPPORTED", ""),
        ({"query": "a", "mode": 1}, "SEARCH_MODE_UNSUPPORTED", ""),
        ({"query": "a", "collapse": "chunk"}, "SEARCH_COLLAPSE_UNSUPPORTED", ""),
        ({"query": "a", "filters": []}, "INVALID_FILTER", ""),
        ({"query": "a", "filters": {"a": {"like": 1}}}, "INVALID_FILTER", "a"),
        ({"query": "a", "filters": {"bad field": 1}}, "INVALID_FILTER", "bad field"),
        ({"query": "a", "limit": "5"}, "INVALID_ARGUMENT", "limit"),
        ({"query": "a", "limit": 5.5}, "INVALID_ARGUMENT", "limit"),
        ({"query": "a", "limit": True}, "INVALID_ARGUMENT", "limit"),
        ({"query": "a", "collectionIds": "col_1"}, "INVALID_ARGUMENT", "collectionIds"),
        ({"query": "a", "documentIds": [1]}, "INVALID_ARGUMENT", "documentIds"),
        ({"query": "a", "fusion": "sum"}, "INVALID_ARGUMENT", "fusion"),
        ({"query": "a", "expand": "neighbors"}, "INVALID_ARGUMENT", "expand"),
        ({"query": "a", "expand": {"type": "neighbors", "before": 6}}, "INVALID_ARGUMENT", "before"),
        ({"query": "a", "expand": {"type": "page"}}, "INVALID_ARGUMENT", "expand"),
        ({"query": "a", "explain": "yes"}, "INVALID_ARGUMENT", "explain"),
        ({"query": "a", "filter": {}}, "INVALID_ARGUMENT", "filter"),
        ({"query": "a", "top_k": 5}, "INVALID_ARGUMENT", "top_k"),
    ],
)
async def test_a_wrong_argument_gets_its_code(
    client: httpx2.AsyncClient, body: dict[str, Any], code: str, named: str
) -> None:
    for address in (SEARCH, f"{SEARCH}/explain"):
        assert_error(await client.post(address, json=body), 400, code, named)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "***",
        "AND OR NOT",
        "NEAR(a b)",
        "a* b*",
        "(((",
        "\0",
        "🙂",
        "'; DROP TABLE documents; --",
        "x" * 2000,
        "-" * 2000,
    ],
)
async def test_any_query_string_is_safe(client: httpx2.AsyncClient, query: str) -> None:
    await add(client, "a.txt", b"some text")
    answer = await client.post(SEARCH, json={"query": query})
    assert answer.status_code == 200, answer.text


async def test_a_change_of_title_and_metadata_is_searchable_at_once(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    address = f"{API}/documents/{ids['engine.md']}"
    await client.patch(address, json={"title": "Zweitaktmotor", "metadata": {"plant": "north"}})
    (found,) = await hits(client, query="Zweitaktmotor", mode="lexical")
    assert found["documentId"] == ids["engine.md"]
    assert found["title"] == "Zweitaktmotor"
    (found,) = await hits(client, query="motor", filters={"plant": "north"}, mode="vector")
    assert found["documentId"] == ids["engine.md"]
    await client.delete(address)
    assert await hits(client, query="Zweitaktmotor", mode="lexical") == []
