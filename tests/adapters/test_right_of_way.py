"""Passages let searches go first, and still get on under searches without end."""

import threading

import pytest

from mcp_knowledge.adapters import right_of_way
from mcp_knowledge.adapters.right_of_way import RightOfWay


def test_work_goes_on_when_the_urgent_work_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(right_of_way, "_LONGEST_WAIT_S", 60.0)
    way, held_up, order = RightOfWay(), threading.Event(), list[str]()
    wait = way._changed.wait

    def noted_wait(timeout: float | None = None) -> bool:
        held_up.set()
        return wait(timeout)

    monkeypatch.setattr(way._changed, "wait", noted_wait)

    def passages() -> None:
        way.wait()
        order.append("passages")

    thread = threading.Thread(target=passages)
    with way.taken():
        thread.start()
        assert held_up.wait(20)
        order.append("search")
    thread.join()
    assert order == ["search", "passages"]


def test_nobody_waits_without_urgent_work_and_nobody_for_ever_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(right_of_way, "_LONGEST_WAIT_S", 0.001)
    way = RightOfWay()
    way.wait()
    with way.taken(), way.taken():
        way.wait()
    way.wait()
