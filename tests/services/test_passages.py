"""Whose passages the model reads next."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.documents import Job
from mcp_knowledge.services.work import Passages, Work


def work_of(name: str, passages: int) -> Work:
    job = Job(name, "ingest", name, None, "f.txt", "running", 1, 3, None, None, 0, 0, None, 0, None, None)
    work = Work(job, deadline=0.0)
    work.waiting = list(range(passages))[::-1]
    work.total = passages
    work.vectors = np.zeros((passages, 2), np.float32)
    return work


def taken(passages: Passages, count: int) -> dict[str, list[int]]:
    return {work.job.id: indexes for work, indexes in passages.take(count)}


def test_passages_come_in_the_order_of_the_document() -> None:
    passages = Passages()
    passages.add(work_of("a", 5))
    assert taken(passages, 3) == {"a": [0, 1, 2]}
    assert taken(passages, 3) == {"a": [3, 4]}
    assert taken(passages, 3) == {}


def test_the_oldest_gets_half_and_the_smallest_go_before_others() -> None:
    passages = Passages()
    for name, size in (("huge", 100), ("large", 50), ("small", 2), ("tiny", 1)):
        passages.add(work_of(name, size))
    assert taken(passages, 8) == {"huge": [0, 1, 2, 3], "tiny": [0], "small": [0, 1], "large": [0]}


def test_a_document_that_was_dropped_is_not_embedded() -> None:
    passages = Passages()
    first, second = work_of("a", 3), work_of("b", 3)
    passages.add(first)
    passages.add(second)
    passages.discard(first)
    passages.discard(first)
    assert taken(passages, 10) == {"b": [0, 1, 2]}


@given(st.lists(st.integers(1, 70), max_size=8), st.integers(1, 40))
def test_every_passage_is_taken_once_and_batches_are_full(sizes: list[int], count: int) -> None:
    passages = Passages()
    for number, size in enumerate(sizes):
        passages.add(work_of(str(number), size))
    seen: list[tuple[str, int]] = []
    while len(passages):
        left = len(passages)
        batch = [(name, index) for name, indexes in taken(passages, count).items() for index in indexes]
        assert len(batch) == min(count, left)
        seen += batch
    assert sorted(seen) == sorted((str(number), index) for number, size in enumerate(sizes) for index in range(size))
