"""Atomic operations within a program: a warning for CUDA targets, a race for others."""

from dataclasses import replace

import pytest

from launch.buffers.allocation import Leaf
from launch.checks.access import Access
from launch.checks.addresses import Slot
from launch.checks.finding import Conflict, KernelLocation, race

LEAF = Leaf("count_ptr", (4,), (1,), 0, 0, "i32", output=True)
SLOT = Slot(LEAF, 1 << 40, (1 << 40) + 16, 0)
HERE = KernelLocation("user.py", 7, (1, 0, 0))
THERE = KernelLocation("user.py", 7, (0, 0, 0))


@pytest.mark.parametrize(("is_cuda", "kind"), [(True, "warning"), (False, "race")])
def test_two_programs_that_update_an_element_within_themselves(is_cuda, kind):
    conflict = Conflict((1 << 40) + 8, THERE, other_wrote=True, lanes=1, both_atomic=True)
    found = race(Access.ATOMIC, SLOT, conflict, HERE, is_cuda=is_cuda)
    assert (found.kind, found.scope, found.index) == (kind, "between_programs", [2])
    assert "program (0, 0, 0) at line 7" in found.message


def test_a_store_beside_such_an_operation_is_a_race_on_every_target():
    conflict = Conflict(1 << 40, THERE, other_wrote=True, lanes=1)
    found = race(Access.STORE, SLOT, conflict, HERE, is_cuda=True)
    assert (found.kind, found.scope) == ("race", "between_programs")


@pytest.mark.parametrize(
    ("ignored", "line", "words"),
    [
        ({0}, 7, "The address does not depend on tl.program_id(0): add what selects"),
        ({0}, 6, "Let each program write different elements"),
        ({1}, 7, "Let each program write different elements"),
    ],
)
def test_a_race_names_the_axis_that_its_address_ignores(ignored, line, words):
    conflict = Conflict(1 << 40, replace(THERE, line=line), other_wrote=True, lanes=1)
    found = race(Access.STORE, SLOT, conflict, HERE, ignored_axes=frozenset(ignored))
    assert words in found.message
