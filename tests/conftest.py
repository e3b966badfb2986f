"""What holds for all tests: a marker of its folder for each, and which files one process runs."""

import signal
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler.loadfile import LoadFileScheduling

from tests.integration.service.shared import http, post, system

__all__ = ["http", "post", "system"]  # here, since each folder that imported them had its own

TESTS = Path(__file__).parent
SHARING = {
    "idle": (
        "test_api_answers",
        "test_api_batches",
        "test_api_browsers",
        "test_api_callers",
        "test_client",
        "test_compiler_explorer",
        "test_mcp",
    ),
    "keyed": ("test_launches_callers", "test_launches_tensors"),
    "machine": ("test_refusing_store", "test_slow_clients", "test_stopping"),
    "recording": (
        "test_program_batches",
        "test_program_bundles",
        "test_program_client",
        "test_program_devices",
        "test_program_jobs",
        "test_program_tapes",
    ),
    "searches": ("test_search_ends", "test_searches", "test_winners"),
    "teams": (
        "test_api_namespaces",
        "test_api_shares",
        "test_api_states",
        "test_diff",
        "test_sweep_table",
    ),
}
"""Files that share a deployment beside that of all: one process runs them, and starts it once."""

# how long an example takes says something of the machine, not of what is tested; and one commit has
# one answer: new examples are what `make fuzz` is for
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# a shell that runs the tests in its background has them and what they start ignore Ctrl-C
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        item.add_marker(getattr(pytest.mark, folder))


class BySharing(LoadFileScheduling):
    """Has files that share a deployment run by one process, and any other file by any one."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        name = Path(file).stem
        return next((shared for shared, files in SHARING.items() if name in files), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BySharing | None:
    return BySharing(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture
def unmeasured() -> Iterator[None]:
    """For tests that measure time, or send as much as a bound allows: nobody counts branches."""
    counting = coverage.Coverage.current()
    if counting is not None:
        counting.stop()
    yield
    if counting is not None:
        counting.start()
