"""Why is it not here? Asked of a small corpus, with so few candidates and hits that every stage has somebody."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from front_door import add, running_client
from rest_kit import API, assert_error

from mcp_knowledge.domain.absence import Absence, SideStanding, Standing
from mcp_knowledge.interfaces.absence_words import advice
from mcp_knowledge.settings import Settings

pytestmark = pytest.mark.both_databases
WHY_NOT = f"{API}/search/why-not"
CANDIDATES = 4
TOPICS = {
    "leave.md": ("Leave", ("annual leave of thirty days", "sick leave needs a note", "parental leave is paid")),
    "travel.md": (
        "Travel",
        ("trains before planes", "hotels up to a limit", "a note for every taxi", "paid days abroad"),
    ),
    "pumps.md": (
        "Pumps",
        ("the pump leaks oil", "a valve of steel", "the motor must cool down", "days between checks"),
    ),
    "INV-0042.txt": ("Invoice INV-0042", ("invoice INV-0042 was paid late", "invoice INV-0043 was not")),
}


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    few = {"vector_candidates": CANDIDATES, "lexical_candidates": CANDIDATES, "max_collapse_candidates": CANDIDATES}
    async with running_client(settings.model_copy(update=few)) as connected:
        yield connected


async def fill(client: httpx2.AsyncClient) -> dict[str, str]:
    ids = {}
    for name, (title, texts) in TOPICS.items():
        sections = "\n\n".join(f"## {text.title()}\n\n" + f"It is said here that {text}. " * 12 for text in texts)
        document = await add(client, name, f"# {title}\n\n{sections}".encode(), metadata=f'{{"name": "{name}"}}')
        assert document["status"] == "ready"
        ids[name] = document["id"]
    return ids


async def chunks(client: httpx2.AsyncClient, document_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"{API}/documents/{document_id}/chunks?limit=200")).json()["items"]
    return found


async def ask(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post(WHY_NOT, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_every_chunk_gets_the_verdict_that_the_search_itself_gives(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    everything = [(document, item["id"]) for document in ids.values() for item in await chunks(client, document)]
    seen = set()
    for search in (
        {"query": "how many days of paid leave", "limit": 3},
        {"query": "how many days of paid leave", "limit": 3, "fusion": "relative"},
        {"query": "a note for INV-0042", "limit": 2, "mode": "lexical"},
        {"query": "paid days", "limit": 2, "mode": "vector"},
        {"query": "annual, sick and parental leave", "limit": 2, "collapse": "document"},
        {"query": "steel", "limit": 4, "filters": {"name": {"neq": "leave.md"}}},
    ):
        explained = (await client.post(f"{API}/search/explain", json=search)).json()
        # With a limit that is no smaller than both pools together, the hits are the whole ranking.
        deep = {
            mode: [
                item["chunkId"]
                for item in (
                    await client.post(f"{API}/search/explain", json={**search, "limit": 50, "collapse": "none"})
                ).json()[mode]
            ]
            for mode in ("vector", "lexical")
        }
        places = {(hit["documentId"], hit["chunkId"]): hit["ranking"]["finalRank"] for hit in explained["hits"]}
        candidates = {
            (item["documentId"], item["chunkId"]): item["rank"]
            for side in ("vector", "lexical")
            for item in explained[side]
        }
        for document, chunk in everything:
            found = await ask(client, **search, chunkId=chunk)
            seen.add(found["outcome"])
            assert found["documentId"] == document
            assert (found["outcome"] == "here") == ((document, chunk) in places)
            assert found["sentence"] and (found["advice"] or found["outcome"] == "here")
            if found["outcome"] == "here":
                assert found["ranked"]["rank"] == places[document, chunk]
            elif found["outcome"] in ("below_limit", "collapsed"):
                assert (document, chunk) in candidates
            elif found["outcome"] == "no_candidate":
                assert (document, chunk) not in candidates
            for side in ("vector", "lexical"):
                standing = found[side]
                if standing and chunk in deep[side]:
                    assert standing["rank"] == deep[side].index(chunk) + 1, (search, side, found)
                    assert standing["considered"] == (standing["rank"] <= CANDIDATES)
                elif standing and found["outcome"] != "filtered":
                    assert standing["unfit"] == "no_match"
    assert seen == {"here", "below_limit", "no_candidate", "collapsed", "filtered"}


async def test_a_document_is_judged_by_its_best_passage(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    search = {"query": "how many days of paid leave", "limit": 1}
    for document in ids.values():
        best = [await ask(client, **search, chunkId=item["id"]) for item in await chunks(client, document)]
        found = await ask(client, **search, documentId=document)
        assert (found["outcome"] == "here") == any(item["outcome"] == "here" for item in best)
        for side in ("vector", "lexical"):
            ranks = [item[side]["rank"] for item in best if item[side]["rank"]]
            assert found[side]["rank"] == min(ranks, default=None)
        if found["deeper"]:
            wide = await client.post(f"{API}/search", json={**search, "limit": 50})
            order = [hit["documentId"] for hit in wide.json()["hits"]]
            assert found["deeper"]["rank"] >= found["limit"] and document in order


async def test_what_the_search_leaves_out_is_told_with_what_would_become_of_it_otherwise(
    client: httpx2.AsyncClient,
) -> None:
    ids = await fill(client)
    made = await client.post(f"{API}/collections", json={"name": "Manuals"})
    query = {"query": "the pump leaks oil", "documentId": ids["pumps.md"]}

    found = await ask(client, **query, collectionIds=[made.json()["id"]])
    assert found["outcome"] == "other_collection" and "in no collection" in found["sentence"]
    assert found["vector"] is None and found["otherwise"]["outcome"] == "here"

    found = await ask(
        client, **query, documentIds=[ids["leave.md"]], filters={"name": "leave.md", "year": {"gte": 2024}}
    )
    assert found["outcome"] == "other_document"
    found = found["otherwise"]
    assert found["outcome"] == "filtered"
    assert found["conditions"] == [
        {"field": "name", "operator": "eq", "value": "leave.md", "documentValues": ["pumps.md"], "holds": False},
        {"field": "year", "operator": "gte", "value": 2024, "documentValues": [], "holds": False},
    ]
    assert 'name must be "leave.md", but the document has "pumps.md"' in found["sentence"]
    assert "year must be 2024 or more, but the document has no such value" in found["sentence"]
    assert found["otherwise"]["outcome"] == "here" and found["otherwise"]["ranked"]["rank"] == 1


async def test_the_words_are_told_with_how_common_they_are(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    found = await ask(client, query="the zebra pump INV-0042", mode="lexical", documentId=ids["travel.md"])
    assert found["outcome"] == "no_candidate" and found["lexical"]["unfit"] == "no_match"
    assert found["vector"] is None
    words = {item["text"]: item for item in found["words"]}
    assert list(words) == ["the", "zebra", "pump", "INV-0042"]
    assert words["the"]["dropped"] and not words["pump"]["dropped"]
    assert words["zebra"]["chunks"] == 0 and words["pump"]["chunks"] > 0 and words["INV-0042"]["chunks"] > 0
    assert not any(item["present"] for name, item in words.items() if name != "the")
    assert "no word of the question stands in it" in found["sentence"]
    one = await ask(client, query="zebra valve lion", mode="lexical", documentId=ids["pumps.md"])
    assert "the nearest passage of it holds only “valve”, and at least 2 are needed" in one["sentence"]
    passage = await ask(client, query="zebra valve lion", mode="lexical", chunkId=one["lexical"]["chunkId"])
    assert "only “valve” stands in it" in passage["sentence"]
    common = await ask(client, query="a zebra", mode="lexical", documentId=ids["pumps.md"])
    assert "the nearest passage of it holds only “a”, and all are needed" in common["sentence"]
    aside = await ask(client, query="is a zebra a lion", mode="lexical", documentId=ids["pumps.md"])
    assert "no word of the question stands in it, common ones aside" in aside["sentence"]


def test_no_more_results_are_advised_than_can_be_asked_for() -> None:
    found = Absence("below_limit", "document", 2, ranked=Standing(73, 0.1, 50), lexical=SideStanding(50))
    assert [hint.kind for hint in advice(found, 100)] == ["more_results", "other_words"]
    assert [hint.text for hint in advice(found, 50)] == [
        "Use more of the words that stand in it: that usually brings it further up."
    ]
    assert "closer to what it says" in advice(replace(found, lexical=None), 50)[0].text


async def test_a_passage_behind_another_of_a_document_that_is_not_shown_is_told_of_both(
    client: httpx2.AsyncClient,
) -> None:
    ids = await fill(client)
    search = {"query": "oil leaks, and sick leave", "limit": 1, "collapse": "document", "mode": "vector"}
    candidates = (await client.post(f"{API}/search/explain", json=search)).json()["vector"]
    names = {document_id: name for name, document_id in ids.items()}
    assert [names[item["documentId"]] for item in candidates] == ["pumps.md", "leave.md", "leave.md", "pumps.md"]
    best, behind = [await ask(client, **search, chunkId=candidates[place]["chunkId"]) for place in (1, 2)]
    assert best["outcome"] == behind["outcome"] == "below_limit"
    assert best["sentence"] == "It is number 2 of what was found; you asked for 1."
    assert behind["sentence"] == "Its document, by a better passage, is number 2 of what was found; you asked for 1."
    assert behind["shownBy"] == candidates[1]["chunkId"]
    assert [any("every passage" in step for step in found["advice"]) for found in (best, behind)] == [False, True]


async def test_what_is_not_ready_failed_or_gone_is_told_as_that(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    broken = await add(client, "broken.pdf", b"%PDF-1.7 nothing follows")
    assert broken["status"] == "failed"
    query = {"query": "leave"}
    found = await ask(client, **query, documentId=broken["id"])
    assert found["outcome"] == "failed" and "could not be read" in found["sentence"]
    chunk = (await chunks(client, ids["leave.md"]))[0]["id"]
    await client.delete(f"{API}/documents/{ids['leave.md']}")
    assert (await ask(client, **query, documentId=ids["leave.md"]))["outcome"] == "deleted"
    assert (await ask(client, **query, chunkId=chunk))["outcome"] == "unknown"
    assert (await ask(client, **query, documentId="doc_none"))["outcome"] == "unknown"
    assert (await ask(client, **query, documentId="doc_\0none"))["outcome"] == "unknown"
    assert (await ask(client, **query, documentId=ids["pumps.md"], chunkId="chk_none"))["outcome"] == "unknown"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "leave"}, "INVALID_ARGUMENT"),
        ({"query": "leave", "documentId": 5}, "INVALID_ARGUMENT"),
        ({"query": "leave", "chunkId": "é"}, "INVALID_ARGUMENT"),
        ({"query": "leave", "documentId": "doc_1", "mood": 1}, "INVALID_ARGUMENT"),
        ({"query": "", "documentId": "doc_1"}, "INVALID_QUERY"),
        ({"query": "leave", "documentId": "doc_1", "filters": {"a": {}}}, "INVALID_FILTER"),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(
    client: httpx2.AsyncClient, body: dict[str, Any], code: str
) -> None:
    assert_error(await client.post(WHY_NOT, json=body), 400, code)
