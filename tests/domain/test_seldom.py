"""What passes only once in a while."""

import pytest

from mcp_knowledge.domain.seldom import Seldom


def test_a_thing_passes_again_when_its_time_is_over_and_never_waits_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 5.0
    monkeypatch.setattr("mcp_knowledge.domain.seldom.time.monotonic", lambda: now_s)
    rare = Seldom(every_s=60.0)
    assert rare.passes("database") and rare.passes("storage")
    now_s = 64.9
    assert not rare.passes("database")
    now_s = 65.0
    assert rare.passes("database") and not rare.passes("database")


def test_what_is_remembered_is_bounded() -> None:
    rare = Seldom(most=2)
    assert all(rare.passes(number) for number in range(3))
    assert not rare.passes(2) and rare.passes(0)
