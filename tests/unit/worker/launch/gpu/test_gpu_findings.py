"""Findings from a launcher's outcome, checks, and a rerun under memcheck."""

from dataclasses import dataclass, field
from typing import Any

from compiler.abi import abi_of
from compiler.target import Target
from jobs.deadline import Deadline
from launch.messages import Finding
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult, Launch
from launch.request.launch_request import EXAMPLE
from launch.request.verdict import Evidence, RunEnding, Verdict, verdict_of
from tests.unit.launch.request.queued_launches import queued
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome
from worker.gpu.supervisor.sanitizer_run import SanitizerReport
from worker.launch.gpu.gpu_outcome import result_of
from worker.launch.gpu.tool_reruns import (
    UnexplainedFaults,
    findings_of_rerun,
    rerun_under_tools,
    with_findings,
)
from worker.launch.launch_reports import read_findings
from worker.launch.run import RunResult

ABI = abi_of(Target("cuda", 90, 32), [], {"name": "k", "num_warps": 4, "shared": 0})
JOB = LauncherOrder(b"", ABI, (1, 1, 1), [], {})
FOUND = {
    "kind": "out_of_bounds", "access": "write", "argument": "out_ptr", "index": [8],
    "file": "user.py", "line": 26, "program": [0, 0, 0], "message": "m", "excerpt": "tl.store(...)",
}  # fmt: skip
FAULT = Finding(kind="illegal_access", message="The kernel touched memory that is not its own.")


def launched(**changes: Any) -> LaunchJob:
    return queued(EXAMPLE | changes)


@dataclass
class FakeLaunchers:
    """Returns sanitizer runs from a list; the real one needs a GPU."""

    answers: dict[str, SanitizerReport]
    asked: list[str] = field(default_factory=list)

    async def run_under_tool(
        self, _: int, __: LauncherOrder, tool: str, *, limit_s: float
    ) -> SanitizerReport:
        self.asked.append(tool)
        return self.answers[tool]


class FakeAmendments:
    """Records launches that expect an amendment."""

    def __init__(self) -> None:
        self.expected: list[str] = []

    async def expect(self, job_id: str) -> None:
        self.expected.append(job_id)


async def rerun(ran: RunResult, answers: dict[str, SanitizerReport], **asked: Any) -> FakeLaunchers:
    launchers = FakeLaunchers(answers)
    await rerun_under_tools(launchers, 0, JOB, launched(**asked), ran, Deadline(60))  # type: ignore[arg-type]
    return launchers


def test_an_assertion_has_the_line_that_cuda_prints() -> None:
    said = (
        b"before\n/kernel/user.py:53: unknown: block: [6,0,0], thread: [0,0,0] "
        b"Assertion `x must be positive` failed.\n"
    )
    fault = {"kind": "assertion_failed", "error": "CUDA_ERROR_ASSERT", "message": "m"}
    outcome = LaunchOutcome(LaunchEnding.FAULT, fault=fault, stdout=said)

    (finding,) = result_of(outcome, launched(), cluster=2).findings

    assert (finding.file, finding.line, finding.program) == ("user.py", 53, [3, 0, 0])
    assert finding.message == "program (3, 0, 0): x must be positive"


def test_outputs_of_two_runs_that_differ_are_named() -> None:
    result = {"digest": {"a": "1", "b": "2"}, "differing": ["b"]}

    ran = result_of(LaunchOutcome(LaunchEnding.OK, result=result), launched())

    assert ran.deterministic is False
    assert [(one.kind, one.argument) for one in ran.findings] == [("nondeterministic", "b")]


def test_a_timing_has_the_counts_of_what_became_of_its_runs() -> None:
    times = dict.fromkeys(("median_us", "mean_us", "min_us", "p20_us", "p80_us", "std_us"), 4.0)
    said = {
        "timing": times | {"repeats": 50, "noisy": False},
        "checked_repeats": 50,
        "differing_repeats": 3,
        "repeats": [{"repeat": 7, "seeds": {"x": 1}, "differing_bytes": 4}],
    }

    ran = result_of(LaunchOutcome(LaunchEnding.OK, result=said), launched())

    assert ran.timing is not None
    assert (ran.timing.repeats, ran.timing.checked_repeats, ran.timing.differing_repeats) == (
        50, 50, 3,
    )  # fmt: skip
    assert [one.iteration.repeat for one in ran.repeats] == [7]
    assert ran.deterministic is False


def test_of_one_run_nothing_is_said_about_determinism() -> None:
    ran = result_of(LaunchOutcome(LaunchEnding.OK, result={"digest": {"a": "1"}}), launched())

    assert ran.deterministic is None


async def test_what_a_check_finds_comes_before_what_the_run_showed() -> None:
    ran = RunResult(findings=[FAULT])
    await rerun(ran, {"memcheck": SanitizerReport([FOUND])}, checks=["memcheck"])

    assert [one.kind for one in ran.findings] == ["out_of_bounds", "illegal_access"]
    assert ran.findings[0].line == 26


async def test_each_check_is_a_separate_run() -> None:
    answers = {"memcheck": SanitizerReport(), "racecheck": SanitizerReport()}
    launchers = await rerun(
        RunResult(outputs={"o": b""}), answers, checks=["racecheck", "memcheck", "determinism"]
    )

    assert launchers.asked == ["racecheck", "memcheck"]


async def test_after_a_check_that_did_not_end_nothing_has_passed() -> None:
    ran = RunResult(outputs={"o": b""})
    await rerun(ran, {"memcheck": SanitizerReport(incomplete="it broke")}, checks=["memcheck"])

    assert ran.findings[0].kind == "check_incomplete"
    found = frozenset(one.kind for one in ran.findings)
    assert verdict_of(Evidence(matches=(True,), findings=found)) is Verdict.NOT_CHECKED


async def test_a_kernel_that_never_ended_is_not_watched_for_ever() -> None:
    ran = RunResult(ending=RunEnding.TIMEOUT)
    launchers = await rerun(ran, {}, checks=["memcheck"], profile=True)

    assert launchers.asked == []
    assert [one.kind for one in ran.findings] == ["check_incomplete", "not_profiled"]


async def test_a_profile_that_cannot_be_made_says_why() -> None:
    ran = RunResult(outputs={"o": b""})
    await rerun(ran, {"profile": SanitizerReport(incomplete="no counters")}, profile=True)

    assert ran.profile is None
    assert "no counters" in ran.findings[0].message


async def test_a_kernel_that_went_wrong_is_not_profiled() -> None:
    launchers = await rerun(RunResult(ending=RunEnding.FAULT, findings=[FAULT]), {}, profile=True)

    assert launchers.asked == []


async def test_lines_are_one_run_more_under_the_profiler() -> None:
    ran = RunResult()
    answers = {
        "profile": SanitizerReport(profile={"registers": 26}),
        "source_counters": SanitizerReport(counters=b"[]"),
    }
    launchers = await rerun(ran, answers, profile="lines")

    assert launchers.asked == ["profile", "source_counters"]
    assert (ran.counters, ran.findings) == (b"[]", [])


async def test_a_profile_without_lines_says_why_it_has_none() -> None:
    ran = RunResult()
    answers = {
        "profile": SanitizerReport(profile={"registers": 26}),
        "source_counters": SanitizerReport(incomplete="no counters"),
    }
    await rerun(ran, answers, profile="lines")

    assert ran.profile is not None
    assert [one.kind for one in ran.findings] == ["not_profiled"]
    assert ran.findings[0].message == "This launch has no profile by line: no counters."


async def test_what_has_no_profile_has_no_lines_either() -> None:
    ran = RunResult()
    launchers = await rerun(ran, {"profile": SanitizerReport(incomplete="locked")}, profile="lines")

    assert launchers.asked == ["profile"]
    assert len(ran.findings) == 1


async def test_a_kernel_without_outputs_can_be_profiled() -> None:
    ran = RunResult()
    await rerun(ran, {"profile": SanitizerReport(profile={"registers": 26})}, profile=True)

    assert ran.profile is not None
    assert ran.profile.registers == 26


async def test_only_the_first_fault_without_a_line_is_suspect() -> None:
    amendments = FakeAmendments()
    faults = UnexplainedFaults("a-launch", amendments)  # type: ignore[arg-type]
    findings = [Finding(kind="timeout", message="m"), FAULT, FAULT]

    await faults.remember(JOB, findings)
    await faults.remember(JOB, [FAULT])

    assert faults.first is not None
    assert faults.first.finding == findings[1] != FAULT
    assert "as the event `finding`" in findings[1].message
    assert amendments.expected == ["a-launch"]


def test_a_fault_that_does_not_show_again_is_reported() -> None:
    (finding,) = findings_of_rerun(FAULT, SanitizerReport())

    assert finding.kind == "illegal_access"
    assert "did not occur again" in finding.message


async def test_after_a_rerun_none_is_announced_any_more() -> None:
    faults, findings = UnexplainedFaults("a-launch", FakeAmendments()), [FAULT]  # type: ignore[arg-type]
    await faults.remember(JOB, findings)
    launch = Launch(id="i", url="u", state="completed", findings=findings)

    _, amended = with_findings(launch, findings[0], [*read_findings([FOUND])])

    assert amended.findings == [*read_findings([FOUND]), FAULT]


def test_a_rerun_goes_into_the_case_that_it_explains() -> None:
    cases = [CaseResult(index=0, name=None), CaseResult(index=1, name=None, findings=[FAULT])]
    launch = Launch(id="i", url="u", state="completed", cases=cases)

    case, amended = with_findings(launch, FAULT, [*read_findings([FOUND])])

    assert case == 1
    assert amended.cases is not None
    assert [one.line for one in amended.cases[1].findings] == [26, None]
    assert amended.cases[0] == cases[0]
