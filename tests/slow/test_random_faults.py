"""In random kernels, planted faults are found, and right kernels give no alarm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.differential.races.kernel import RandomKernel, Statement
from tests.differential.tuning.kernel import Step, TunedKernel
from tests.differential.undefined.kernel import LaneStatement, MaskedKernel

ROOT = Path(__file__).parents[2]
LOADED = LaneStatement("load", mask="o < {most}")
ADDING = Step("update", "y", "add", add=1)
INVERTING = Step("update", "y", "sub", add=1)
STORING = Step("store", "y", "add", add=1)


@pytest.mark.parametrize(
    ("name", "count", "kinds"),
    [
        ("races", 150, ["between", "within", "read_elsewhere"]),
        ("undefined", 200, ["undefined"]),
        ("tuning", 100, ["tuning", "wrong configuration"]),
    ],
)
def test_random_kernels_give_no_false_alarm_and_few_misses(
    name: str, count: int, kinds: list[str]
) -> None:
    module = [sys.executable, "-m", "tests.differential", name]
    command = [*module, "--seed", "1", "--count", str(count), "--processes", "1"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    for kind in kinds:
        assert f"{kind}: found" in ended.stdout


def test_a_race_within_the_program_that_comes_last_is_found() -> None:
    command = [sys.executable, "-m", "tests.differential", "races", "--seed", "300290"]
    ended = subprocess.run([*command, "--count", "1"], cwd=ROOT, capture_output=True, text=True)

    assert "within: found 1" in ended.stdout, ended.stdout + ended.stderr


def test_the_oracle_takes_a_ticket_for_an_order_only_with_its_semantics() -> None:
    stores = Statement("store", steps=(4, 1, 0))
    reads = Statement("load", steps=(0, 1, 0), part=1)
    kernels = {
        ticket: RandomKernel((stores, reads), ticket, elements=16, lanes=4, programs=4)
        for ticket in ("acq_rel", "relaxed")
    }

    assert not kernels["acq_rel"].expected().between
    assert kernels["relaxed"].expected().between


@pytest.mark.parametrize(
    ("created", "depends"),
    [
        (LaneStatement("sum", (0,)), True),
        (LaneStatement("add", (0, 0)), False),
        (LaneStatement("gather", (0,)), True),
    ],
)
def test_the_oracle_knows_which_lanes_matter(created: LaneStatement, depends: bool) -> None:
    assert MaskedKernel((LOADED, created), "o < {most}", lanes=4, programs=1).depends() is depends


@pytest.mark.parametrize(
    ("step", "prepared", "differs"),
    [
        (ADDING, {}, True),
        (ADDING, {"restored": ("y",)}, False),
        (ADDING, {"zeroed": ("y",)}, True),
        (INVERTING, {}, True),
        (STORING, {}, False),
    ],
)
def test_the_oracle_tunes_as_triton_does(
    step: Step, prepared: dict[str, tuple[str, ...]], differs: bool
) -> None:
    names = {"zeroed": (), "restored": ()} | prepared
    contents = {"x": [1, 2], "y": [3, 4], "z": [0, 0]}
    kernel = TunedKernel(
        (step,), (4, 8), 4, elements=2, contents=contents, lists_by_code=False, **names
    )

    assert kernel.has_side_effect() is differs
