from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.metrics import mean, ndcg, percentile, recall, reciprocal_rank

IDS = st.lists(st.sampled_from("abcdefghij"), unique=True)
RELEVANT = st.sets(st.sampled_from("abcdefghij"), min_size=1)


def test_recall_is_the_share_of_all_relevant_ones() -> None:
    assert recall(["a", "x", "b"], {"a", "b", "c", "d"}, 3) == 0.5
    assert recall(["a", "x", "b"], {"a", "b", "c", "d"}, 2) == 0.25


def test_reciprocal_rank_counts_the_first_relevant_one_within_the_cut() -> None:
    assert reciprocal_rank(["x", "a", "b"], {"a", "b"}, 10) == 0.5
    assert reciprocal_rank(["x", "y", "a"], {"a"}, 2) == 0.0


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    gained = 1.0 + 1.0 / log2(4)
    assert ndcg(["a", "x", "b"], {"a", "b"}, 10) == pytest.approx(gained / (1.0 + 1.0 / log2(3)))


def test_ndcg_is_1_when_the_cut_is_full_of_relevant_ones() -> None:
    assert ndcg(["a", "b"], {"a", "b", "c"}, 2) == 1.0


def test_a_query_without_relevant_documents_scores_0() -> None:
    assert recall(["a"], (), 5) == reciprocal_rank(["a"], (), 5) == ndcg(["a"], (), 5) == 0.0


@given(IDS, RELEVANT, st.integers(1, 12))
def test_scores_lie_between_0_and_1(ranked: list[str], relevant: set[str], k: int) -> None:
    for score in (recall(ranked, relevant, k), reciprocal_rank(ranked, relevant, k), ndcg(ranked, relevant, k)):
        assert 0.0 <= score <= 1.0 + 1e-12


@given(RELEVANT, st.integers(1, 12))
def test_the_ideal_order_scores_1(relevant: set[str], k: int) -> None:
    ranked = sorted(relevant)
    assert ndcg(ranked, relevant, k) == pytest.approx(1.0)
    assert reciprocal_rank(ranked, relevant, k) == 1.0
    assert recall(ranked, relevant, len(ranked)) == 1.0


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([5.0, 1.0, 3.0], 0.5) == 3.0
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([], 0.5) == 0.0


def test_the_mean_of_nothing_is_0() -> None:
    assert mean([1.0, 2.0]) == 1.5
    assert mean([]) == 0.0
