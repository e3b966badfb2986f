"""Programs for tests of the client: a script ends them, and the client shows the result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from launch.messages import Finding
from launch.request.verdict import Verdict
from programs.program_job import program_problem
from programs.program_record import ProgramFlag, ProgramKernel, Reward
from programs.program_request import EXAMPLE

SOURCE, REFERENCE = EXAMPLE["source"], EXAMPLE["reference"]["source"]
KERNEL = ProgramKernel(
    name="add_kernel", file="user.py", line=7, launches=2, compilation_key="c" * 64
)
PASSED: dict[str, Any] = {
    "verdict": Verdict.PASSED,
    "kernels": [KERNEL],
    "reward": Reward(compiled=True, correct=True),
    "timings_ms": {"total": 402.7},
}
WRONG: dict[str, Any] = PASSED | {
    "verdict": Verdict.OUT_OF_BOUNDS,
    "findings": [
        Finding(kind="out_of_bounds", message="reads x_ptr[4000]", file="user.py", line=10)
    ],
    "flags": [ProgramFlag(kind="no_kernel", message="it launches nothing")],
    "reward": Reward(compiled=True, correct=False, flags=["no_kernel"], serious=["no_kernel"]),
}
FLAGGED: dict[str, Any] = PASSED | {
    "flags": WRONG["flags"],
    "reward": WRONG["reward"],
}
NOT_RECORDABLE: dict[str, Any] = {
    "state": "failed",
    "problem": program_problem(
        "not_recordable", ".item() asks for a value", program="candidate", file="user.py", line=18
    ),
    "reward": Reward(compiled=False, correct=False),
}
Ends = Callable[..., Future[Any]]
TIMES = [
    "time: median 12.5 us, p20 12.5 us, p80 12.5 us (20 repeats)",
    "reference's time: median 25 us, p20 25 us, p80 25 us (20 repeats)",
    "speed-up: 2 (1.9 to 2.1)",
    "in its own kernels: 90% of the time",
    "  11 us, 90%: kernel add_kernel (new.py:21)",
    "reward: compiled yes, correct yes, speedup 2, coverage 0.9",
]
"""The client's output for the times of `TIMED`."""
