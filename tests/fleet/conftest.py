"""A fleet on separate machines, under load. Collected by `make test-fleet` only."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.buckets.conftest import NAMED
from tests.fleet.fleet import Fleet
from tests.fleet.load import Load

collect_ignore_glob = [] if NAMED and os.environ.get("TRITOND_TEST_FLEET") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fleet: services, workers and stores on several machines")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    measured = [
        (report.nodeid.rpartition("::")[2], seconds)
        for report in terminalreporter.getreports("passed")
        for name, seconds in report.user_properties
        if name == "recovery_s"
    ]
    if measured:
        terminalreporter.section("recovery, from the fault (or its end, if it stops all)")
        for test, seconds in measured:
            terminalreporter.line(f"{seconds:6.1f} s  {test}")


@pytest.fixture(scope="session")
def started_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    try:
        fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    except OSError as error:
        pytest.skip(f"this machine makes no network namespaces and mounts: {error}")
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.stop()


@pytest.fixture
def fleet(started_fleet: Fleet) -> Fleet:
    started_fleet.mend()
    return started_fleet


@pytest.fixture
def load(fleet: Fleet, request: pytest.FixtureRequest) -> Iterator[Load]:
    """Post compilations all the time; at the end, all that was accepted must have its result."""
    load = Load(fleet, request.node.name)
    load.start()
    yield load
    load.stop()
    assert load.wrong == []
