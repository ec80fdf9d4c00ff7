from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mcp_knowledge.adapters.sqlite import matrix as matrix_module
from mcp_knowledge.adapters.sqlite.matrix import Matrix, quantize
from mcp_knowledge.ports import Vector

DIMENSIONS = 384
LIMIT = 50
POOL = 200


def unit_vectors(count: int, seed: int = 1, centres: int = 40) -> Vector:
    """Clustered unit vectors: neighbours lie close together, as those of real texts do."""
    random = np.random.default_rng(seed)
    middle = random.standard_normal((centres, DIMENSIONS), dtype=np.float32)
    rows = middle[random.integers(0, centres, count)] + 0.7 * random.standard_normal((count, DIMENSIONS), np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def filled(vectors: Vector, chunks_a_document: int = 2) -> Matrix:
    numbers = np.arange(1, len(vectors) + 1)
    return Matrix.empty(DIMENSIONS).with_rows(vectors, numbers, (numbers - 1) // chunks_a_document + 1)


def truly_nearest(vectors: Vector, query: Vector, among: NDArray[Any] | None = None) -> set[int]:
    scores = vectors @ query
    numbers = np.arange(1, len(vectors) + 1)
    if among is not None:
        scores, numbers = scores[among], numbers[among]
    return set(numbers[np.argsort(-scores)[:LIMIT]].tolist())


@pytest.fixture(params=["numkong", "numpy"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(matrix_module, "numkong", None)
    else:
        assert matrix_module.numkong is not None
    return str(request.param)


@pytest.mark.parametrize("count", [1, 30, 60, 1000, 20_000])
def test_the_rows_given_back_hold_the_true_nearest(kernels: str, count: int) -> None:
    vectors = unit_vectors(count)
    matrix = filled(vectors)
    for query in unit_vectors(10, seed=2):
        found = matrix.nearest(query, LIMIT, POOL).tolist()
        assert len(set(found)) == len(found) <= POOL
        assert truly_nearest(vectors, query) <= set(found)


@pytest.mark.parametrize("share", [0.002, 0.05, 0.19, 0.21, 0.8])
def test_a_scope_is_exact_however_rare(kernels: str, share: float) -> None:
    vectors = unit_vectors(20_000)
    matrix = filled(vectors)
    documents = np.arange(1, 10_001)[np.random.default_rng(3).random(10_000) < share]
    inside = np.flatnonzero(np.isin((np.arange(20_000)) // 2 + 1, documents))
    for query in unit_vectors(5, seed=4):
        found = set(matrix.nearest(query, LIMIT, POOL, documents).tolist())
        assert truly_nearest(vectors, query, inside) <= found
        assert found <= set((inside + 1).tolist())


def test_both_kernels_give_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = filled(unit_vectors(5000))
    queries = unit_vectors(5, seed=5)
    with_numkong = [sorted(matrix.nearest(query, LIMIT, POOL).tolist()) for query in queries]
    monkeypatch.setattr(matrix_module, "numkong", None)
    assert [sorted(matrix.nearest(query, LIMIT, POOL).tolist()) for query in queries] == with_numkong


def test_a_scope_of_unknown_documents_finds_nothing() -> None:
    matrix = filled(unit_vectors(100))
    query = unit_vectors(1)[0]
    assert matrix.nearest(query, LIMIT, POOL, np.array([], np.int64)).tolist() == []
    assert matrix.nearest(query, LIMIT, POOL, np.array([0, 5_000_000])).tolist() == []


def test_equal_vectors_in_any_number_never_give_more_than_the_pool() -> None:
    matrix = filled(np.repeat(unit_vectors(1), 30_000, axis=0))
    assert len(matrix.nearest(unit_vectors(1)[0], LIMIT, POOL)) == POOL


def test_an_older_snapshot_does_not_see_what_came_later() -> None:
    vectors = unit_vectors(3000)
    older = filled(vectors[:2000])
    query = vectors[2500]
    before = sorted(older.nearest(query, LIMIT, POOL).tolist())
    newer = older.with_rows(vectors[2000:], np.arange(2001, 3001), np.arange(2001, 3001))
    newer = newer.without_documents(np.array(sorted({(number - 1) // 2 + 1 for number in before})))
    assert 2501 in newer.nearest(query, LIMIT, POOL).tolist()
    assert not set(before) & set(newer.nearest(query, LIMIT, POOL).tolist())
    assert sorted(older.nearest(query, LIMIT, POOL).tolist()) == before


def test_dead_rows_are_squeezed_out_and_their_place_is_used_again() -> None:
    vectors = unit_vectors(4000)
    matrix = filled(vectors, chunks_a_document=1).without_documents(np.arange(1, 3001))
    assert (matrix.count, matrix.dead, matrix.alive) == (1000, 0, 1000)
    assert set(matrix.nearest(vectors[0], 1000, 1000).tolist()) == set(range(3001, 4001))
    again = matrix.with_rows(vectors[:10], np.arange(5001, 5011), np.arange(5001, 5011))
    assert 5001 in again.nearest(vectors[0], LIMIT, POOL).tolist()


def test_documents_that_are_not_held_change_nothing() -> None:
    matrix = filled(unit_vectors(10))
    assert matrix.without_documents(np.array([77])) is matrix


def test_a_code_times_its_scale_is_the_vector_up_to_half_a_step() -> None:
    vectors = np.concatenate([unit_vectors(50), np.zeros((1, DIMENSIONS), np.float32)])
    codes, scales = quantize(vectors)
    assert np.abs(codes * scales[:, None] - vectors).max() <= scales.max() / 2 * 1.001
    assert codes.max() == 127
    assert not codes[50].any()
