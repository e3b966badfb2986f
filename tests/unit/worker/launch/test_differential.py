"""What is said where two runs of one launch do not end alike; elements are compared elsewhere."""

from __future__ import annotations

from typing import Any, cast

from compiler.problem import failure_problem
from launch.messages import Finding
from launch.request.verdict import RunEnding
from worker.launch.differential import CPU, GPU, INTERPRETER, OtherRun, disagreements
from worker.launch.run import RunResult, not_run

NOTHING = cast("Any", None)
BEYOND = Finding(
    kind="out_of_bounds", argument="x_ptr", index=[8], file="user.py", line=7, message="..."
)


async def told(result: RunResult, other: RunResult | None, name: str = CPU) -> list[Finding]:
    async def run() -> RunResult | None:
        return other

    others = [OtherRun(name, run)]
    return await disagreements(NOTHING, NOTHING, result, GPU, others, None)


async def test_a_fault_that_one_device_has_is_a_disagreement_at_its_line() -> None:
    [finding] = await told(RunResult(), RunResult(findings=[BEYOND]))

    assert (finding.kind, finding.argument, finding.index) == ("disagreement", "x_ptr", [8])
    assert (finding.file, finding.line) == ("user.py", 7)
    assert finding.message == (
        "It ends otherwise. On the GPU: nothing wrong; on the CPU device: out_of_bounds."
    )


async def test_runs_that_stop_for_the_same_reason_agree() -> None:
    assert await told(RunResult(findings=[BEYOND]), RunResult(findings=[BEYOND])) == []


async def test_a_run_that_has_no_end_disagrees_with_one_that_has() -> None:
    [finding] = await told(RunResult(), RunResult(ending=RunEnding.TIMEOUT), INTERPRETER)

    assert finding.message.endswith("On the GPU: nothing wrong; on Triton's interpreter: timeout.")


async def test_what_cannot_run_the_other_way_leaves_the_check_incomplete() -> None:
    [refused] = await told(RunResult(), not_run(failure_problem("needs_gpu", "inline assembly")))
    [sourceless] = await told(RunResult(), None, INTERPRETER)

    assert (refused.kind, sourceless.kind) == ("check_incomplete", "check_incomplete")
    assert "what the CPU device makes of this kernel: inline assembly" in refused.message
    assert "posted IR has no source" in sourceless.message
