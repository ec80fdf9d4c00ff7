"""A corpus with everything in it that can be moved, and what a client sees of a corpus."""

import json
from pathlib import Path
from typing import Any

import httpx2
from cli_kit import run
from front_door import Server, running_client, wait_until
from rest_kit import API
from zip_files import zip_of

from mcp_knowledge.settings import Settings

QUERIES = ("travel costs", "INV-0042", "who approves the lease", '"notice period"', "glyc*", "東京")
METADATA = {"year": 2024, "ratio": 0.1, "huge": 1e300, "exact": 9007199254740993, "tags": ["a", 1, True, None, "é"]}


def build_corpus(data_dir: Path) -> None:
    """Documents, a newer revision, a deleted document, a failed one, an archive, a folder, a collection, a key and
    a set of judged queries that was run.
    """
    folder = data_dir.parent / f"{data_dir.name}-folder"
    folder.mkdir()
    (folder / "lease.md").write_text("# Lease\n\nThe landlord approves the lease of hall 7.\n")
    (folder / "lease copy.md").write_text("# Lease\n\nThe landlord approves the lease of hall 7.\n")
    server = Server(data_dir, {"INGEST_DATA_DIR": str(folder)}).start()
    try:
        made = server.request("POST", f"{API}/collections", json={"name": "Verträge", "description": "all of them"})
        collection = {"collectionId": made.json()["id"], "metadata": json.dumps(METADATA)}
        policy = server.add("policy.md", b"# Travel policy\n\nTravel costs need form INV-0042.\n", **collection)
        text = "\n\n".join(f"## Part {part}\n\nNotice period of {part} days. 東京 office. " * 3 for part in range(40))
        server.add("notices.md", text.encode())
        server.add("broken.pdf", b"%PDF-1.4\nnothing here\n")
        newer = b"# Travel policy\n\nTravel costs need form INV-0043, INV-0042 is gone.\n"
        server.request("POST", f"{API}/documents/{policy['id']}/revisions", files={"file": ("policy.md", newer)})
        server.wait_finished(policy["id"])
        archive = zip_of(("letters/one.txt", b"Glycol is stored in the cellar."), ("letters/odd.bin", b"\0\1\2"))
        server.request("POST", f"{API}/documents", files={"file": ("letters.zip", archive)})
        wait_until(lambda: server.request("GET", f"{API}/archives").json()["items"][0]["state"].startswith("completed"))
        questions = server.request("POST", f"{API}/evaluations", json={"name": "Questions"}).json()
        address = f"{API}/evaluations/{questions['id']}"
        said = {"query": "Who pays? 東京", "documentId": policy["id"], "verdict": "right"}
        server.request("POST", f"{address}/judgements", json=said)
        started = server.request("POST", f"{address}/runs", json={}).json()["items"][0]
        wait_until(lambda: server.request("GET", f"{address}/runs/{started['id']}").json()["state"] == "completed")
        server.request("PATCH", address, json={"baselineRunId": started["id"]})
        gone = server.add("gone.txt", b"This document will be deleted.")
        server.request("DELETE", f"{API}/documents/{gone['id']}")
        wait_until(lambda: _settled(server), what="all jobs to end")
    finally:
        server.stop()
    assert run(data_dir, "keys", "create", "A program").returncode == 0


def _settled(server: Server) -> bool:
    status = server.request("GET", f"{API}/system/status").json()
    scan = server.request("GET", f"{API}/ingest/scan-status").json()
    waiting = any(status["queue"][name] for name in ("queued", "running", "retrying"))
    return not waiting and scan["state"] == "completed"


async def seen_by_a_client(settings: Settings) -> dict[str, Any]:
    """All that the service answers about its corpus."""
    async with running_client(settings) as client:
        seen: dict[str, Any] = {}
        for name in ("collections", "archives", "jobs", "api-keys", "ingest/scan-files", "document-catalog"):
            seen[name] = await _items(client, f"{API}/{name}")
        (questions,) = seen["evaluations"] = await _items(client, f"{API}/evaluations")
        for name in ("cases", "runs"):
            seen[f"evaluations/{name}"] = await _items(client, f"{API}/evaluations/{questions['id']}/{name}")
        baseline = f"{API}/evaluations/{questions['id']}/runs/{questions['baselineRunId']}"
        seen["evaluations/results"] = await _items(client, f"{baseline}/results")
        documents = await _items(client, f"{API}/documents")
        for document in documents:
            where = f"{API}/documents/{document['id']}"
            file, normalized = await client.get(f"{where}/file"), await client.get(f"{where}/normalized")
            seen[document["id"]] = [
                document,
                (await client.get(f"{where}/revisions")).json(),
                await _items(client, f"{where}/chunks"),
                normalized.status_code == 200 and normalized.text,
                (file.status_code, file.content),
            ]
        for query in QUERIES:
            for mode in ("lexical", "vector", "hybrid"):
                seen[f"{mode} {query}"] = await _hits(client, query=query, mode=mode)
        for filters in ({"year": {"gte": 2024}}, {"ratio": 0.1}, {"huge": {"gte": 1e299}}, {"tags": "é"}):
            seen[f"filtered {filters}"] = await _hits(client, query="costs", filters=filters)
        return seen


async def _items(client: httpx2.AsyncClient, path: str) -> list[Any]:
    found, cursor = list[Any](), None
    while True:
        answer = await client.get(path, params={"limit": 3, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["items"]
        cursor = page.get("nextCursor")
        if not cursor:
            return found


async def _hits(client: httpx2.AsyncClient, **request: Any) -> list[tuple[Any, ...]]:
    """Hits in order; scores to five digits, as the two databases add up in different orders."""
    answer = await client.post(f"{API}/search", json=request)
    assert answer.status_code == 200, answer.text
    hits = answer.json()["hits"]
    scores = ("lexicalScore", "vectorScore", "finalScore")
    return [(hit["chunkId"], hit["content"], *(_rounded(hit["ranking"].get(name)) for name in scores)) for hit in hits]


def _rounded(score: float | None) -> float | None:
    return None if score is None else float(f"{score:.5g}")
