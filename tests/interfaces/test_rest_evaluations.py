"""Evaluations over HTTP: judge, run, compare, import and export."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from front_door import add, until
from rest_kit import API, app_of, assert_error

from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.interfaces import event_wire
from mcp_knowledge.services import Services

pytestmark = pytest.mark.both_databases

SETS = f"{API}/evaluations"
TEXTS = {
    "travel.md": "# Travel\n\nThe head of finance approves travel costs with form INV-0042.",
    "canteen.md": "# Canteen\n\nThe canteen opens at noon and closes at three.",
    "engine.md": "# Engine\n\nThe motor must cool down before maintenance starts.",
}
LEXICAL = {"mode": "lexical"}


async def fill(client: httpx2.AsyncClient) -> dict[str, str]:
    return {name: (await add(client, name, text.encode()))["id"] for name, text in TEXTS.items()}


async def make_set(client: httpx2.AsyncClient, name: str = "My questions") -> str:
    answer = await client.post(SETS, json={"name": name})
    assert answer.status_code == 201, answer.text
    set_id: str = answer.json()["id"]
    assert answer.headers["location"] == f"{SETS}/{set_id}"
    return f"{SETS}/{set_id}"


async def judge(client: httpx2.AsyncClient, address: str, query: str, **said: Any) -> Any:
    answer = await client.post(f"{address}/judgements", json={"query": query, **said})
    assert answer.status_code == 200, answer.text
    return answer.json()["case"]


async def import_lines(client: httpx2.AsyncClient, address: str, *lines: dict[str, Any] | str) -> httpx2.Response:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    headers = {"Content-Type": "application/x-ndjson"}
    return await client.post(f"{address}/import", content=text.encode(), headers=headers)


async def finished_runs(client: httpx2.AsyncClient, address: str, *settings: dict[str, Any]) -> list[dict[str, Any]]:
    answer = await client.post(f"{address}/runs", json={"settings": list(settings)} if settings else {})
    assert answer.status_code == 202, answer.text
    ids = [run["id"] for run in answer.json()["items"]]

    async def ended() -> bool:
        found = [(await client.get(f"{address}/runs/{run_id}")).json() for run_id in ids]
        return all(run["state"] not in ("queued", "running") for run in found)

    await until(ended)
    return [(await client.get(f"{address}/runs/{run_id}")).json() for run_id in ids]


async def test_a_set_is_made_shown_changed_and_deleted(client: httpx2.AsyncClient) -> None:
    address = await make_set(client, "  Questions of people ")
    made = (await client.get(address)).json()
    assert (made["name"], made["caseCount"], made["baselineRunId"]) == ("Questions of people", 0, None)
    assert_error(await client.post(SETS, json={"name": "QUESTIONS of people"}), 409, "EVALUATION_EXISTS")
    changed = (await client.patch(address, json={"description": "From the help desk"})).json()
    assert (changed["name"], changed["description"]) == (made["name"], "From the help desk")
    assert (await client.get(SETS)).json() == {"items": [changed], "nextCursor": None}
    assert (await client.delete(address)).json() == {"ok": True}
    for answer in (
        await client.get(address),
        await client.patch(address, json={}),
        await client.delete(address),
        await client.get(f"{address}/cases"),
        await client.get(f"{address}/runs"),
        await client.get(f"{address}/export"),
        await client.post(f"{address}/runs", json={}),
        await client.post(f"{address}/judgements", json={"query": "x", "noAnswer": True}),
        await import_lines(client, address, {"query": "x", "relevant": []}),
    ):
        assert_error(answer, 404, "EVALUATION_NOT_FOUND")


async def test_judgements_become_one_case_a_query(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    address = await make_set(client)
    await judge(client, address, "Who approves travel costs?", documentId=ids["travel.md"], verdict="right")
    case = await judge(client, address, " who approves travel costs? ", documentId=ids["engine.md"], verdict="wrong")
    assert (case["relevant"], case["wrong"], case["noAnswer"]) == ([ids["travel.md"]], [ids["engine.md"]], False)
    shown = await client.get(f"{address}/judgements", params={"query": "WHO APPROVES TRAVEL COSTS?"})
    assert shown.json()["case"] == case
    assert (await client.get(f"{address}/cases/{case['id']}")).json() == case
    assert (await judge(client, address, "who approves travel costs?", noAnswer=True))["relevant"] == []
    assert await judge(client, address, "never asked", documentId=ids["engine.md"]) is None
    assert (await client.get(f"{address}/cases")).json()["items"][0]["noAnswer"] is True
    assert (await client.delete(f"{address}/cases/{case['id']}")).json() == {"ok": True}
    assert_error(await client.get(f"{address}/cases/{case['id']}"), 404, "CASE_NOT_FOUND")
    assert_error(await client.delete(f"{address}/cases/{case['id']}"), 404, "CASE_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "x"}, 400, "INVALID_ARGUMENT"),
        ({"query": "x", "documentId": "doc_1", "verdict": "right", "noAnswer": True}, 400, "INVALID_ARGUMENT"),
        ({"query": "x", "documentId": "doc_1", "verdict": "perhaps"}, 400, "INVALID_ARGUMENT"),
        ({"query": "  ", "noAnswer": True}, 400, "INVALID_QUERY"),
        ({"query": "x" * 2001, "noAnswer": True}, 400, "INVALID_QUERY"),
        ({"query": "x", "documentId": "doc_none", "verdict": "right"}, 404, "DOCUMENT_NOT_FOUND"),
        ({"query": "x", "documentId": "doc_none", "verdict": "wrong"}, 404, "DOCUMENT_NOT_FOUND"),
    ],
)
async def test_a_judgement_that_makes_no_sense_is_refused(
    client: httpx2.AsyncClient, body: dict[str, Any], status: int, code: str
) -> None:
    address = await make_set(client)
    assert_error(await client.post(f"{address}/judgements", json=body), status, code)
    assert (await client.get(address)).json()["caseCount"] == 0


async def test_a_case_is_written_as_a_whole(client: httpx2.AsyncClient) -> None:
    address = await make_set(client)
    body = {"query": "Where is it?", "relevant": ["doc_a", "doc_b", "doc_a"], "kind": "place"}
    written = (await client.put(f"{address}/cases/q%201", json=body)).json()
    assert (written["id"], written["relevant"], written["kind"]) == ("q 1", ["doc_a", "doc_b"], "place")
    again = await client.put(f"{address}/cases/q%202", json={"query": "where is it?", "noAnswer": True})
    assert (again.json()["id"], again.json()["noAnswer"]) == ("q 2", True)
    await client.put(f"{address}/cases/other", json={"query": "something else", "noAnswer": True})
    taken = await client.put(f"{address}/cases/other", json={"query": "where is it?", "noAnswer": True})
    assert_error(taken, 409, "CASE_EXISTS")
    for refused in (
        {"query": "x", "relevant": ["doc_a"], "noAnswer": True},
        {"query": "x", "relevant": ["doc_a"], "wrong": ["doc_a"]},
        {"query": "x", "relevant": "doc_a"},
        {"relevant": ["doc_a"]},
    ):
        assert_error(await client.put(f"{address}/cases/new", json=refused), 400, "INVALID_ARGUMENT")
    assert_error(await client.put(f"{address}/cases/{'x' * 201}", json=body), 400, "INVALID_ARGUMENT", "caseId")
    assert (await client.get(address)).json()["caseCount"] == 2


async def test_cases_are_paged_in_the_order_in_which_they_came(client: httpx2.AsyncClient) -> None:
    address = await make_set(client)
    await import_lines(client, address, *({"id": f"q{n}", "query": f"query {n}", "relevant": []} for n in (5, 1, 4)))
    first = (await client.get(f"{address}/cases", params={"limit": 2})).json()
    rest = (await client.get(f"{address}/cases", params={"limit": 2, "cursor": first["nextCursor"]})).json()
    assert [case["id"] for case in first["items"] + rest["items"]] == ["q5", "q1", "q4"]
    assert rest["nextCursor"] is None
    other = await make_set(client, "Other")
    stolen = await client.get(f"{other}/cases", params={"limit": 2, "cursor": first["nextCursor"]})
    assert_error(stolen, 400, "INVALID_CURSOR")


async def test_documents_of_a_file_are_found_by_id_file_name_and_title(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    address = await make_set(client)
    answer = await import_lines(
        client,
        address,
        {"id": "1", "query": "who approves travel costs", "relevant": ["travel.md"], "kind": "question"},
        "",
        {"id": "2", "query": "when is lunch", "relevant": ["Canteen"], "wrong": [ids["engine.md"], "unknown.md"]},
        {"query": "what is the meaning of life", "relevant": []},
        {"id": "4", "query": "Who approves  travel costs", "relevant": ["Old handbook.pdf"]},
    )
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "added": 3,
        "changed": 0,
        "merged": 1,
        "missing": [
            {"query": "who approves travel costs", "name": "Old handbook.pdf"},
            {"query": "when is lunch", "name": "unknown.md"},
        ],
        "missingCount": 2,
    }
    cases = (await client.get(f"{address}/cases")).json()["items"]
    assert [(case["relevant"], case["wrong"], case["noAnswer"], case["unresolved"]) for case in cases] == [
        ([ids["travel.md"]], [], False, ["Old handbook.pdf"]),
        ([ids["canteen.md"]], [ids["engine.md"]], False, []),
        ([], [], True, []),
    ]
    exported = await client.get(f"{address}/export", params={"documents": "names"})
    assert exported.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert lines[0]["relevant"] == ["travel.md", "Old handbook.pdf"]
    assert (lines[1]["relevant"], lines[1]["wrong"]) == (["canteen.md"], ["engine.md"])
    assert (lines[2]["relevant"], lines[2]["noAnswer"]) == ([], True)


async def test_what_was_exported_can_be_imported_again(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    address = await make_set(client)
    await judge(client, address, 'the "engine"', documentId=ids["engine.md"], verdict="right")
    await judge(client, address, "only wrong so far", documentId=ids["engine.md"], verdict="wrong")
    await judge(client, address, "nothing at all", noAnswer=True)
    exported = (await client.get(f"{address}/export")).text
    copy = await make_set(client, "Copy")
    assert (await import_lines(client, copy, exported)).json()["added"] == 3
    assert (await client.get(f"{copy}/export")).text == exported
    assert (await import_lines(client, copy, exported)).json() == {
        "added": 0,
        "changed": 3,
        "merged": 0,
        "missing": [],
        "missingCount": 0,
    }


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "line 3: is no JSON object"),
        ("[1]", "line 3: is no JSON object"),
        ({"id": "9", "query": "x"}, "line 3: 'relevant'"),
        ({"id": "9", "query": "x", "relevant": [1]}, "line 3: 'relevant'"),
        ({"id": "9", "query": "", "relevant": []}, "line 3: 'query'"),
        ({"id": "9", "query": "x" * 2001, "relevant": []}, "line 3: 'query'"),
        ({"id": "9", "query": "a\0b", "relevant": []}, "line 3: 'query'"),
        ({"id": 9, "query": "x", "relevant": []}, "line 3: 'id'"),
        ({"id": "a/b", "query": "x", "relevant": []}, "line 3: 'id'"),
        ({"id": "1", "query": "x", "relevant": []}, "line 3: 'id' is that of line 1 too"),
        ({"id": "9", "query": "ONE", "relevant": ["doc_1"]}, "line 3: the query is that of line 1"),
        ({"id": "9", "query": "x", "relevant": ["a"], "noAnswer": True}, "line 3: 'noAnswer'"),
        ({"id": "9", "query": "x", "relevant": ["a"], "wrong": ["a"]}, "line 3: 'a' is both"),
    ],
)
async def test_a_faulty_line_is_named_and_nothing_is_written(
    client: httpx2.AsyncClient, line: dict[str, Any] | str, named: str
) -> None:
    address = await make_set(client)
    good = {"id": "1", "query": "one", "relevant": []}
    assert_error(await import_lines(client, address, good, "", line), 400, "INVALID_ARGUMENT", named)
    assert (await client.get(address)).json()["caseCount"] == 0


async def test_an_import_without_queries_or_with_too_many_is_refused(client: httpx2.AsyncClient) -> None:
    address = await make_set(client)
    assert_error(await import_lines(client, address, "\n\n"), 400, "INVALID_ARGUMENT", "no queries")
    many = [f'{{"query": "q{number}", "relevant": []}}' for number in range(10_001)]
    assert_error(await import_lines(client, address, *many), 400, "INVALID_ARGUMENT", "line 10001")
    assert (await import_lines(client, address, *many[:-1])).json()["added"] == 10_000
    more = await client.post(f"{address}/judgements", json={"query": "one more", "noAnswer": True})
    assert_error(more, 409, "EVALUATION_FULL")
    large = await client.post(f"{address}/import", content=b" " * (16 * 1024 * 1024 + 1))
    assert_error(large, 413, "PAYLOAD_TOO_LARGE")


async def test_a_run_measures_every_judged_query(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    address = await make_set(client)
    await judge(client, address, "INV-0042", documentId=ids["travel.md"], verdict="right")
    await judge(client, address, "canteen", documentId=ids["engine.md"], verdict="right")
    await judge(client, address, "canteen", documentId=ids["canteen.md"], verdict="wrong")
    await judge(client, address, "motor maintenance", noAnswer=True)
    await judge(client, address, "spaceship", noAnswer=True)
    await judge(client, address, "not measured", documentId=ids["engine.md"], verdict="wrong")
    (run,) = await finished_runs(client, address, LEXICAL)
    assert (run["state"], run["name"], run["done"], run["total"], run["error"]) == ("completed", "lexical", 4, 4, None)
    assert run["settings"] == {"mode": "lexical", "fusion": None, "collectionIds": [], "filters": {}}
    assert run["corpusVersion"].startswith("generation:")
    configuration = run["indexConfiguration"]
    status = (await client.get(f"{API}/system/status")).json()
    assert configuration.items() >= status["indexConfiguration"].items()
    assert (configuration["documents"], configuration["staleDocuments"], configuration["rrfK"]) == (3, 0, 60)
    metrics = run["metrics"]
    assert {name: metrics[name] for name in ("queries", "answerable", "noAnswerQueries")} == {
        "queries": 4,
        "answerable": 2,
        "noAnswerQueries": 2,
    }
    assert metrics["recallAt5"] == metrics["recallAt10"] == metrics["mrrAt10"] == metrics["ndcgAt10"] == 0.5
    assert (metrics["falsePositives"], metrics["falsePositiveRate"]) == (1, 0.5)
    assert (metrics["wrongHits"], metrics["gone"]) == (1, 0)
    assert 0 < metrics["p50Ms"] <= metrics["p95Ms"]
    results = (await client.get(f"{address}/runs/{run['id']}/results")).json()["items"]
    assert [(item["query"], item["firstRelevantRank"], item["falsePositive"]) for item in results] == [
        ("INV-0042", 1, False),
        ("canteen", None, False),
        ("motor maintenance", None, True),
        ("spaceship", None, False),
    ]
    assert results[1]["relevant"] == [{"id": ids["engine.md"], "title": "Engine"}]
    assert results[1]["found"] == [{"id": ids["canteen.md"], "title": "Canteen"}]
    assert results[1]["firstWrongRank"] == 1
    first = (await client.get(f"{address}/runs/{run['id']}/results", params={"limit": 3})).json()
    page = {"limit": 3, "cursor": first["nextCursor"]}
    rest = (await client.get(f"{address}/runs/{run['id']}/results", params=page)).json()
    assert first["items"] + rest["items"] == results


async def test_runs_in_several_ways_narrow_the_search_as_they_say(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    address = await make_set(client)
    await judge(client, address, "INV-0042", documentId=ids["travel.md"], verdict="right")
    ways: list[dict[str, Any]] = [
        {"mode": "hybrid", "fusion": "relative"},
        {"mode": "vector"},
        {**LEXICAL, "filters": {"year": 2024}},
    ]
    runs = await finished_runs(client, address, *ways)
    assert [run["name"] for run in runs] == ["hybrid (relative)", "vector", "lexical"]
    assert [run["metrics"]["recallAt10"] for run in runs] == [1.0, 1.0, 0.0]
    (default,) = await finished_runs(client, address)
    assert (default["settings"]["mode"], default["settings"]["fusion"]) == ("hybrid", "rrf")
    listed = (await client.get(f"{address}/runs", params={"limit": 3})).json()
    assert [run["id"] for run in listed["items"]] == [default["id"], runs[2]["id"], runs[1]["id"]]
    for refused, code in (
        ({"settings": []}, "INVALID_ARGUMENT"),
        ({"settings": [LEXICAL] * 9}, "INVALID_ARGUMENT"),
        ({"settings": [{"filters": {"year": {"near": 1}}}]}, "INVALID_FILTER"),
        ({"settings": [{"mode": "psychic"}]}, "INVALID_ARGUMENT"),
    ):
        assert_error(await client.post(f"{address}/runs", json=refused), 400, code)
    empty = await make_set(client, "Empty")
    assert_error(await client.post(f"{empty}/runs", json={}), 409, "EVALUATION_EMPTY")


async def test_a_run_is_compared_with_the_baseline(client: httpx2.AsyncClient) -> None:
    ids = await fill(client)
    address = await make_set(client)
    await judge(client, address, "INV-0042", documentId=ids["travel.md"], verdict="right")
    await judge(client, address, "canteen", documentId=ids["canteen.md"], verdict="right")
    (before,) = await finished_runs(client, address, LEXICAL)
    assert_error(await client.get(f"{address}/runs/{before['id']}/comparison"), 404, "RUN_NOT_FOUND", "baseline")
    baseline = await client.patch(address, json={"baselineRunId": before["id"]})
    assert baseline.json()["baselineRunId"] == before["id"]
    await client.delete(f"{API}/documents/{ids['canteen.md']}")
    await judge(client, address, "motor maintenance", documentId=ids["engine.md"], verdict="right")
    (after,) = await finished_runs(client, address, LEXICAL)
    found = (await client.get(f"{address}/runs/{after['id']}/comparison")).json()
    assert (found["runId"], found["baselineRunId"]) == (after["id"], before["id"])
    assert found["counts"] == {"worse": 1, "better": 0, "only_now": 1, "only_then": 0, "same": 1}
    assert [item["outcome"] for item in found["items"]] == ["worse", "only_now", "same"]
    worse = found["items"][0]
    assert (worse["then"]["firstRelevantRank"], worse["now"]["firstRelevantRank"]) == (1, None)
    assert worse["now"]["relevant"] == [{"id": ids["canteen.md"], "title": None}]
    assert after["metrics"]["gone"] == 1
    assert found["changes"]["recall@10"] == pytest.approx(2 / 3 - 1, abs=1e-3)
    assert {"name": "documents", "then": 3, "now": 2} in found["differences"]
    only = (await client.get(f"{address}/runs/{after['id']}/comparison", params={"outcome": "same"})).json()
    assert [item["query"] for item in only["items"]] == ["INV-0042"]
    page = (await client.get(f"{address}/runs/{after['id']}/comparison", params={"limit": 2})).json()
    following = {"limit": 2, "cursor": page["nextCursor"]}
    rest = (await client.get(f"{address}/runs/{after['id']}/comparison", params=following)).json()
    assert page["items"] + rest["items"] == found["items"]
    foreign = await make_set(client, "Other")
    await judge(client, foreign, "x", noAnswer=True)
    (other,) = await finished_runs(client, foreign, LEXICAL)
    wrong = {"baseline": other["id"]}
    assert_error(await client.get(f"{address}/runs/{after['id']}/comparison", params=wrong), 404, "RUN_NOT_FOUND")
    assert_error(await client.get(f"{foreign}/runs/{after['id']}"), 404, "RUN_NOT_FOUND")
    assert_error(await client.patch(address, json={"baselineRunId": other["id"]}), 404, "RUN_NOT_FOUND")
    assert (await client.delete(f"{address}/runs/{before['id']}")).json() == {"ok": True}
    assert (await client.get(address)).json()["baselineRunId"] is None
    assert_error(await client.delete(f"{address}/runs/{before['id']}"), 404, "RUN_NOT_FOUND")


async def test_a_document_that_comes_after_its_judgement_is_found_by_the_next_run(client: httpx2.AsyncClient) -> None:
    address = await make_set(client)
    await import_lines(client, address, {"id": "1", "query": "canteen", "relevant": ["canteen.md"]})
    (before,) = await finished_runs(client, address, LEXICAL)
    assert (before["metrics"]["recallAt10"], before["metrics"]["gone"]) == (0.0, 1)
    ids = await fill(client)
    (after,) = await finished_runs(client, address, LEXICAL)
    assert (after["metrics"]["recallAt10"], after["metrics"]["gone"]) == (1.0, 0)
    case = (await client.get(f"{address}/cases/1")).json()
    assert (case["relevant"], case["unresolved"]) == ([ids["canteen.md"]], [])


async def test_the_progress_of_runs_is_told_as_events(client: httpx2.AsyncClient) -> None:
    address = await make_set(client)
    await judge(client, address, "anything", noAnswer=True)
    services: Services = app_of(client).state.services
    last_before = new_id("evt")
    (run,) = await finished_runs(client, address, LEXICAL)
    states: list[str] = []
    async with asyncio.timeout(20):
        async for batch in services.events.follow(last_before):
            assert {event.kind for event in batch} == {"evaluation"}
            data = [event_wire.event(event) for event in batch]
            assert {item["id"] for item in data} == {run["id"]}
            states.extend(item["state"] for item in data)
            if states[-1] == "completed":
                break
    assert states[0] == "queued" and states[-2:] == ["running", "completed"]


@pytest.mark.parametrize(
    "query", ["a\0b", "ﷺ" * 2000, "\u202eright to left", "' OR 1=1 --", '"unclosed AND (', "🙂" * 2000]
)
async def test_any_query_can_be_judged_and_run(client: httpx2.AsyncClient, query: str) -> None:
    address = await make_set(client, "<b>Odd</b> \u202e")
    case = await judge(client, address, query, noAnswer=True)
    assert (await judge(client, address, f" {query} ", noAnswer=True))["id"] == case["id"]
    (run,) = await finished_runs(
        client,
        address,
        {"mode": "hybrid"},
    )
    assert (run["state"], run["metrics"]["queries"], run["metrics"]["falsePositives"]) == ("completed", 1, 0)
    assert (await client.get(f"{address}/export")).status_code == 200
    half = await client.post(f"{address}/judgements", content=b'{"query": "\\ud800", "noAnswer": true}')
    assert half.status_code in (200, 400)
    odd = {"baseline": "a\0", "cursor": "x"}
    assert (await client.get(f"{address}/runs/{run['id']}/comparison", params=odd)).status_code in (400, 404)
