"""A cheating program from POST to flags; its kernel's writes come from real TTIR."""

from __future__ import annotations

import httpx

from programs.program_request import EXAMPLE
from tests.programs.with_torch.evaluating import evaluate

REFERENCE = EXAMPLE["reference"]["source"]


def test_a_launch_whose_result_is_dropped_is_flagged_with_its_line(programs: httpx.Client) -> None:
    source = EXAMPLE["source"].replace("return output", "return x + y")
    assert source != EXAMPLE["source"]
    program = evaluate(programs, source, REFERENCE)

    launch = next(at for at, line in enumerate(source.split("\n"), 1) if "[grid]" in line)
    assert (program["state"], program["verdict"]) == ("completed", "passed"), program
    assert [(flag["kind"], flag["line"]) for flag in program["flags"]][:2] == [
        ("no_kernel", launch),
        ("dead_launch", launch),
    ]
    assert program["reward"]["flags"] == ["no_kernel", "dead_launch", "torch_did_the_work"]


def test_a_program_that_zeros_would_pass_for_is_flagged(programs: httpx.Client) -> None:
    program = evaluate(programs, EXAMPLE["source"], REFERENCE, tolerance={"atol": 1000.0})

    assert program["verdict"] == "passed", program
    assert "insensitive_output" in program["reward"]["flags"]
