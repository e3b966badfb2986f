"""Programs recorded and replayed with torch: these run in the environment of `make test-torch`.

Collected only there, since nothing else needs torch.
"""

from __future__ import annotations

import os

import pytest

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "programs: needs torch")
