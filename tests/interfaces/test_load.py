"""Many clients that search while documents are ingested: benchmarks/load.py in small."""

import asyncio
from pathlib import Path

import pytest
from front_door import Server, wait_until
from load_clients import NOUNS, PLACES, VERBS, clients, identifier

pytestmark = pytest.mark.slow

_CLIENTS = 64
_DOCUMENTS = 24
_PAUSE_S = 2.0  # some 30 searches a second: both cores of a small machine have time left for the uploads


def text(number: int) -> bytes:
    """Whatever a client asks for, there is a passage with two of its words."""
    return f"{identifier(number)}: {' '.join((*NOUNS, *VERBS, *PLACES))}.".encode()


async def test_64_clients_get_right_answers_while_documents_come_in_and_the_server_stops_under_them(
    tmp_path: Path,
) -> None:
    server = await asyncio.to_thread(Server(tmp_path / "data").start)
    try:
        await asyncio.to_thread(server.add, "0.txt", text(0))
        ends, stopping = asyncio.Event(), asyncio.Event()
        crowd = asyncio.create_task(clients(server.url, _CLIENTS, 1, lambda: not ends.is_set(), pause_s=_PAUSE_S))
        for number in range(1, _DOCUMENTS):
            await asyncio.to_thread(server.upload, f"{number}.txt", text(number))

        def all_ready() -> bool:
            status = server.request("GET", "/api/v1/system/status").json()["documents"]
            return bool(status["ready"] == _DOCUMENTS)

        await asyncio.to_thread(wait_until, all_ready)
        ends.set()
        found = await crowd
        assert found.wrong == [] and len(found.answered) >= _CLIENTS

        last = asyncio.create_task(clients(server.url, _CLIENTS, _DOCUMENTS, lambda: not stopping.is_set()))
        await asyncio.to_thread(server.request, "GET", "/health")  # they are at it
        await asyncio.to_thread(server.stop)  # by itself, or this fails
        stopping.set()
        assert server.process is not None and server.process.returncode == 0
        assert all("SERVICE_UNAVAILABLE" in wrong or "200" not in wrong[:4] for wrong in (await last).wrong)
    finally:
        server.kill()
