"""Tests of the naive evaluator need torch."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_naive.py"]
