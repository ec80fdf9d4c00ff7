"""Deletions over REST that can be undone."""

import time
from datetime import datetime
from pathlib import Path

import httpx2
import pytest
from front_door import Server, add, wait_until
from rest_kit import API, assert_error, upload

DOCUMENTS = f"{API}/documents"


async def delete(client: httpx2.AsyncClient, document_id: str, undo_seconds: int = 60) -> None:
    answer = await client.delete(f"{DOCUMENTS}/{document_id}?undoSeconds={undo_seconds}")
    assert answer.status_code == 200
    body = answer.json()
    left_s = datetime.fromisoformat(body.pop("undoUntil")).timestamp() - time.time()
    assert (body, 0 < left_s <= undo_seconds) == ({"ok": True}, True)


async def search(client: httpx2.AsyncClient, query: str) -> list[str]:
    answer = await client.post(f"{API}/search", json={"query": query})
    return [hit["documentId"] for hit in answer.json()["hits"]]


@pytest.mark.both_databases
async def test_a_deleted_document_is_gone_at_once_and_comes_back_whole(client: httpx2.AsyncClient) -> None:
    document = await add(
        client, "otters.md", b"# Otters\n\nOtters sleep on their backs.", metadata='{"kind": "animal"}'
    )
    before = (await client.get(f"{DOCUMENTS}/{document['id']}/chunks")).json()
    await delete(client, document["id"])
    assert_error(await client.get(f"{DOCUMENTS}/{document['id']}"), 404, "DOCUMENT_NOT_FOUND")
    assert await search(client, "otters sleep") == []
    assert_error(await client.delete(f"{DOCUMENTS}/{document['id']}"), 404, "DOCUMENT_NOT_FOUND")

    restored = await client.post(f"{DOCUMENTS}/{document['id']}/restore")
    assert restored.status_code == 200
    assert restored.json() == {**document, "updatedAt": restored.json()["updatedAt"]}
    assert await search(client, "otters sleep") == [document["id"]]
    assert (await client.get(f"{DOCUMENTS}/{document['id']}/chunks")).json() == before
    assert (await client.get(f"{DOCUMENTS}/{document['id']}/file")).content.startswith(b"# Otters")
    again = await client.post(f"{DOCUMENTS}/{document['id']}/restore")
    assert (again.status_code, again.json()) == (200, restored.json())


async def test_what_cannot_come_back_says_why(client: httpx2.AsyncClient) -> None:
    document_id = (await upload(client, "a.txt", b"same words"))["id"]
    await delete(client, document_id)
    await upload(client, "b.txt", b"same words")
    assert_error(await client.post(f"{DOCUMENTS}/{document_id}/restore"), 409, "DOCUMENT_EXISTS")
    assert_error(await client.post(f"{DOCUMENTS}/doc_none/restore"), 404, "DOCUMENT_NOT_FOUND")
    for seconds in ("-1", "601", "x", "1.5"):
        answer = await client.delete(f"{DOCUMENTS}/{document_id}?undoSeconds={seconds}")
        assert_error(answer, 400, "INVALID_ARGUMENT", "undoSeconds")


async def test_a_purge_leaves_nothing_to_restore(client: httpx2.AsyncClient) -> None:
    document_id = (await upload(client, "a.txt", b"words"))["id"]
    await delete(client, document_id)
    await client.post(f"{DOCUMENTS}/purge", json={"confirm": "purge"})
    assert_error(await client.post(f"{DOCUMENTS}/{document_id}/restore"), 404, "DOCUMENT_NOT_FOUND")


@pytest.mark.slow
def test_a_killed_server_keeps_what_can_be_undone_and_removes_what_cannot(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    try:
        kept = server.add("kept.txt", b"otters sleep on their backs")["id"]
        gone = server.add("gone.txt", b"walruses do not")["id"]
        server.request("DELETE", f"{DOCUMENTS}/{kept}?undoSeconds=600")
        server.request("DELETE", f"{DOCUMENTS}/{gone}?undoSeconds=1")
        server.kill()
        server.start()

        assert server.request("GET", f"{DOCUMENTS}/{kept}").status_code == 404
        assert server.request("POST", f"{DOCUMENTS}/{kept}/restore").json()["status"] == "ready"
        found = server.request("POST", f"{API}/search", json={"query": "otters"}).json()["hits"]
        assert [hit["documentId"] for hit in found] == [kept]
        wait_for_removal(server, gone)
        assert_error(server.request("POST", f"{DOCUMENTS}/{gone}/restore"), 409, "DOCUMENT_NOT_RESTORABLE")
    finally:
        server.stop()


def wait_for_removal(server: Server, document_id: str) -> None:
    def removed() -> bool:
        jobs = server.request("GET", f"{API}/jobs?documentId={document_id}&status=completed").json()["items"]
        return any(job["kind"] == "delete" for job in jobs)

    wait_until(removed, what="the removal")
