"""The project's own judged set: small documents in every format, real model, through the front door."""

import json
from pathlib import Path
from typing import Any

import pytest
from front_door import Server

from mcp_knowledge.domain.metrics import mean, recall, reciprocal_rank

HERE = Path(__file__).parent
FILES = sorted((HERE / "corpus").iterdir())
QUERIES: list[dict[str, Any]] = [json.loads(line) for line in (HERE / "queries.jsonl").read_text("utf-8").splitlines()]
ANSWERABLE = [query for query in QUERIES if query["relevant"]]
UNANSWERABLE = [query for query in QUERIES if not query["relevant"]]
FLOORED_MODES = ("hybrid", "lexical")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("regression")]


@pytest.fixture(scope="module")
def names(server: Server) -> dict[str, str]:
    """The file name of each document id, once the server holds the corpus."""
    uploads = [(file, server.upload(file.name, file.read_bytes())["id"]) for file in FILES]
    for file, document_id in uploads:
        document = server.wait_finished(document_id)
        assert document["status"] == "ready", (file.name, document["latestError"])
    return {document_id: file.name for file, document_id in uploads}


def search(server: Server, query: str, mode: str, **options: Any) -> list[dict[str, Any]]:
    answer = server.request("POST", "/api/v1/search", json={"query": query, "mode": mode, "limit": 10, **options})
    assert answer.status_code == 200, answer.text
    hits: list[dict[str, Any]] = answer.json()["hits"]
    return hits


def test_the_set_is_wide_enough() -> None:
    assert len(FILES) >= 15 and {file.suffix for file in FILES} == {
        ".csv", ".docx", ".html", ".json", ".md", ".pdf", ".txt"
    }  # fmt: skip
    assert len(QUERIES) >= 40 and len({query["id"] for query in QUERIES}) == len(QUERIES)
    kinds = {query["kind"] for query in QUERIES}
    assert kinds == {"semantic", "lexical", "identifier", "confusable", "noisy", "no-answer"}
    assert {name for query in QUERIES for name in query["relevant"]} <= {file.name for file in FILES}


@pytest.mark.parametrize("mode", FLOORED_MODES)
def test_every_answerable_query_finds_its_document_first(server: Server, names: dict[str, str], mode: str) -> None:
    wrong, judged = {}, []
    for query in ANSWERABLE:
        hits = search(server, query["query"], mode, collapse="document")
        found = [names[hit["documentId"]] for hit in hits]
        judged.append((found, query["relevant"]))
        if found[:1] != query["relevant"]:
            wrong[query["id"]] = (query["query"], found[:3])

    assert wrong == {}
    assert mean([recall(*pair, 5) for pair in judged]) == 1.0
    assert mean([recall(*pair, 10) for pair in judged]) == 1.0
    assert mean([reciprocal_rank(*pair, 10) for pair in judged]) == 1.0


@pytest.mark.parametrize("mode", FLOORED_MODES)
def test_the_passage_that_answers_is_among_the_first(server: Server, names: dict[str, str], mode: str) -> None:
    missing = {}
    for query in ANSWERABLE:
        hits = search(server, query["query"], mode)
        passages = [" ".join(hit["content"].split()) for hit in hits[:3]]
        if not any(query.get("snippet", "") in passage for passage in passages):
            missing[query["id"]] = (query["query"], query["snippet"], passages)
    assert missing == {}


def test_an_identifier_that_is_nowhere_finds_nothing_by_words(
    server: Server, names: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    false_positives = {}
    for query in UNANSWERABLE:
        for mode in FLOORED_MODES:
            hits = search(server, query["query"], mode)
            if hits:
                false_positives[query["query"], mode] = names[hits[0]["documentId"]]
    with capsys.disabled():
        print(f"\n{len(false_positives)} of {2 * len(UNANSWERABLE)} unanswerable searches found something:")
        for (text, mode), name in false_positives.items():
            print(f"  {mode:7} {text}: {name}")
    lone = [query["query"] for query in UNANSWERABLE if " " not in query["query"]]
    assert lone and not [text for text in lone if (text, "lexical") in false_positives]
