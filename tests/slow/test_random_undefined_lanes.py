"""In random kernels, lanes without a value are found where an oracle's other values matter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.differential.undefined.kernel import LaneStatement, MaskedKernel

ROOT = Path(__file__).parents[2]
LOADED = LaneStatement("load", mask="o < {most}")


def test_random_kernels_give_no_false_alarm_of_lanes_and_few_misses() -> None:
    module = "tests.differential.undefined"
    command = [sys.executable, "-m", module, "--seed", "1000", "--kernels", "200"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "undefined: found" in ended.stdout


@pytest.mark.parametrize(
    ("made", "depends"),
    [
        (LaneStatement("sum", (0,)), True),
        (LaneStatement("add", (0, 0)), False),
        (LaneStatement("gather", (0,)), True),
    ],
)
def test_the_oracle_tells_which_lanes_matter(made: LaneStatement, depends: bool) -> None:
    assert MaskedKernel((LOADED, made), "o < {most}", lanes=4, programs=1).depends() is depends
