import asyncio
import json
import re
from typing import Any

import httpx2
import pytest
from front_door import Server, add, wait_until
from rest_kit import API, assert_error

from mcp_knowledge.interfaces.rest.jobs import event_stream
from mcp_knowledge.services.events import Events

pytestmark = pytest.mark.both_databases

OLDEST = f"evt_{0:032x}"  # before every event


async def test_jobs_tell_what_was_done(client: httpx2.AsyncClient) -> None:
    document = await add(client, "a.txt", b"a text to ingest")
    await add(client, "b.txt", b"another text to ingest")
    jobs = (await client.get(f"{API}/jobs")).json()["items"]
    assert [job["filename"] for job in jobs] == ["b.txt", "a.txt"]
    (job,) = (await client.get(f"{API}/jobs", params={"documentId": document["id"]})).json()["items"]
    assert job["kind"] == "ingest"
    assert job["status"] == "completed"
    assert job["documentId"] == document["id"]
    assert job["revisionId"] == document["currentRevisionId"]
    assert job["attempt"] == 1
    assert job["maxAttempts"] == 3
    assert job["durationMs"] >= 0
    assert (await client.get(f"{API}/jobs/{job['id']}")).json() == job
    assert (await client.get(f"{API}/jobs?status=failed")).json()["items"] == []


async def test_jobs_are_paged(client: httpx2.AsyncClient) -> None:
    for n in range(3):
        await add(client, f"{n}.txt", f"text {n}".encode())
    first = (await client.get(f"{API}/jobs?limit=2")).json()
    second = (await client.get(f"{API}/jobs", params={"limit": "2", "cursor": first["nextCursor"]})).json()
    assert [job["filename"] for job in first["items"] + second["items"]] == ["2.txt", "1.txt", "0.txt"]
    assert second["nextCursor"] is None
    wrong = await client.get(f"{API}/jobs", params={"status": "failed", "cursor": first["nextCursor"]})
    assert_error(wrong, 400, "INVALID_CURSOR")


async def test_only_a_failed_job_can_be_retried(client: httpx2.AsyncClient) -> None:
    await add(client, "good.txt", b"good text")
    (done,) = (await client.get(f"{API}/jobs")).json()["items"]
    assert_error(await client.post(f"{API}/jobs/{done['id']}/retry"), 409, "JOB_NOT_RETRYABLE")
    assert_error(await client.post(f"{API}/jobs/job_none/retry"), 404, "JOB_NOT_FOUND")
    assert_error(await client.get(f"{API}/jobs/job_none"), 404, "JOB_NOT_FOUND")

    broken = await add(client, "broken.pdf", b"this is no PDF\x00\x01\x02")
    assert broken["status"] == "failed"
    (failed,) = (await client.get(f"{API}/jobs?status=failed")).json()["items"]
    assert failed["error"] == broken["latestError"]
    answer = await client.post(f"{API}/jobs/{failed['id']}/retry")
    assert answer.status_code == 202
    assert answer.json()["id"] == failed["id"]
    assert answer.json()["status"] == "queued"


async def test_a_ready_document_can_be_indexed_again(client: httpx2.AsyncClient) -> None:
    document = await add(client, "a.txt", b"text to be indexed twice")
    answer = await client.post(f"{API}/documents/{document['id']}/reindex")
    assert answer.status_code == 202
    assert answer.json()["documentId"] == document["id"]
    assert answer.json()["kind"] == "ingest"


@pytest.mark.parametrize("query", ["status=done", "documentId=", "limit=many", "kind=ingest"])
async def test_a_wrong_argument_is_named(client: httpx2.AsyncClient, query: str) -> None:
    assert_error(await client.get(f"{API}/jobs?{query}"), 400, "INVALID_ARGUMENT", query.partition("=")[0])


async def test_a_stream_has_what_was_missed_then_what_comes_and_ends_with_the_service() -> None:
    events = Events()
    for n in range(3):
        events.publish("job", {"n": n})
    first, *others = await anext(events.follow(OLDEST))
    received: list[bytes] = []

    async def follow() -> None:
        async for piece in event_stream(events, first.id, heartbeat_s=60):
            received.append(piece)
            if len(received) == 2:
                events.publish("document", {"text": "two\nlines"})
            if len(received) == 3:
                events.close()

    async with asyncio.timeout(10):
        await follow()
    assert received[:2] == [
        b"retry: 2000\n\n",
        f'id: {others[0].id}\nevent: job\ndata: {{"n":1}}\n\n'.encode()
        + f'id: {others[1].id}\nevent: job\ndata: {{"n":2}}\n\n'.encode(),
    ]
    last = received[2].decode().partition("\n")
    assert last[0].startswith("id: evt_") and last[0].removeprefix("id: ") > others[1].id
    assert last[2] == 'event: document\ndata: {"text":"two\\nlines"}\n\n'
    assert events.reader_count == 0


async def test_a_client_that_comes_back_after_a_restart_gets_what_the_new_process_has_to_tell() -> None:
    before, after = Events(), Events()
    for n in range(5):
        before.publish("job", {"n": n})
    reader = before.follow(OLDEST)
    last = (await anext(reader))[-1]
    after.publish("job", {"n": 5})
    async with asyncio.timeout(10):
        assert [event.data for event in await anext(after.follow(last.id))] == [{"n": 5}]


async def test_a_quiet_stream_gives_signs_of_life_and_lets_go_when_left() -> None:
    events = Events()
    stream = event_stream(events, None, heartbeat_s=0.01)
    async with asyncio.timeout(10):
        assert await anext(stream) == b"retry: 2000\n\n"
        assert await anext(stream) == b": still here\n\n"
        assert events.reader_count == 1
        await stream.aclose()
    assert events.reader_count == 0


async def test_a_stream_that_opens_after_the_end_ends_at_once() -> None:
    events = Events()
    events.close()
    async with asyncio.timeout(10):
        assert [piece async for piece in event_stream(events, None, 60)] == [b"retry: 2000\n\n"]


@pytest.mark.parametrize("address", [f"{API}/events", "/events"])
def test_the_stream_answers_at_both_addresses_and_goes_on_after_an_event(server: Server, address: str) -> None:
    def ids(last_id: str, enough: int) -> list[str]:
        found: list[str] = []
        headers = {"Last-Event-ID": last_id}
        with httpx2.stream("GET", server.url + address, headers=headers, timeout=30) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream"
            assert answer.headers["cache-control"] == "no-store"
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    found.append(line.removeprefix("id: "))
                    if len(found) == enough:
                        break
        return found

    server.add("event.txt", f"a text for {address}".encode())
    first, second = ids(OLDEST, 2)
    assert re.fullmatch(r"evt_[0-9a-f]{12}7[0-9a-f]{19}", first)
    assert ids(first, 1) == [second]
    assert server.request("HEAD", address).headers["content-type"] == "text/event-stream"
    assert_error(server.request("POST", address), 405, "METHOD_NOT_ALLOWED")


def test_a_running_server_streams_changes_and_still_stops_at_once(server: Server) -> None:
    seen: list[dict[str, Any]] = []
    kinds: set[str] = set()
    with httpx2.stream("GET", f"{server.url}{API}/events", timeout=30) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        receipt = server.upload("streamed.txt", b"a text whose changes are followed")
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kinds.add(line.removeprefix("event: "))
            if line.startswith("data: "):
                seen.append(json.loads(line.removeprefix("data: ")))
                if seen[-1].get("id") == receipt["id"] and seen[-1].get("status") == "ready":
                    break
    assert "document" in kinds
    ready = seen[-1]
    document = server.request("GET", f"{API}/documents/{receipt['id']}").json()
    assert ready["chunkCount"] == document["chunkCount"] == 1
    assert set(ready) == set(document)

    with httpx2.stream("GET", f"{server.url}{API}/events", timeout=30) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "retry: 2000"
        assert server.process is not None
        server.process.terminate()
        assert all(line == "" or line.startswith(("id:", "event:", "data:")) for line in lines)  # ends by itself
    wait_until(lambda: server.process is not None and server.process.poll() is not None, 15, "the server to stop")
