"""The tools that watch a kernel from outside: where they are, and how they are started.

They are NVIDIA's own, come with the CUDA toolkit or separately, and are not needed to launch.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MEMCHECK, RACECHECK, INITCHECK = "memcheck", "racecheck", "initcheck"
SANITIZERS = (MEMCHECK, RACECHECK, INITCHECK)
PROFILE, SOURCE_COUNTERS = "profile", "source_counters"
PROFILERS = (PROFILE, SOURCE_COUNTERS)
"""The metrics to request from ncu: of the kernel, or of each of its instructions."""
REPORT = "report"
"""The file of the run's folder that a tool writes."""

PADDING_BYTES = 64 << 20
"""Behind every allocation, so that what is past one argument is not another's memory."""
_ALL_PADDING_BYTES = 4 << 30
MAX_REPORTED = 100
_FOLDERS = ("/usr/local/cuda/bin", "/opt/cuda/bin", "/usr/local/cuda/compute-sanitizer")
_PROFILER_FOLDERS = "/opt/nvidia/nsight-compute"
_RAW_PAGE = ("--page", "raw", "--metrics")
_SOURCE_PAGE = ("--page", "source", "--print-source", "sass", "--section", "SourceCounters")


@dataclass(frozen=True, slots=True)
class Tools:
    """Paths of the programs; None where a machine has none."""

    sanitizer: str | None
    profiler: str | None

    @property
    def names(self) -> list[str]:
        """The available checks, and `profile`."""
        sanitizers = list(SANITIZERS) if self.sanitizer else []
        return sanitizers + ([PROFILE] if self.profiler else [])

    def can(self, tool: str) -> bool:
        """Return True if the program for `tool` is installed."""
        return (PROFILE if tool in PROFILERS else tool) in self.names


def find_tools(environment: Mapping[str, str]) -> Tools:
    """Return the tools on the PATH of `environment`, or where they are usually installed."""
    path = ":".join([environment.get("PATH", ""), *_FOLDERS, *_profiler_folders()])
    return Tools(shutil.which("compute-sanitizer", path=path), shutil.which("ncu", path=path))


def _profiler_folders() -> list[str]:
    """Return the folders of all installed versions, the latest first."""
    return sorted(map(str, Path(_PROFILER_FOLDERS).glob("*")), reverse=True)


def command_of(
    tools: Tools, name: str, entry: str, folder: Path, *, metrics: str, allocations: int
) -> list[str]:
    """Return the words that a program is put behind, to be watched by the tool `name`.

    `entry` is the kernel's name, `allocations` how many it is given. Raises LookupError where the
    tool is not installed.
    """
    report = str(folder / REPORT)
    if name in PROFILERS:
        if tools.profiler is None:
            raise LookupError(name)
        page = (*_RAW_PAGE, metrics) if name == PROFILE else _SOURCE_PAGE
        return [
            *(tools.profiler, "--csv", "--print-units", "base", *page),
            *("--clock-control", "none", "--target-processes", "all"),
            *("--kernel-name-base", "function", "--kernel-name", entry, "--launch-count", "1"),
            *("--log-file", report),
        ]
    if tools.sanitizer is None:
        raise LookupError(name)
    command = [
        *(tools.sanitizer, "--tool", name, "--log-file", report, "--show-backtrace", "no"),
        *("--strip-paths", "no", "--print-limit", str(MAX_REPORTED), "--kill"),
    ]
    if name == MEMCHECK:
        padding_bytes = min(PADDING_BYTES, _ALL_PADDING_BYTES // max(1, allocations))
        command += ["--padding", str(padding_bytes), "--report-api-errors", "no"]
    elif name == RACECHECK:  # lower levels are writes of equal values, which are harmless
        command += ["--racecheck-detect-level", "error", "--print-level", "error"]
    return command
