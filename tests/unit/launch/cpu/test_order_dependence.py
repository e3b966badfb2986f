"""Batched programs leave the same memory as sequential ones, or raise a suspicion."""

import numpy as np
import pytest

from launch.checks.owner_table import PossibleRace
from launch.cpu.programs import ProgramInstances
from tests.unit.launch.cpu.array_memory import ArrayMemory

BLOCKS = np.array([[0], [4]]) + np.arange(4)[None]
SWAPPED = BLOCKS[::-1]
FIRSTS = np.array([[0], [1]])
OVERLAPPING = FIRSTS + np.arange(4)[None]
ALL = np.arange(4)[None]
ONES = np.ones((1, 1), np.float32)
NUMBERS = np.arange(8, dtype=np.float32).reshape(2, 4)


class Steps:
    """Accesses of two programs to one argument."""

    def __init__(self, count=2, *, output=True):
        arrays = ArrayMemory()
        self._x = arrays.pointer(np.zeros(16, np.float32), "fp32", output=output)
        self.programs = ProgramInstances((4,))
        self.programs.begin(np.arange(count))
        self._memory = arrays.of(self.programs)

    def load(self, cells, kind=np.float32):
        self._memory.load(self._x.cast(kind) + cells, None, None, (cells.shape[1],))
        return self

    def store(self, cells, values=NUMBERS, kind=np.float32):
        values = values.astype(kind)
        self._memory.store(self._x.cast(kind) + cells, values, None, (cells.shape[1],))
        return self

    def atomic(self, cells, kind="add", dtype=np.int32):
        ones = ONES.astype(dtype)
        self._memory.atomic(kind, self._x.cast(dtype) + cells, ones, None, (cells.shape[1],), False)
        return self

    def next_batch(self):
        self.programs.begin(np.arange(2, 4))
        return self


HARMLESS = {
    "own elements": lambda on: on.load(BLOCKS).store(BLOCKS).load(BLOCKS).store(BLOCKS),
    "many reads": lambda on: on.load(ALL).load(BLOCKS).load(SWAPPED).load(ALL),
    "reads before": lambda on: on.load(BLOCKS).load(BLOCKS).load(BLOCKS).store(BLOCKS),
    "one store to one place": lambda on: on.store(BLOCKS // 8),
    "reads elsewhere, then one store to one place": lambda on: on.load(BLOCKS + 8).store(
        BLOCKS // 8
    ),
    "one store of all": lambda on: on.store(ALL, ONES),
    "one store of halves": lambda on: on.store(BLOCKS, kind=np.float16),
    "floats added to once": lambda on: on.atomic(ALL, dtype=np.float32),
    "own floats added to": lambda on: on.atomic(BLOCKS, dtype=np.float32).atomic(
        BLOCKS, dtype=np.float32
    ),
    "additions": lambda on: on.atomic(ALL).atomic(BLOCKS).atomic(ALL),
    "another batch": lambda on: on.store(BLOCKS).next_batch().load(SWAPPED).store(SWAPPED),
}
HARMFUL = {
    "read then changed by another": lambda on: on.load(BLOCKS).store(SWAPPED),
    "read then changed by the one before, too": lambda on: on.load(FIRSTS).store(OVERLAPPING),
    "changed, read, then changed by the one before, too": lambda on: (
        on.store(BLOCKS + 8).load(FIRSTS).store(OVERLAPPING)
    ),
    "read by all then changed": lambda on: on.load(ALL).store(BLOCKS),
    "often read then changed": lambda on: on.load(BLOCKS).load(BLOCKS).load(SWAPPED).store(BLOCKS),
    "changed then read by another": lambda on: on.store(BLOCKS).load(SWAPPED),
    "changed by all then read": lambda on: on.store(ALL, ONES).load(ALL),
    "changed by two": lambda on: on.store(BLOCKS).store(SWAPPED),
    "changed in another width": lambda on: on.load(BLOCKS).store(BLOCKS, kind=np.float16),
    "added to then read": lambda on: on.atomic(BLOCKS).load(BLOCKS),
    "changed then added to": lambda on: on.store(BLOCKS).atomic(BLOCKS),
    "added to then changed": lambda on: on.atomic(BLOCKS).store(BLOCKS),
    "added to then the larger kept": lambda on: on.atomic(ALL).atomic(ALL, "max"),
    "added to by floats twice": lambda on: on.atomic(ALL, dtype=np.float32).atomic(
        BLOCKS, dtype=np.float32
    ),
    "exchanged twice": lambda on: on.atomic(ALL, "xchg").atomic(BLOCKS, "xchg"),
}


@pytest.mark.parametrize("steps", HARMLESS)
def test_harmless(steps):
    HARMLESS[steps](Steps())


@pytest.mark.parametrize("steps", HARMFUL)
def test_suspected(steps):
    with pytest.raises(PossibleRace):
        HARMFUL[steps](Steps())


def test_a_single_program_raises_no_suspicion():
    one = BLOCKS[:1]
    Steps(count=1).store(one, NUMBERS[:1]).load(one).atomic(one).load(one).store(one, NUMBERS[:1])


def test_only_outputs_may_be_changed():
    with pytest.raises(PossibleRace):
        Steps(output=False).load(ALL).store(BLOCKS)
