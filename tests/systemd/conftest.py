"""The units of deploy/systemd, read by systemd itself; collected by `make test-systemd` only."""

import os

import pytest

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_SYSTEMD") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "systemd: units as systemd reads them")
