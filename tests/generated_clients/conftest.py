"""A deployment for clients that others' generators make of our OpenAPI document.

Collected by `make test-generated-clients` only, which installs the generators.
"""

from __future__ import annotations

import os

import pytest

GENERATORS = os.environ.get("TRITOND_TEST_GENERATORS", "")
collect_ignore_glob = [] if GENERATORS else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "generated_clients: clients made of the OpenAPI document")
