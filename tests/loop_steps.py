"""Fails a session in which one step of an event loop took more than 250 ms of CPU time.

It measures the loops of this process, and those of services and workers that tests start: they
find the folder in their environment, and record their slow steps there.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from jobs.loop_steps import LoopSteps

VARIABLE = "TRITOND_SLOW_STEPS"
BROWSER_DRIVER = "PipeTransport.run:"
"""Playwright's own loop, whose steps run the code of the page's tests between them."""


class SlowSteps:
    """Reads the records at the end, and names the test that ran at the time of each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ran: list[tuple[float, float, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._ran.append((report.start, report.stop, f"{report.nodeid} ({report.when})"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._records() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if records := self._records():
            terminalreporter.section("steps of event loops that took more than 250 ms of CPU time")
        for record in records:
            terminalreporter.line(f"{record['cpu_s']} s: {record['step']}")
            terminalreporter.line(f"    in {' '.join(map(str, record['process']))}")
            terminalreporter.line(f"    during {self._during(record['time_s'])}")

    def _records(self) -> list[dict[str, Any]]:
        files = sorted(self._folder.glob("*.jsonl"))
        records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [record for record in records if BROWSER_DRIVER not in record["step"]]

    def _during(self, time_s: float) -> str:
        ran = [name for start, stop, name in self._ran if start <= time_s <= stop]
        return ", ".join(ran) or "no test"


def measure_loops(config: pytest.Config) -> None:
    """Measure this session. The processes of its workers only record."""
    if VARIABLE not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="slow-steps-"))
        os.environ[VARIABLE] = str(folder)
        config.pluginmanager.register(SlowSteps(folder))
    LoopSteps(Path(os.environ[VARIABLE])).measure_asyncio()
