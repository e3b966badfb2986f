"""Fixtures of all tests of launches: children that compile, those that run, Triton's own JIT."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.compiler.conftest import children
from tests.integration.launch.launch_pool import pool
from tests.integration.launch.request.triton_jit import TritonJit

__all__ = ["children", "pool"]


@pytest.fixture(scope="session")
def triton_jit() -> Iterator[TritonJit]:
    with TritonJit() as running:
        yield running
