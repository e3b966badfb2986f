"""Contiguous lanes are moved as rows, with the same result as lane by lane."""

import numpy as np
import pytest

from launch.checks.owner_table import PossibleRace
from launch.cpu.located import Rows
from launch.cpu.locator import Locator
from launch.cpu.programs import ProgramInstances
from tests.unit.launch.cpu.array_memory import ArrayMemory

WIDTH = 16
COLUMNS = np.arange(WIDTH, dtype=np.int32)[None]
STARTS = np.array([0, 20, 40], np.int32)


def made(size=60):
    arrays = ArrayMemory()
    array = np.arange(size, dtype=np.float32)
    x = arrays.pointer(array, "fp32")
    programs = ProgramInstances((3,))
    programs.begin(np.arange(3))
    return array, x, arrays.of(programs), Locator(arrays.space, arrays.allocations)


def is_row(locator, pointer, live=None):
    [found] = locator.located(pointer, live)
    return isinstance(found, Rows)


def test_contiguous_offsets_are_a_row():
    _, x, _, locator = made()
    assert is_row(locator, (x + STARTS)[:, None] + COLUMNS)
    assert is_row(locator, x + (STARTS[:, None] + COLUMNS))
    assert not is_row(locator, (x + STARTS)[:, None] + COLUMNS[:, ::-1])
    assert not is_row(locator, x + COLUMNS * 2)
    assert not is_row(locator, x + (COLUMNS ^ 1))
    assert is_row(locator, x + COLUMNS, COLUMNS < WIDTH)


def test_numbers_that_wrap_around_are_no_row():
    _, x, memory, _ = made()
    wrapping = (np.int64(2**31 - 4) + COLUMNS).astype(np.int32)
    with pytest.raises(PossibleRace):
        memory.load((x + np.array([4 - 2**31]))[:, None] + wrapping, None, None, (WIDTH,))


def test_a_mask_that_ends_every_row_alike_shortens_it():
    array, x, memory, locator = made()
    wide = np.arange(32, dtype=np.int32)[None]
    mask = wide < 20
    rows = (x + STARTS)[:, None] + wide
    assert is_row(locator, rows, mask)  # although the last whole row is out of bounds
    wanted = np.where(mask, array[np.minimum(STARTS[:, None] + wide, 59)], -1)
    found = memory.load(rows, mask, np.array([-1.0], np.float32), (32,))
    assert found.tolist() == wanted.tolist()


def test_other_values_may_differ_lane_by_lane():
    array, x, memory, _ = made()
    wide = np.arange(32, dtype=np.int32)[None]
    other = -np.arange(96, dtype=np.float32).reshape(3, 32)
    found = memory.load(x + wide, wide < 20, other, (32,))
    assert found.tolist() == np.where(wide < 20, array[:32], other).tolist()


@pytest.mark.parametrize("offset", [-1, 5, 1 << 40])
def test_a_row_out_of_bounds_is_suspected(offset):
    array, x, memory, _ = made()
    before = array.copy()
    rows = (x + (STARTS.astype(np.int64) + offset))[:, None] + COLUMNS
    with pytest.raises(PossibleRace):
        memory.load(rows, None, None, (WIDTH,))
    with pytest.raises(PossibleRace):
        memory.store(rows, np.ones((1, 1), np.float32), None, (WIDTH,))
    assert (array == before).all()


def test_a_mask_of_some_lanes_keeps_the_others_out():
    array, x, memory, _ = made()
    mask = (COLUMNS % 3 == 0) & (STARTS[:, None] != 20)
    rows = (x + STARTS)[:, None] + COLUMNS
    found = memory.load(rows, mask, None, (WIDTH,))
    assert found.tolist() == np.where(mask, array[STARTS[:, None] + COLUMNS], 0).tolist()
    wanted = array.copy()
    wanted[(STARTS[:, None] + COLUMNS)[mask]] = -5
    memory.store(rows, np.full((1, 1), -5, np.float32), mask, (WIDTH,))
    assert array.tolist() == wanted.tolist()


def test_of_rows_that_overlap_the_last_stays():
    array, x, memory, _ = made()
    values = np.arange(48, dtype=np.float32).reshape(3, 16)
    wanted = array.copy()
    for row, start in enumerate((0, 4, 8)):
        wanted[start : start + 16] = values[row]
    memory.store((x + np.array([0, 4, 8]))[:, None] + COLUMNS, values, None, (WIDTH,))
    assert array.tolist() == wanted.tolist()


def test_a_value_of_one_lane_fills_the_live_part_of_rows():
    array, x, memory, _ = made()
    wide = np.arange(32, dtype=np.int32)[None]
    memory.store(x + wide, np.array([[7.0]], np.float32), wide < 20, (32,))
    assert array.tolist() == [7] * 20 + list(range(20, 60))


def test_programs_write_rows_through_one_pointer_in_their_order():
    array, x, memory, _ = made()
    values = np.arange(48, dtype=np.float32).reshape(3, 16)
    memory.store(x + COLUMNS, values, None, (WIDTH,))
    assert array[:WIDTH].tolist() == values[2].tolist()


def test_tiles_have_rows_of_rows():
    array, x, memory, locator = made()
    rows = np.array([0, 16], np.int32)[None, :, None]
    tile = (x + np.array([0, 8, 28], np.int32))[:, None, None] + rows + COLUMNS[:, None, :]
    assert is_row(locator, tile)
    index = np.array([0, 8, 28])[:, None, None] + rows + COLUMNS[:, None, :]
    assert memory.load(tile, None, None, (2, WIDTH)).tolist() == array[index].tolist()
