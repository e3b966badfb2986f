"""Storages of a tape that are chosen to lie between unmapped pages on a GPU."""

import pytest

from programs.gpu.memory_ranges import guarded_storages
from tests.programs.unit.tape_maker import TapeMaker

pytestmark = pytest.mark.unit

PAGE = 4096
LARGE = 1 << 30


def launching():
    """Return a tape of a launch, and the storages of its tensors and of another."""
    maker = TapeMaker()
    maker.phase = "inputs"
    x = maker.op("randn.default", {"list": [64]})
    maker.phase = "run"
    out, unused = maker.empty(), maker.empty()
    maker.launch(x, out)
    tape = maker.tape([x], [out, unused])
    return tape, [tape.tensors[one].storage for one in (x, out, unused)]


def test_tensors_that_launches_take_are_guarded():
    tape, (x, out, _) = launching()

    assert guarded_storages(tape, PAGE, LARGE) == {x, out}


def test_whole_pages_count_and_the_first_to_be_used_are_guarded():
    tape, (x, _, _) = launching()

    assert guarded_storages(tape, PAGE, 2 * PAGE - 1) == {x}
    assert guarded_storages(tape, PAGE, PAGE - 1) == frozenset()
