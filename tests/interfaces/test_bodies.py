"""Turns of large bodies."""

import asyncio

import pytest
from starlette.types import Message

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.bodies import LARGE_BYTES, Bodies, Body


async def test_a_body_that_is_told_to_end_is_told_once() -> None:
    """Many who wait find the same slowest one, also in the moment before it has heard that its time is up."""
    arriving: asyncio.Queue[Message] = asyncio.Queue()
    arriving.put_nowait({"type": "http.request", "body": b"a" * (LARGE_BYTES + 1), "more_body": True})
    slow = Body(Bodies(at_once=1, grace_s=0.0), arriving.get)
    await slow.receive()
    rest = asyncio.create_task(slow.receive())
    await asyncio.sleep(0)
    found = []
    while not rest.done():
        slow.end()
        found.append(slow.slowness_s())
        await asyncio.sleep(0)
    assert set(found) == {0.0}
    with pytest.raises(KnowledgeError, match="REQUEST_TIMEOUT"):
        await rest
