"""The mismatch map: a small picture of the wrong elements of an output."""

import numpy as np
import pytest

from launch.reference.compared_elements import CELLS, MismatchCounter


def mapped(wrong: np.ndarray, piece: int = 1 << 14):
    found = MismatchCounter(wrong.shape)
    flat = wrong.reshape(-1)
    for start in range(0, flat.size, piece):
        found.note(start, flat[start : start + piece])
    return found.result()


def test_a_small_matrix_has_a_cell_for_each_element():
    wrong = np.tri(4, 6, -1, dtype=bool)

    found = mapped(wrong)

    assert (found["rows"], found["columns"]) == (4, 6)
    assert found["mismatched"] == wrong.astype(int).tolist()


def test_a_large_one_is_counted_in_cells():
    wrong = np.zeros((640, 320), bool)
    wrong[-1] = True

    found = mapped(wrong, piece=1000)

    assert np.shape(found["mismatched"]) == (CELLS, CELLS)
    assert found["mismatched"][-1] == [10] * CELLS
    assert np.sum(found["mismatched"]) == 320


@pytest.mark.parametrize("piece", [7, 100, 1000, 1 << 14])
@pytest.mark.parametrize("shape", [(50, 70), (3, 1000), (1, 5000), (5000, 1), (40, 9, 33)])
def test_however_it_is_noted_it_is_the_same(shape, piece):
    wrong = np.random.default_rng(1).random(shape) < 0.3
    down, across = min(np.prod(shape[:-1]), CELLS), min(shape[-1], CELLS)
    expected = np.zeros((down, across), int)
    matrix = wrong.reshape(-1, shape[-1])
    for row, column in zip(*np.nonzero(matrix), strict=True):
        expected[row * down // matrix.shape[0], column * across // shape[-1]] += 1

    assert mapped(wrong, piece)["mismatched"] == expected.tolist()


@pytest.mark.parametrize("shape", [(), (1,), (7,), (100,), (3, 5, 7), (33, 1), (1, 65), (2, 0)])
def test_every_mismatch_of_any_shape_is_in_it(shape):
    wrong = np.ones(shape, bool)

    found = mapped(wrong)

    assert (found is None) == (wrong.size == 0)
    assert np.sum(found["mismatched"] if found else 0) == wrong.size


def test_where_all_match_there_is_none():
    assert MismatchCounter((4, 4)).result() is None
    assert mapped(np.zeros((4, 4), bool)) is None
