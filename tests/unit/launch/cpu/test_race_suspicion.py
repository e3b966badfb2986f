"""Programs that may conflict raise a suspicion; independent ones do not."""

import numpy as np
import pytest

from launch.checks.owner_table import PossibleRace
from launch.checks.race_screen import RaceScreen
from launch.cpu.programs import ProgramInstances
from tests.unit.launch.cpu.array_memory import ArrayMemory

BLOCKS = np.array([[0], [4]]) + np.arange(4)[None]
ALL = np.arange(4)[None]
ONES = np.ones((1, 1), np.float32)
NUMBERS = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def made():
    arrays = ArrayMemory()
    x = arrays.pointer(np.zeros(16, np.float32), "fp32")
    programs = ProgramInstances((2,))
    programs.begin(np.arange(2))
    return arrays.of(programs, races=RaceScreen(arrays.allocations)), x


def load(memory, x, cells, mask=None):
    memory.load(x + cells, mask, None, (cells.shape[1],))


def store(memory, x, cells, values, mask=None):
    memory.store(x + cells, values, mask, (cells.shape[1],))


def add(memory, x, cells, mask=None, kind="add", dtype=np.int32):
    ones = ONES.astype(dtype)
    memory.atomic(kind, x.cast(dtype) + cells, ones, mask, (cells.shape[1],), False)


def test_programs_with_elements_of_their_own(made):
    memory, x = made
    for _ in range(2):
        load(memory, x, BLOCKS)
        store(memory, x, BLOCKS, NUMBERS)


def test_programs_that_only_read(made):
    memory, x = made
    load(memory, x, ALL)
    load(memory, x, BLOCKS)
    load(memory, x, BLOCKS[::-1])


def test_programs_that_only_add_atomically(made):
    memory, x = made
    add(memory, x, ALL)
    add(memory, x, BLOCKS)


def test_one_store_of_equal_values_to_one_place(made):
    memory, x = made
    store(memory, x, ALL, ONES)


def test_masked_lanes_access_nothing(made):
    memory, x = made
    mask = np.array([[True], [False]])
    store(memory, x, np.zeros((2, 1), np.int64), np.array([[1.0], [2.0]], np.float32), mask)
    load(memory, x, np.zeros((2, 1), np.int64), mask)


def overlap(memory, x):
    store(memory, x, BLOCKS // 2, NUMBERS)


def lanes_of_one_program_differ(memory, x):
    store(memory, x, BLOCKS // 4, NUMBERS)


def write_what_another_read(memory, x):
    load(memory, x, BLOCKS)
    store(memory, x, BLOCKS[::-1], NUMBERS)


def write_what_several_read(memory, x):
    load(memory, x, ALL)
    store(memory, x, BLOCKS, NUMBERS, np.array([[True], [False]]))


def write_what_both_read_in_one_access(memory, x):
    load(memory, x, np.array([[0, 1], [1, 2]]))
    store(memory, x, np.array([[9], [1]]), NUMBERS[:, :1])


def write_what_both_read_one_after_the_other(memory, x):
    load(memory, x, np.array([[0], [1]]))
    load(memory, x, np.array([[1], [2]]))
    load(memory, x, np.array([[0], [1]]))
    store(memory, x, np.array([[9], [1]]), NUMBERS[:, :1])


def read_what_another_wrote(memory, x):
    store(memory, x, BLOCKS, NUMBERS)
    load(memory, x, BLOCKS + 1)


def read_what_all_wrote(memory, x):
    store(memory, x, ALL, ONES)
    load(memory, x, ALL)


def write_what_another_wrote(memory, x):
    store(memory, x, BLOCKS, NUMBERS)
    store(memory, x, BLOCKS[::-1], NUMBERS)


def read_what_was_added(memory, x):
    add(memory, x, BLOCKS)
    load(memory, x, BLOCKS)


def add_to_what_was_written(memory, x):
    store(memory, x, BLOCKS, NUMBERS)
    add(memory, x, BLOCKS)


def add_floats_twice(memory, x):
    add(memory, x, ALL, dtype=np.float32)
    add(memory, x, ALL, dtype=np.float32)


def keep_the_larger_of_what_was_added_to(memory, x):
    add(memory, x, ALL)
    add(memory, x, ALL, kind="max")


def add_to_what_another_read(memory, x):
    load(memory, x, BLOCKS)
    add(memory, x, BLOCKS[::-1])


@pytest.mark.parametrize(
    "do",
    [
        overlap, lanes_of_one_program_differ, write_what_another_read, write_what_several_read,
        write_what_both_read_in_one_access, write_what_both_read_one_after_the_other,
        read_what_another_wrote, read_what_all_wrote, write_what_another_wrote,
        add_floats_twice, keep_the_larger_of_what_was_added_to, read_what_was_added,
        add_to_what_was_written, add_to_what_another_read,
    ],
    ids=lambda do: do.__name__.replace("_", " "),
)  # fmt: skip
def test_suspected(made, do):
    with pytest.raises(PossibleRace):
        do(*made)


def test_elements_that_are_only_partly_accessed(made):
    memory, x = made
    with pytest.raises(PossibleRace):
        store(memory, x.cast(np.int16), BLOCKS, np.ones((1, 1), np.int16))


def test_only_outputs_may_be_written():
    arrays = ArrayMemory()
    x = arrays.pointer(np.zeros(16, np.float32), "fp32", output=False)
    programs = ProgramInstances((2,))
    programs.begin(np.arange(2))
    memory = arrays.of(programs, races=RaceScreen(arrays.allocations))
    load(memory, x, ALL)
    with pytest.raises(PossibleRace):
        store(memory, x, BLOCKS, NUMBERS)
