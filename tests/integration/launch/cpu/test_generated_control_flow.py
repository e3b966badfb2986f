"""Divergent programs give the same results in a batch as alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cases import slow_except
from tests.integration.launch.cpu.forms import ALL_AT_ONCE, forms_of
from tests.integration.launch.cpu.generated import AREA, Writer

PROGRAMS = 9
SEEDS, QUICK = range(60), range(10)


@pytest.mark.parametrize("seed", slow_except(QUICK, SEEDS))
def test_generated_kernels(seed: int) -> None:
    forms = forms_of(Writer(seed).kernel())
    random = np.random.default_rng(seed)
    memory = random.integers(-(2**31), 2**31, PROGRAMS * AREA).astype(np.int32)
    wanted = memory.copy()

    forms.one_by_one((PROGRAMS, 1, 1), [wanted, 5])

    for most in (1, 4 * forms.run.largest_tile, ALL_AT_ONCE):
        found = memory.copy()
        forms.gather_limited((PROGRAMS, 1, 1), [found, 5], most)
        np.testing.assert_array_equal(found, wanted)
    forms.at_once_checked((PROGRAMS, 1, 1), [memory.copy(), 5])
    assert forms.run.is_batchable
    assert (wanted != memory).any()
