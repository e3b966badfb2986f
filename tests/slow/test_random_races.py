"""In random kernels, `racecheck` agrees with an oracle that looks at all pairs of accesses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.differential.races.kernel import RandomKernel, Statement

ROOT = Path(__file__).parents[2]


def test_random_kernels_give_no_false_alarm_and_few_misses() -> None:
    command = [sys.executable, "-m", "tests.differential.races", "--seed", "1", "--kernels", "150"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "between: found" in ended.stdout


def test_the_oracle_takes_a_ticket_for_an_order_only_with_its_semantics() -> None:
    stores = Statement("store", steps=(4, 1, 0))
    reads = Statement("load", steps=(0, 1, 0), part=1)
    kernels = {
        ticket: RandomKernel((stores, reads), ticket, elements=16, lanes=4, programs=4)
        for ticket in ("acq_rel", "relaxed")
    }

    assert not kernels["acq_rel"].expected().between
    assert kernels["relaxed"].expected().between
