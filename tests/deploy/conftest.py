"""The Helm chart, rendered with the values of each profile.

Collected by `make test-deploy` only, which installs helm and a validator into a separate
environment.
"""

from __future__ import annotations

import pytest

from tests.deploy.chart import NAMED

collect_ignore_glob = [] if NAMED else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "deploy: manifests of the Helm chart")
