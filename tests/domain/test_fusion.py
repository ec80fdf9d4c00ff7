from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.fusion import fuse, normalized_scores
from mcp_knowledge.domain.search import Candidate, Contributions, Fusion, MatchMode, SearchMode

RRF_K = 60


def side(*chunk_nos: int, scores: Sequence[float] | None = None) -> list[Candidate]:
    falling = scores or [1.0 - index / 100 for index in range(len(chunk_nos))]
    return [Candidate(no, f"chk_{no:04d}", score) for no, score in zip(chunk_nos, falling, strict=True)]


def passes(*found: tuple[int, float, MatchMode]) -> list[Candidate]:
    return [Candidate(no, f"chk_{no:04d}", score, mode) for no, score, mode in found]


@st.composite
def sides(draw: st.DrawFn) -> list[Candidate]:
    """Best first, as a vector side or an exact pass gives them."""
    numbers = draw(st.lists(st.integers(1, 40), unique=True, max_size=30))
    scores = draw(st.lists(st.floats(-1e6, 1e6), min_size=len(numbers), max_size=len(numbers)))
    return side(*numbers, scores=sorted(scores, reverse=True)) if numbers else []


@st.composite
def two_passes(draw: st.DrawFn) -> list[Candidate]:
    """Exact hits, then fallback hits whose scores may be higher."""
    exact, fallback = draw(sides()), draw(sides())
    known = {item.chunk_no for item in exact}
    return exact + [item for item in fallback if item.chunk_no not in known]


MODES = st.sampled_from(["hybrid", "vector", "lexical"])
FUSIONS = st.sampled_from(["rrf", "relative"])


def test_reciprocal_ranks_of_both_sides_are_summed() -> None:
    fused = fuse("hybrid", "rrf", side(1, 2), side(2, 3), RRF_K)
    assert [item.chunk_no for item in fused] == [2, 1, 3]
    assert fused[0].score == 1 / 62 + 1 / 61
    assert (fused[0].vector_rank, fused[0].lexical_rank) == (2, 1)
    assert fused[0].contributions == Contributions(1 / 62, 1 / 61)


def test_a_side_that_did_not_find_a_candidate_adds_nothing_and_has_no_rank() -> None:
    fused = fuse("hybrid", "rrf", side(1), side(2), RRF_K)
    lonely = next(item for item in fused if item.chunk_no == 1)
    assert lonely.lexical_rank is None
    assert lonely.lexical is None
    assert lonely.contributions == Contributions(1 / 61, 0.0)


def test_a_higher_constant_makes_two_middle_places_beat_one_first_place() -> None:
    vector, lexical = side(1, 2, 3), side(4, 5, 3)
    assert fuse("hybrid", "rrf", vector, lexical, 60)[0].chunk_no == 3
    assert fuse("hybrid", "rrf", vector, lexical, 1)[0].chunk_no == 1


def test_equal_scores_are_ordered_by_the_better_rank_then_by_chunk_id() -> None:
    by_id = fuse("hybrid", "rrf", side(9), side(4), RRF_K)
    assert [item.chunk_no for item in by_id] == [4, 9]
    # Relative fusion gives 7 and 8 half a point each; 8 has it from two second places of a pool of equals.
    vector = side(7, 8, 1, scores=[1.0, 0.5, 0.0])
    lexical = side(2, 8, 3, scores=[1.0, 0.5, 0.0])
    by_rank = fuse("hybrid", "relative", vector, lexical, RRF_K)
    assert [(item.chunk_no, item.score) for item in by_rank[:3]] == [(2, 0.5), (7, 0.5), (8, 0.5)]


def test_equal_files_have_equal_chunk_ids_and_still_a_total_order() -> None:
    twins = [Candidate(5, "chk_same", 0.5), Candidate(3, "chk_same", 0.5)]
    fused = fuse("hybrid", "rrf", twins[:1], twins[1:], RRF_K)
    assert [item.chunk_no for item in fused] == [3, 5]


def test_relative_fusion_averages_the_normalised_scores() -> None:
    vector = side(1, 2, 3, scores=[0.9, 0.8, 0.5])
    lexical = side(2, 4, scores=[12.0, 2.0])
    best = fuse("hybrid", "relative", vector, lexical, RRF_K)[0]
    assert best.chunk_no == 2
    assert best.normalized is not None
    assert best.normalized.vector == pytest.approx(0.75)
    assert best.normalized.lexical == 1.0
    assert best.contributions.vector == best.normalized.vector / 2
    assert best.score == pytest.approx(0.875)


def test_an_exact_hit_counts_no_less_than_a_fallback_hit_with_a_higher_score() -> None:
    lexical = passes((1, 3.0, "exact"), (2, 2.0, "exact"), (3, 9.0, "fallback"), (4, 1.0, "fallback"))
    assert normalized_scores(lexical) == [1.0, 1.0, 1.0, 0.0]
    fused = fuse("hybrid", "relative", [], lexical, RRF_K)
    assert [item.chunk_no for item in fused] == [1, 2, 3, 4]


@pytest.mark.parametrize("scores", [[3.5], [2.0, 2.0, 2.0]])
def test_a_pool_without_a_worse_candidate_is_all_ones(scores: list[float]) -> None:
    pool = side(*range(1, len(scores) + 1), scores=scores)
    assert normalized_scores(pool) == [1.0] * len(scores)


def test_an_empty_pool_has_no_scores() -> None:
    assert normalized_scores([]) == []
    assert fuse("hybrid", "relative", [], [], RRF_K) == []


@pytest.mark.parametrize("mode", ["vector", "lexical"])
def test_a_single_side_keeps_its_order_and_its_own_scores(mode: SearchMode) -> None:
    pool = passes((5, 1.0, "exact"), (2, 7.0, "fallback"))
    fused = fuse(mode, "rrf", pool, pool, RRF_K)
    assert [(item.chunk_no, item.score, item.fusion_score) for item in fused] == [(5, 1.0, None), (2, 7.0, None)]
    assert [item.best_rank for item in fused] == [1, 2]
    own = [getattr(item.contributions, mode) for item in fused]
    assert own == [1.0, 7.0]


@given(MODES, FUSIONS, sides(), two_passes(), st.integers(1, 1000))
def test_contributions_sum_to_the_score_exactly(
    mode: SearchMode, fusion: Fusion, vector: list[Candidate], lexical: list[Candidate], rrf_k: int
) -> None:
    for item in fuse(mode, fusion, vector, lexical, rrf_k):
        assert item.contributions.vector + item.contributions.lexical == item.score
        assert item.fusion_score in (None, item.score)


@given(FUSIONS, sides(), two_passes())
def test_the_fusion_is_the_union_of_both_sides_in_a_total_order(
    fusion: Fusion, vector: list[Candidate], lexical: list[Candidate]
) -> None:
    fused = fuse("hybrid", fusion, vector, lexical, RRF_K)
    numbers = [item.chunk_no for item in fused]
    assert sorted(numbers) == sorted({item.chunk_no for item in vector + lexical})
    keys = [(-item.score, item.best_rank, item.chunk_id, item.chunk_no) for item in fused]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@given(FUSIONS, sides(), two_passes())
def test_swapping_the_sides_swaps_the_reasons_and_nothing_else(
    fusion: Fusion, vector: list[Candidate], lexical: list[Candidate]
) -> None:
    one = fuse("hybrid", fusion, vector, lexical, RRF_K)
    other = fuse("hybrid", fusion, lexical, vector, RRF_K)
    assert [(item.chunk_no, item.score) for item in one] == [(item.chunk_no, item.score) for item in other]
    assert [item.contributions.vector for item in one] == [item.contributions.lexical for item in other]


@given(two_passes())
def test_normalised_scores_lie_between_0_and_1_and_never_rise_with_rank(pool: list[Candidate]) -> None:
    scores = normalized_scores(pool)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert not scores or scores[0] == 1.0


@given(FUSIONS, two_passes())
def test_a_better_place_on_one_side_never_scores_lower(fusion: Fusion, pool: list[Candidate]) -> None:
    assert [item.chunk_no for item in fuse("hybrid", fusion, [], pool, RRF_K)] == [item.chunk_no for item in pool]
