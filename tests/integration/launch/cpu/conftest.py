"""Children that compile kernels, and children that run them on the CPU device."""

import pytest

from tests.integration.compiler.conftest import children
from tests.integration.launch.child_runs import CpuDevice
from tests.integration.launch.launch_pool import pool

__all__ = ["children", "pool"]


@pytest.fixture
def device(pool, children):
    return CpuDevice(pool, children)
