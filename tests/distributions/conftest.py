"""The packages that `make dist` built and installed.

Collected only when TRITOND_TEST_DISTRIBUTIONS names the folder that it built into.
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
    """The folder with two sdists and two wheels."""
    return Path(NAMED)


@pytest.fixture(scope="session")
def programs(built: Path) -> Path:
    """The folder of the commands of an environment with nothing but the wheels and their needs."""
    return built / "environment" / "bin"
