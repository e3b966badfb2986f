"""Shared by all tests: each gets a marker with the name of its folder."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.integration.service.shared import http, post, system

__all__ = ["http", "post", "system"]  # here, since each folder that imported them had its own

TESTS = Path(__file__).parent
# how long an example takes says something of the machine, not of what is tested; and one commit has
# one answer: new examples are what `make fuzz` is for
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# Each HTTP client reads all certificates of the machine when it is made, which takes 40 ms of CPU
# time. No test asks a server by HTTPS.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull

# a shell that runs the tests in its background has them and what they start ignore Ctrl-C
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        item.add_marker(getattr(pytest.mark, folder))
