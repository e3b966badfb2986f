"""The shared deployment for all cheats; the naive evaluator beside it is tried where torch is."""

from __future__ import annotations

import os

import httpx
import pytest

collect_ignore = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_naive.py"]


@pytest.fixture(scope="session")
def client(http: httpx.Client) -> httpx.Client:
    return http
