"""The cost of one request in a process: CPU time, steps of its loop, and memory."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_STEP = re.compile(r"a step of the event loop took (\d+) ms of CPU time: (.*)")
"""The line that `jobs.loop_steps` logs at the level `debug` for a step of more than 100 ms."""
_QUIET_S, _QUIET_SHARE = 0.1, 0.1
_PEAK = "5"
"""Written to clear_refs, it sets the recorded peak of a process to its present memory."""


@dataclass(frozen=True)
class ProcessCost:
    """The cost of a process between two moments."""

    cpu_ms: float
    """CPU time of all its threads, without that of its children."""
    step_ms: float
    """CPU time of the slowest step of its loop; 0 if none took 100 ms."""
    step: str
    """Whose step that was."""
    growth_bytes: int
    """The peak of its memory, above what it held before."""


class Meter:
    """Measures the process `pid`, which logs its slow steps to `log`, from now until `stop`."""

    def __init__(self, pid: int, log: Path) -> None:
        self._folder = Path(f"/proc/{pid}")
        (self._folder / "clear_refs").write_text(_PEAK)
        self._resident_bytes = self._memory("VmRSS")
        self._cpu_ns = cpu_ns(pid)
        self._pid = pid
        self._log = log
        self._logged_bytes = log.stat().st_size

    def cpu_ms(self) -> float:
        """Return the CPU time until now."""
        return (cpu_ns(self._pid) - self._cpu_ns) / 1e6

    def stop(self) -> ProcessCost:
        """Return what the process has spent."""
        with self._log.open("rb") as log:
            log.seek(self._logged_bytes)
            step_ms, step = _slowest_step(log.read().decode(errors="replace"))
        return ProcessCost(
            cpu_ms=self.cpu_ms(),
            step_ms=step_ms,
            step=step,
            growth_bytes=max(0, self._memory("VmHWM") - self._resident_bytes),
        )

    def _memory(self, name: str) -> int:
        return int(_status(self._folder)[name].split()[0]) * 1024


def _slowest_step(lines: str) -> tuple[float, str]:
    """Return the milliseconds and the name of the slowest step that a log names."""
    steps = ((float(step[1]), step[2]) for step in _STEP.finditer(lines))
    return max(steps, default=(0.0, ""))


def cpu_ns(pid: int) -> int:
    """Return the CPU time of all living threads of a process."""
    return sum(thread_ns(thread) for thread in Path(f"/proc/{pid}/task").iterdir())


def thread_ns(thread: Path) -> int:
    """Return the CPU time of one thread; 0 for one that has just ended."""
    try:
        return int((thread / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def idle(pids: Sequence[int], within_s: float) -> bool:
    """Wait until processes use hardly any CPU time; return False if they never do."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        before_ns = sum(map(cpu_ns, pids))
        time.sleep(_QUIET_S)
        if sum(map(cpu_ns, pids)) - before_ns < _QUIET_S * _QUIET_SHARE * 1e9:
            return True
    return False


def _status(folder: Path) -> dict[str, str]:
    lines = (folder / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
