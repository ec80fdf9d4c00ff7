import re
from pathlib import Path

import httpx2
import pytest
from front_door import add, running_client, wait_finished
from rest_kit import API, app_of, assert_error

from mcp_knowledge import __version__
from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.settings import Settings


async def test_the_process_says_that_it_answers(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"ok": True}


async def test_a_working_service_is_ready(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/ready")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "ready": True,
        "checks": {"database": True, "storage": True, "embedding": True, "migrations": True, "worker": True},
    }


async def test_a_service_whose_storage_fails_is_not_ready(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: LocalBlobStore) -> bool:
        raise OSError("no such device")

    monkeypatch.setattr(LocalBlobStore, "healthy", broken)
    answer = await client.get("/ready")
    assert answer.status_code == 503
    assert answer.json()["ready"] is False
    assert answer.json()["checks"]["storage"] is False
    assert answer.json()["checks"]["database"] is True
    status = (await client.get(f"{API}/system/status")).json()
    assert status["storage"]["healthy"] is False


async def test_the_status_counts_what_is_there(client: httpx2.AsyncClient) -> None:
    before = (await client.get(f"{API}/system/status")).json()
    document = await add(client, "a.txt", b"something to count")
    await add(client, "b.pdf", b"not really a PDF")
    status = (await client.get(f"{API}/system/status")).json()
    assert status["version"] == __version__
    assert status["profile"] == "local"
    assert status["role"] == "all"
    assert status["database"]["healthy"] is True
    assert status["database"]["sizeBytes"] > 0
    assert status["embedding"] == {"model": "all-MiniLM-L6-v2", "dimensions": 384, "healthy": True}
    assert status["documents"]["ready"] == 1
    assert status["documents"]["failed"] == 1
    assert status["queue"]["failed"] == 1
    assert status["chunks"] == document["chunkCount"]
    assert status["staleDocuments"] == 0
    assert status["indexConfiguration"]["chunkTargetTokens"] == 180
    assert int(status["corpusVersion"].removeprefix("generation:")) > int(
        before["corpusVersion"].removeprefix("generation:")
    )


async def test_documents_that_were_cut_to_other_sizes_are_stale_until_they_are_indexed_again(
    settings: Settings,
) -> None:
    async with running_client(settings) as client:
        ids = [(await add(client, name, text))["id"] for name, text in (("a.txt", b"plain"), ("b.md", b"# A\n\nmark"))]
    async with running_client(settings.model_copy(update={"chunk_target_tokens": 150})) as client:
        status = (await client.get(f"{API}/system/status")).json()
        assert status["staleDocuments"] == 2
        assert status["indexConfiguration"]["chunkTargetTokens"] == 150
        for left, document_id in ((1, ids[0]), (0, ids[1])):
            await client.post(f"{API}/documents/{document_id}/reindex")
            await wait_finished(client, document_id)
            assert (await client.get(f"{API}/system/status")).json()["staleDocuments"] == left


async def test_another_embedding_model_shows_in_the_status_and_the_service_still_answers(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def another(_: SqlStore) -> str:
        return "of another model"

    monkeypatch.setattr(SqlStore, "fingerprint", another)
    assert (await client.get("/ready")).status_code == 200
    assert (await client.get(f"{API}/system/status")).json()["embedding"]["healthy"] is False


async def test_metrics_have_the_promised_names_and_labels(client: httpx2.AsyncClient) -> None:
    await add(client, "a.txt", b"something to measure")
    await add(client, "b.pdf", b"not really a PDF")
    await client.post(f"{API}/search", json={"query": "something", "mode": "hybrid"})
    await client.get(f"{API}/documents/doc_none")
    await client.get("/some/strange/path")
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.text
    for line in (
        'documents_total{status="ready"} 1.0',
        'documents_total{status="failed"} 1.0',
        'documents_failed_total{code="DOCUMENT_MALFORMED"} 1.0',
        'job_queue_depth{status="queued"} 0.0',
    ):
        assert line in text.splitlines(), text
    for pattern in (
        r'search_duration_seconds_count\{mode="hybrid",stage="total"\} [1-9]',
        r'search_duration_seconds_count\{mode="hybrid",stage="embedding"\} [1-9]',
        r'ingestion_duration_seconds_count\{stage="embedding"\} [1-9]',
        r"embedding_chunks_total [1-9]",
        r'http_requests_total\{method="GET",route="/api/v1/documents/\{document_id\}",status="404"\} [1-9]',
        r'http_requests_total\{method="POST",route="/api/v1/search",status="200"\} [1-9]',
        r'http_requests_total\{method="GET",route="unmatched",status="404"\} [1-9]',
    ):
        assert re.search(pattern, text), pattern
    assert "strange" not in text
    assert "doc_none" not in text


async def test_refused_requests_are_counted_under_the_route_that_they_asked_for(client: httpx2.AsyncClient) -> None:
    for method, path in (("GET", f"{API}/chunks/chk_1"), ("POST", "/documents/doc_1/delete"), ("POST", "/mcp")):
        assert (await client.request(method, path, headers={"Authorization": "Bearer key_wrong"})).status_code == 401
    assert (await client.get(f"{API}/collections", headers={"Host": "evil.example"})).status_code == 421
    text = (await client.get("/metrics")).text
    for method, route, status in (
        ("GET", f"{API}/chunks/{{chunk_id}}", 401),
        ("POST", "/documents/{document_id}/delete", 401),
        ("POST", "/mcp", 401),
        ("GET", f"{API}/collections", 421),
    ):
        assert f'http_requests_total{{method="{method}",route="{route}",status="{status}"}}' in text


async def test_metrics_are_for_this_machine_and_for_keys(client: httpx2.AsyncClient) -> None:
    transport = httpx2.ASGITransport(
        app=app_of(client),
        client=("192.168.1.9", 5),
    )
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as stranger:
        refused = await stranger.get("/metrics")
        assert_error(refused, 401, "UNAUTHORIZED")
        assert refused.headers["www-authenticate"] == "Bearer"
        secret = (await client.post(f"{API}/api-keys", json={"name": "Prometheus"})).json()["secret"]
        answer = await stranger.get("/metrics", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == 200 and "documents_total" in answer.text


async def test_the_reference_page_needs_nothing_from_elsewhere(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    for address in re.findall(r'(?:href|src)="([^"]*)"', answer.text):
        assert address.startswith(("/", "#")), address
        if address.startswith("#"):
            assert f'id="{address[1:]}"' in answer.text, address
        else:
            assert (await client.get(address)).status_code == 200, address
    assert "<script>" not in answer.text
    assert " style=" not in answer.text
    assert "/api/v1/search/explain" in answer.text


async def test_no_answer_shows_where_the_data_lies(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    for path in (f"{API}/system/status", "/ready", "/metrics", "/openapi.json", "/docs"):
        assert str(tmp_path) not in (await client.get(path)).text


async def test_stale_documents_are_queued_again_at_once_and_so_are_all(settings: Settings) -> None:
    async with running_client(settings) as client:
        documents = [await add(client, name, name.encode()) for name in ("a.txt", "b.txt")]
        again = await client.post(f"{API}/documents/reindex", json={"stale": True})
        assert (again.status_code, again.json()) == (202, {"queued": 0})
    async with running_client(settings.model_copy(update={"chunk_target_tokens": 150})) as client:
        await add(client, "c.txt", b"made just now")
        again = await client.post(f"{API}/documents/reindex", json={"stale": True})
        assert again.json() == {"queued": 2}
        for document in documents:
            await wait_finished(client, document["id"])
        assert (await client.get(f"{API}/system/status")).json()["staleDocuments"] == 0
        assert (await client.post(f"{API}/documents/reindex", json={"stale": False})).json() == {"queued": 3}
        for body in ({}, {"stale": "perhaps"}, {"stale": True, "more": 1}):
            assert_error(await client.post(f"{API}/documents/reindex", json=body), 400, "INVALID_ARGUMENT")
