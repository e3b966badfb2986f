"""The CPU device: children compile kernels, and other children run them."""

import pytest

from tests.integration.launch.child_runs import CpuDevice


@pytest.fixture
def device(pool, children):
    return CpuDevice(pool, children)
