"""A database that can be out of reach, and one whose answers get lost."""

import random
from collections.abc import Callable
from typing import TypeVar

import pytest

from mcp_knowledge.adapters.sqlite.connection import Connection, Database
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import archive_worker, ingest, outages

T = TypeVar("T")


class BrittleDatabase(Database):
    """The embedded database, failing as one across a network does.

    `down`: nothing gets there. `lost_answers`: so many of the next writes are committed, but fail for the caller.
    `loss`: the share of all writes to which that happens, at random.
    """

    down = False
    lost_answers = lost_in_all = 0
    loss = 0.0
    draw = random.Random(3)

    async def read(self, work: Callable[[Connection], T]) -> T:
        self._reach()
        return await super().read(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        self._reach()
        result = await super().write(work)
        if self.lost_answers or self.draw.random() < self.loss:
            self.lost_answers = max(0, self.lost_answers - 1)
            self.lost_in_all += 1
            raise KnowledgeError("SERVICE_UNAVAILABLE")
        return result

    def _reach(self) -> None:
        if self.down:
            raise KnowledgeError("SERVICE_UNAVAILABLE")


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(outages, "_LONGEST_PAUSE_S", 0.02)
    monkeypatch.setattr(ingest, "_POLL_S", 0.01)
    monkeypatch.setattr(archive_worker, "_POLL_S", 0.01)
