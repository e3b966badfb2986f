"""Shared by all tests: each gets a marker with the name of its folder."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.integration.service.shared import http, post, system
from tests.loop_steps import measure_loops
from tests.shares import examples, in_share

__all__ = ["http", "post", "system"]  # here, since each folder that imported them had its own

TESTS = Path(__file__).parent
# An example's time depends on the machine, not on the code under test. One commit has one result:
# `make fuzz` tries new examples.
STEADY = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=25
)
settings.register_profile("steady", STEADY)
THOROUGH = settings(STEADY, max_examples=examples(400))
settings.register_profile("thorough", THOROUGH)  # `make test-slow` names it
settings.load_profile("steady")

# Each new HTTP client reads all certificates of the machine, which takes 40 ms of CPU time. No test
# asks a server by HTTPS.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull

# A shell that runs the tests in the background makes them and their children ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    measure_loops(config)


gc.disable()  # until all is collected, which makes millions of objects that stay


def pytest_collection_finish() -> None:
    """Leave modules and tests out of all later garbage collections."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let Python free at its end what it would free without us; else Triton prints what is left."""
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        item.add_marker(getattr(pytest.mark, folder))
    kept = in_share([item.nodeid for item in items])
    left_out = [item for item, keep in zip(items, kept, strict=True) if not keep]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item, keep in zip(items, kept, strict=True) if keep]
