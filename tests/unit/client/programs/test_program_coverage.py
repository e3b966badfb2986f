"""Reports show how much of a program's time its kernels take."""

from __future__ import annotations

import pytest
from tritonc.programs.timed_program import ProgramTimes

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("measure", ["time", "work"])
def test_coverage_is_shown_with_what_it_is_a_share_of(measure: str) -> None:
    answer = {"coverage": 0.9, "coverage_measure": measure}
    assert list(ProgramTimes.from_json(answer).lines({})) == [
        f"in its own kernels: 90% of the {measure}"
    ]
