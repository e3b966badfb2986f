"""Every form of the CPU device runs random kernels like a plain oracle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tried(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the output of `make fuzz-kernels` in another process: it loads Triton's front end."""
    command = [sys.executable, "-m", "tests.differential.kernels", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_every_form_of_a_kernel_gives_what_the_oracle_does() -> None:
    ended = tried("--seed", "1", "--kernels", "25")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "| all | 25 | 0 |" in ended.stdout


def test_a_fault_of_the_device_is_found_soon() -> None:
    fault = "swap_minimum_and_maximum"

    ended = tried("--seed", "1", "--kernels", "25", "--fault", fault)

    assert f"{fault}: found by kernel " in ended.stdout, ended.stdout + ended.stderr
