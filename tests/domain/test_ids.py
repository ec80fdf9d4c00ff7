import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_knowledge.domain import documents
from mcp_knowledge.domain.documents import new_id


def test_an_id_is_a_prefix_and_a_version_7_uuid_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_newest_id", 0)  # a test with a clock of its own may have left it ahead
    before = documents.now_ms()
    prefix, _, digits = new_id("doc").partition("_")
    value = uuid.UUID(hex=digits)
    assert prefix == "doc"
    assert digits == value.hex
    assert value.version == 7
    assert value.variant == uuid.RFC_4122
    assert before <= value.int >> 80 <= documents.now_ms()


def test_ids_rise_within_a_millisecond_and_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_newest_id", 0)  # and back to what it was, afterwards
    now = documents.now_ms() + 1000
    monkeypatch.setattr(documents, "now_ms", lambda: now)
    ids = [new_id("job") for _ in range(2000)]
    monkeypatch.setattr(documents, "now_ms", lambda: now - 5000)
    ids += [new_id("job") for _ in range(10)]
    assert ids == sorted(set(ids))
    assert all(uuid.UUID(hex=item[4:]).version == 7 for item in ids)


def test_ids_made_in_many_threads_are_all_different() -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: new_id("rev"), range(5000)))
    assert len(set(ids)) == 5000
