"""Loads and stores of a batch of programs, through hand-made pointers."""

import ml_dtypes
import numpy as np
import pytest

from launch.buffers.element_types import poisoned
from launch.checks.owner_table import PossibleRace
from launch.checks.written_memory import WrittenBytes, WrittenElements
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from tests.unit.launch.cpu.array_memory import ArrayMemory

LANES = np.arange(4, dtype=np.int32)[None]


def programs_of(count, active=None):
    programs = ProgramInstances((count,))
    programs.begin(np.arange(count))
    programs.active = None if active is None else np.array(active)
    return programs


def memory_of(array, kind="fp32", *, programs=None, **checks):
    arrays = ArrayMemory()
    pointer = arrays.pointer(array, kind)
    return arrays.of(programs or programs_of(3), **checks), pointer


def column(*values, dtype=np.int32):
    return np.array(values, dtype)[:, None]


def test_each_program_loads_its_own_lanes():
    memory, x = memory_of(np.arange(12, dtype=np.float32))
    found = memory.load(x + (column(0, 4, 8) + LANES), shape=(4,))
    assert found.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_equal_loads_of_all_programs_happen_once():
    memory, x = memory_of(np.arange(12, dtype=np.float32))
    assert memory.load(x + LANES, shape=(4,)).shape == (1, 4)
    assert memory.load(x).tolist() == [0]


def test_a_masked_lane_holds_the_other_value_or_zero():
    memory, x = memory_of(np.arange(10, dtype=np.float32))
    offsets = column(0, 4, 8) + LANES
    found = memory.load(x + offsets, offsets < 10, np.array([-1.0], np.float32), (4,))
    assert found[2].tolist() == [8, 9, -1, -1]
    assert memory.load(x + offsets, offsets < 10, None, (4,))[2].tolist() == [8, 9, 0, 0]


def test_nothing_is_loaded_where_every_lane_is_masked():
    memory, x = memory_of(np.arange(4, dtype=np.float32))
    found = memory.load(x + (LANES + 99), LANES < 0, np.array([5.0], np.float32), (4,))
    assert np.broadcast_to(found, (1, 4)).tolist() == [[5, 5, 5, 5]]


def test_a_load_has_the_extent_of_its_tile_whatever_its_mask_leaves_out():
    memory, x = memory_of(np.arange(4, dtype=np.float32))
    row = x + LANES[:, None]
    for rows in (2, 1):
        mask = (np.arange(2)[:, None] < rows)[None] & (LANES >= 0)[:, None]
        assert memory.load(row, mask, None, (2, 4)).shape == (1, 2, 4)


@pytest.mark.parametrize("mask", [None, LANES >= 0, LANES > 0, LANES > 9])
def test_a_load_of_one_address_has_the_extent_of_its_tile(mask):
    memory, x = memory_of(np.arange(4, dtype=np.float32))
    assert memory.load(x + column(1), mask, None, (4,)).shape == (1, 4)


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, np.bool_])
def test_rows_of_any_type_are_moved(dtype):
    numbers = np.arange(96).astype(dtype)
    kinds = {ml_dtypes.float8_e5m2: "fp8e5", ml_dtypes.float8_e4m3fn: "fp8e4nv", np.bool_: "i1"}
    memory, x = memory_of(numbers.copy(), kinds[dtype])
    rows = x + column(0, 32, 64) + np.arange(32, dtype=np.int32)[None]
    found = memory.load(rows, shape=(32,))
    assert found.tobytes() == numbers.tobytes()
    memory.store(rows, found[::-1], shape=(32,))
    assert memory.load(rows, shape=(32,)).tobytes() == found[::-1].tobytes()


@pytest.mark.parametrize("kind", ["bf16", "fp8e5", "fp16", "i1"])
def test_narrow_types_keep_their_bits(kind):
    dtype = {"bf16": ml_dtypes.bfloat16, "fp8e5": ml_dtypes.float8_e5m2, "fp16": np.float16}.get(
        kind, np.bool_
    )
    array = np.array([0, 1, 1, 0, 1, 1]).astype(dtype)
    memory, x = memory_of(array, kind)
    found = memory.load(x + (column(0, 1, 2) + LANES), LANES != 2, None, (4,))
    assert found.dtype == dtype
    assert found.astype(int).tolist() == [[0, 1, 0, 0], [1, 1, 0, 1], [1, 0, 0, 1]]
    memory, x = memory_of(array, kind)
    memory.store(x + LANES, found[:1], None, (4,))
    assert array.astype(int).tolist() == [0, 1, 0, 0, 1, 1]


def test_programs_that_take_no_part_touch_nothing():
    array = np.zeros(12, np.float32)
    memory, x = memory_of(array, programs=programs_of(3, [True, False, True]))
    offsets = column(0, 10_000, 8) + LANES
    memory.store(x + offsets, np.ones((1, 1), np.float32), None, (4,))
    assert array.tolist() == [1] * 4 + [0] * 4 + [1] * 4
    assert memory.load(x + offsets, shape=(4,))[1].tolist() == [0] * 4


def test_of_equal_places_the_last_program_stays():
    array = np.zeros(2, np.float32)
    memory, x = memory_of(array)
    memory.store(x, np.array([5, 6, 7], np.float32))
    assert array.tolist() == [7, 0]


@pytest.mark.parametrize("offset", [-1, 9, 1 << 40, -(1 << 40)])
@pytest.mark.parametrize("masked", [False, True])
def test_one_lane_out_of_bounds_is_suspected_and_nothing_is_touched(offset, masked):
    array = np.zeros(9, np.float32)
    memory, x = memory_of(array)
    offsets = np.array([[0], [offset], [1]])
    mask = np.array([[True], [True], [False]]) if masked else None
    with pytest.raises(PossibleRace):
        memory.load(x + offsets, mask, None, (1,))
    with pytest.raises(PossibleRace):
        memory.store(x + offsets, np.ones((1, 1), np.float32), mask, (1,))
    with pytest.raises(PossibleRace):
        memory.atomic("add", x + offsets, np.ones((1, 1), np.float32), mask, (1,), False)
    assert not array.any()


def test_a_view_is_bounded_by_itself():
    arrays = ArrayMemory()
    x = arrays.view(np.arange(10, dtype=np.float32), "fp32", first=2, elements=3)
    memory = arrays.of(programs_of(1))
    assert memory.load(x + np.arange(3)[None], shape=(3,)).tolist() == [[2, 3, 4]]
    for outside in (-1, 3):
        with pytest.raises(PossibleRace):
            memory.load(x + np.array([outside]))


def test_a_pointer_of_bytes_must_be_aligned():
    memory, x = memory_of(np.arange(4, dtype=np.int32), "i32")
    octets = x.cast(np.int8) + np.array([[4, 8]])
    assert memory.load(octets.cast(np.int32), shape=(2,)).tolist() == [[1, 2]]
    with pytest.raises(PossibleRace):
        memory.load((octets + np.array([[1, 0]])).cast(np.int32), shape=(2,))


def test_lanes_may_point_into_several_arguments():
    arrays = ArrayMemory()
    first, second = np.arange(4, dtype=np.float32), np.arange(10, 14, dtype=np.float32)
    x, y = arrays.pointer(first, "fp32"), arrays.pointer(second, "fp32")
    memory = arrays.of(programs_of(2))
    table = Pointer(np.array([[int(x.address[0])], [int(y.address[0])]]), np.float32)
    lanes = table + np.arange(3)[None]
    assert memory.load(lanes, shape=(3,)).tolist() == [[0, 1, 2], [10, 11, 12]]
    memory.store(lanes, np.array([[7.0], [8.0]], np.float32), None, (3,))
    assert (first.tolist(), second.tolist()) == ([7, 7, 7, 3], [8, 8, 8, 13])


def test_an_address_of_no_argument_is_suspected():
    memory, _ = memory_of(np.zeros(4, np.float32))
    with pytest.raises(PossibleRace):
        memory.load(Pointer(0, np.float32))


def test_a_load_of_a_single_program_that_fails_is_kept_and_its_lanes_are_0():
    memory, x = memory_of(np.ones((3, 4), np.float32), programs=programs_of(1))
    memory.is_exact = True
    given = memory.load(x + (np.int32(10) + LANES), shape=(4,))

    [found] = memory._access_checker.failed_loads
    assert given.tolist() == [[1, 1, 0, 0]]
    assert (found.kind, found.argument, found.index) == ("out_of_bounds", "x0", [3, 0])
    assert "2 lanes of the block do so" in found.message


def test_reads_of_unwritten_memory_are_suspected_until_it_is_written():
    array = poisoned(8, np.dtype(np.float32))
    arrays = ArrayMemory()
    x = arrays.pointer(array, "fp32")
    octets = WrittenBytes(arrays.allocations, [np.zeros(8, np.bool_)])
    memory = arrays.of(programs_of(2), written_bytes=octets)
    mine = x + (column(0, 4) + LANES)
    memory.store(mine, np.ones((1, 1), np.float32), LANES < 3, (4,))
    memory.load(mine, LANES < 3, None, (4,))
    with pytest.raises(PossibleRace):
        memory.load(mine, shape=(4,))


def test_what_was_stored_is_known_though_it_is_poison():
    array = poisoned(8, np.dtype(np.int32))
    arrays = ArrayMemory()
    x = arrays.pointer(array, "i32")
    written = WrittenElements(arrays.allocations, [np.zeros(8, np.bool_)])
    memory = arrays.of(programs_of(2), written=written)
    memory.store(x + column(1, 5), array[:1], None, (1,))
    memory.store(x + column(2, 6), np.array([[3]], np.int32), None, (1,))
    missing = written.unwritten(arrays.leaves[0])
    assert np.flatnonzero(missing).tolist() == [0, 3, 4, 7]
