"""Answers of a reference, as the worker forwards them."""

import numpy as np
import pytest

from launch.buffers.allocation import Leaf
from launch.reference.expected import by_output


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">f2"])
def test_numbers_of_the_other_byte_order_are_handed_on_in_this_machines(dtype):
    output = Leaf("y_ptr", (2,), (1,), 0, 0, "fp32", output=True)

    answered = by_output(np.array([1.0, 2.5], dtype), [output])

    assert answered["y_ptr"].dtype.isnative
    assert answered["y_ptr"].tolist() == [1.0, 2.5]
