"""One warmed process for all tests of the making side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.compiler.children import Children


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    """Run tasks in children of one warmed process."""
    running = Children()
    yield running
    running.close()
