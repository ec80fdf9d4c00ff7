"""Requests of every operation on evaluations, good and bad, for the check that real answers are as documented."""

from typing import Any

import httpx2
from front_door import until
from rest_kit import API

Calls = dict[str, list[tuple[dict[str, str], dict[str, Any]]]]
SETS = f"{API}/evaluations"
LINES = b'{"id": "lunch", "query": "when is lunch", "relevant": ["guide.md"], "wrong": ["more.txt"]}'


async def evaluation_calls(client: httpx2.AsyncClient, document_id: str) -> Calls:
    """Operation id to requests (path parameters, request arguments). Makes a set with two completed runs."""
    known = {"set_id": (await client.post(SETS, json={"name": "Questions"})).json()["id"]}
    unknown, address = {"set_id": "evs_none"}, f"{SETS}/{known['set_id']}"
    right = {"query": "invoices", "documentId": document_id, "verdict": "right"}
    await client.post(f"{address}/judgements", json=right)
    run, other = [await completed_run(client, address) for _ in range(2)]
    of_run, no_run = {**known, "run_id": run}, {**known, "run_id": "run_none"}
    of_case, no_case = {**known, "case_id": "lunch"}, {**known, "case_id": "none"}
    return {
        "listEvaluations": [({}, {}), ({}, {"params": {"cursor": "x"}})],
        "createEvaluation": [({}, {"json": {"name": "More"}}), ({}, {"json": {"name": "MORE"}}), ({}, {"json": {}})],
        "getEvaluation": [(known, {}), (unknown, {})],
        "updateEvaluation": [(known, {"json": {"description": "x"}}), (known, {"json": {"baselineRunId": "run_none"}})],
        "importEvaluation": [(known, {"content": LINES}), (known, {"content": b"["}), (unknown, {"content": LINES})],
        "exportEvaluation": [(known, {}), (known, {"params": {"documents": "names"}}), (unknown, {})],
        "listEvaluationCases": [(known, {"params": {"limit": "1"}}), (unknown, {})],
        "getEvaluationCase": [(of_case, {}), (no_case, {})],
        "putEvaluationCase": [
            (of_case, {"json": {"query": "when is lunch", "noAnswer": True}}),
            (of_case, {"json": {"query": "invoices", "noAnswer": True}}),
            (of_case, {"json": {"query": "", "noAnswer": True}}),
            (of_case, {"json": {}}),
        ],
        "deleteEvaluationCase": [(of_case, {}), (no_case, {})],
        "getJudgements": [(known, {"params": {"query": "invoices"}}), (known, {"params": {"query": "x"}}), (known, {})],
        "judgeQuery": [(known, {"json": right}), (known, {"json": {"query": "x"}}), (unknown, {"json": right})],
        "startEvaluationRuns": [
            (known, {"json": {"settings": [{"mode": "lexical"}], "name": "Words"}}),
            (known, {"json": {"settings": [{"filters": {"year": {"near": 1}}}]}}),
            (unknown, {"json": {}}),
        ],
        "listEvaluationRuns": [(known, {"params": {"limit": "1"}}), (unknown, {})],
        "getEvaluationRun": [(of_run, {}), (no_run, {})],
        "listEvaluationResults": [(of_run, {}), (no_run, {})],
        "compareEvaluationRuns": [(of_run, {"params": {"baseline": other}}), (of_run, {}), (no_run, {})],
        "deleteEvaluationRun": [(of_run, {}), (no_run, {})],
        "deleteEvaluation": [(known, {}), (unknown, {})],
    }


async def completed_run(client: httpx2.AsyncClient, address: str) -> str:
    """The id of a run that is started and completed."""
    answer = await client.post(f"{address}/runs", json={"settings": [{"mode": "lexical"}]})
    assert answer.status_code == 202, answer.text
    run_id: str = answer.json()["items"][0]["id"]
    await until(lambda: _is_completed(client, f"{address}/runs/{run_id}"))
    return run_id


async def _is_completed(client: httpx2.AsyncClient, address: str) -> bool:
    return bool((await client.get(address)).json()["state"] == "completed")
