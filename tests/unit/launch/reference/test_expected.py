"""Answers of a reference, as the worker forwards them."""

import numpy as np
import pytest

from compiler.diagnostic import Failure
from launch.buffers.allocation import Leaf
from launch.reference.expected import NoOutputs, by_output


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">f2"])
def test_numbers_of_the_other_byte_order_are_handed_on_in_this_machines(dtype):
    output = Leaf("y_ptr", (2,), (1,), 0, 0, "fp32", output=True)

    answered = by_output(np.array([1.0, 2.5], dtype), [output])

    assert answered["y_ptr"].dtype.isnative
    assert answered["y_ptr"].tolist() == [1.0, 2.5]


def test_results_without_an_output_to_compare_are_no_fault_of_the_reference():
    with pytest.raises(NoOutputs, match="the launch has no output") as raised:
        by_output(np.ones(2), [])

    assert "Mark each argument that the kernel writes as an output" in raised.value.message
    assert by_output({}, []) == {}


def test_a_result_for_an_input_asks_for_the_mark_of_outputs():
    output = Leaf("y_ptr", (2,), (1,), 0, 0, "fp32", output=True)

    with pytest.raises(Failure, match="mark it as an output"):
        by_output({"x_ptr": np.ones(2)}, [output])
