"""Written elements of an output, computed by hand."""

import numpy as np

from launch.buffers.allocation import Allocation, Leaf, filled
from launch.buffers.element_types import poisoned, stored
from launch.checks.written_memory import WrittenElements


def leaf(*shape, offset=0, dtype="i8"):
    strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    return Leaf("out", tuple(shape), strides, offset, 0, dtype, output=True)


def marks_of(memory, layout, init=None, elements=None):
    described = {"name": "named", "elements": elements or memory.size, "init": init}
    arguments = {
        "named": {"kind": "buffer", "shape": layout.shape, "strides": layout.strides,
                  "offset": layout.offset, "allocation": 0, "dtype": layout.dtype, "output": True}
    }  # fmt: skip
    allocation = Allocation("named", layout.dtype, True, memory)
    return WrittenElements([allocation], filled([described], arguments))


def store(marks, cells, values):
    marks.store(0, np.array(values), lambda: np.array(cells))


def test_a_stored_element_counts_as_written_though_it_equals_the_poison():
    memory, out = poisoned(4, stored("i8")), leaf(4)
    marks = marks_of(memory, out)
    store(marks, [1, 2], memory[1:3])

    assert marks.unwritten(out).tolist() == [True, False, False, True]


def test_a_wide_store_writes_every_element_below_it():
    memory, out = poisoned(8, stored("i8")), leaf(8)
    marks = marks_of(memory, out)
    store(marks, [1], memory[:4].view("i4"))

    assert marks.unwritten(out).tolist() == [True] * 4 + [False] * 4


def test_a_narrow_store_writes_the_element_it_is_part_of():
    memory, out = poisoned(2, stored("i32")), leaf(2, dtype="i32")
    marks = marks_of(memory, out)
    store(marks, [3], memory[:1].view("i2")[:1])

    assert marks.unwritten(out).tolist() == [True, False]


def test_a_wide_store_of_which_a_part_is_poison_writes_that_part():
    memory, out = poisoned(4, stored("i16")), leaf(4, dtype="i16")
    marks = marks_of(memory, out)
    values = np.array([7, memory[0]], np.int16).view("i4")
    store(marks, [1], values)
    memory[2:] = values.view("i2")

    assert marks.unwritten(out).tolist() == [True, True, False, False]


def test_an_element_without_poison_was_written():
    memory, out = poisoned(3, stored("i32")), leaf(3, dtype="i32")
    marks = marks_of(memory, out)
    memory[1] = 7  # like an atomic operation

    assert marks.unwritten(out).tolist() == [True, False, True]


def test_an_output_in_place_has_nothing_unwritten():
    memory, out = np.full(3, -85, np.int8), leaf(3)

    assert marks_of(memory, out, init={"kind": "ones"}).unwritten(out) is None


def test_a_view_reaches_what_the_initial_contents_did_not():
    memory = poisoned(4, stored("i8"))
    every_third = Leaf("x", (2,), (3,), 0, 0, "i8", output=True)
    memory[[0, 3]] = 1
    marks = marks_of(memory, every_third, init={"kind": "ones"})

    assert marks.unwritten(leaf(2, offset=1)).tolist() == [True, True]
