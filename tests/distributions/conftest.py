"""The packages that `make dist` built and installed.

Collected only when TRITOND_TEST_DISTRIBUTIONS names its output folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NAMED = os.environ.get("TRITOND_TEST_DISTRIBUTIONS", "")
collect_ignore_glob = [] if NAMED else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "distributions: built and installed as users have them")


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the folder with two sdists and two wheels."""
    return Path(NAMED)


@pytest.fixture(scope="session")
def programs(built: Path) -> Path:
    """Return the commands' folder in an environment with only the wheels and their dependencies."""
    return built / "environment" / "bin"
