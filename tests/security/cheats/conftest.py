"""The shared deployment for all cheats; tests of the naive evaluator need torch."""

from __future__ import annotations

import os

import httpx
import pytest

collect_ignore = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_naive.py"]


@pytest.fixture(scope="session")
def client(http: httpx.Client) -> httpx.Client:
    return http
