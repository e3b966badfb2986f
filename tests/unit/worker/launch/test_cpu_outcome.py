"""CPU runs that time out name the step that took so long."""

from typing import Any

import pytest

from compiler.specialization import Specialization
from compiler.target import Target
from launch.messages import CHECK_TIMEOUT, RunOrder
from launch.request.bound_arguments import BoundArguments
from launch.request.verdict import RunEnding
from worker.launch.cpu_device import result_of
from worker.launch.run import PreparedRun, RunResult
from worker.pool.child_outcome import ChildOutcome, Ending


def ended(ending: Ending, failure: dict[str, Any] | None = None, *checks: str) -> RunResult:
    order = RunOrder(
        ir=(0, 0), stage="source", target=Target("cuda", 90, 32), files=[], allocations=[],
        arguments={}, parameters=[], grid=[1, 1, 1], checks=checks,
    )  # fmt: skip
    outcome = ChildOutcome(ending, "", (), None, failure, b"", b"", None, None, None)
    run = PreparedRun("k", BoundArguments(), [1, 1, 1], {}, Specialization())
    return result_of(outcome, run, 30.0, order)


def test_a_check_that_took_too_long_says_so_itself() -> None:
    failure = {
        "slug": CHECK_TIMEOUT, "message": "The check for races took too long.", "diagnostics": []
    }  # fmt: skip
    result = ended(Ending.OK, failure)
    assert (result.ending, result.problem) == (RunEnding.TIMEOUT, None)
    assert [one.message for one in result.findings] == ["The check for races took too long."]


@pytest.mark.parametrize("checks", [(), ("racecheck",)])
def test_a_run_that_took_too_long_names_its_checks(checks: tuple[str, ...]) -> None:
    [finding] = ended(Ending.DEADLINE, None, *checks).findings
    assert finding.message.startswith("The run did not end within timeout_s = 30 s.")
    assert ("With its checks (racecheck)" in finding.message) == bool(checks)
