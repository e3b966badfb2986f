"""The numbers of a loop whose step leads away from its end."""

import numpy as np
import pytest

from launch.cpu.control_flow import loop
from launch.cpu.programs import ProgramInstances


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_counter_wraps_in_its_type(dtype):
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    numbers = loop(ProgramInstances((1,)), lowest + 5, lowest + 9, -4, dtype)
    assert [int(one[0]) for one in numbers] == [lowest + 5, lowest + 1]
    assert highest - 2 > lowest + 9  # where the counter is after it has wrapped
