"""One warmed process for all compiler tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.triton_compile import TritonCompile


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    """Run tasks in children of one warmed process."""
    running = Children()
    yield running
    running.close()


@pytest.fixture(scope="session")
def directly() -> Iterator[TritonCompile]:
    """Compile with Triton alone."""
    with TritonCompile() as running:
        yield running
