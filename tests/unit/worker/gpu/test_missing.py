"""Unwritten elements, found by two runs over different poisons."""

import numpy as np
import pytest

from launch.buffers.element_types import poison_of, stored
from tests.unit.worker.gpu.test_contents import buffer, job
from worker.gpu.launcher.contents import Contents, missing_later, missing_of


def contents(count, dtype="i8", init=None):
    argument = ("a0", buffer([count], [1], dtype=dtype))
    return Contents(job(argument, sizes=(count,), inits=(init,), dtype=dtype))


def run(dtype, written, *, other=False):
    """Return the outputs of a run that writes `written` over a poison; None is unwritten."""
    poison = np.full(stored(dtype).itemsize, poison_of(stored(dtype), other=other), np.uint8)
    poisoned = poison.view(stored(dtype))[0]
    elements = [poisoned if one is None else one for one in written]
    return {"a0": np.array(elements, stored(dtype)).tobytes()}


def test_a_value_that_equals_the_poison_of_one_run_was_written():
    written = [-85, None, 3, 0x5C]
    again = lambda: run("i8", written, other=True)  # noqa: E731

    missing = missing_of(contents(4), run("i8", written), again)

    assert missing["a0"].tolist() == [False, True, False, False]


@pytest.mark.parametrize("dtype", ["i1", "i64", "fp32", "fp8e4b8"])
def test_what_is_written_in_no_run_is_missing(dtype):
    again = lambda: run(dtype, [None, None], other=True)  # noqa: E731

    missing = missing_of(contents(2, dtype), run(dtype, [None, None]), again)

    assert missing["a0"].tolist() == [True, True]


def test_there_is_no_second_run_where_nothing_is_missing():
    def again():
        pytest.fail("run again")

    assert missing_of(contents(2), run("i8", [1, 2]), again) == {}


def test_an_output_in_place_has_nothing_missing():
    made = contents(2, init={"kind": "zeros"})

    assert missing_of(made, run("i8", [-85, -85]), None) == {}


def test_without_a_second_run_small_integers_are_believed_to_be_written():
    assert missing_of(contents(2), run("i8", [None, 1]), None) == {}
    missing = missing_of(contents(2, "i32"), run("i32", [None, 1]), None)
    assert missing["a0"].tolist() == [True, False]


def test_a_later_run_may_write_less():
    first, later = run("i8", [-85, 2, None]), run("i8", [-85, None, None])
    missing = {"a0": np.array([False, False, True])}

    found = missing_later(contents(3), first, missing, later)

    assert found["a0"].tolist() == [False, True, True]
