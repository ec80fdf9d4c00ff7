import asyncio
import gc
import sys

import pytest
from ingest_kit import until

from mcp_knowledge.services import pauses
from mcp_knowledge.services.pauses import ShortPauses


async def test_garbage_is_collected_only_when_nothing_is_at_work_and_all_is_as_before_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pauses, "_PERIOD_S", 0.001)
    before = (sys.getswitchinterval(), gc.get_threshold())
    asked: list[bool] = []
    collected: list[bool] = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(asked[-1]))

    def at_work() -> bool:
        asked.append(len(asked) < 3)
        return asked[-1]

    short = ShortPauses(at_work)
    running = asyncio.create_task(short.run())
    await until(lambda: collected)
    assert sys.getswitchinterval() < before[0] and gc.get_threshold()[2] > before[1][2]
    assert len(asked) > 3 and not any(collected)
    await short.stop()
    await running
    assert (sys.getswitchinterval(), gc.get_threshold()) == before
