"""Runs of a launch under a tool, each with the same inputs as the run that is compared and timed.

The requested checks and the profile run before the launch is answered. A GPU reports a fault
without a source line. After the answer, a run under memcheck finds the line: its findings become an
event of the launch and amend its record.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from compiler.compilation import amended
from jobs.deadline import Deadline, DeadlinePassed
from launch.messages import Finding
from launch.profile_record import Profile
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import Launch
from launch.request.verdict import CHECK_INCOMPLETE, RunEnding
from store.errors import StoreUnavailable
from store.jobs.producer import JobProducer
from store.jobs.types import Claim
from store.launches import Amendments
from store.stored import read_stored
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launcher_pool import DeviceCordoned
from worker.gpu.supervisor.launchers import Launchers
from worker.gpu.supervisor.sanitizer_run import SanitizerReport
from worker.gpu.tools.installed_tools import (
    MEMCHECK,
    PROFILE,
    PROFILERS,
    SANITIZERS,
    SOURCE_COUNTERS,
)
from worker.launch.launch_reports import read_findings
from worker.launch.run import RunResult

CHECK_S = 60.0
"""The time limit of one run under a tool, independent of the kernel's own limit."""
_NEVER_ENDED = frozenset({RunEnding.TIMEOUT, RunEnding.OUT_OF_MEMORY, RunEnding.DOES_NOT_FIT})
NOT_PROFILED = "not_profiled"
BY_LINE = "lines"
"""The value of a request's `profile` that asks for its lines as well."""


async def rerun_under_tools(
    launchers: Launchers,
    ordinal: int,
    order: LauncherOrder,
    launch: LaunchJob,
    result: RunResult,
    deadline: Deadline,
) -> None:
    """Add the findings of the tools that `launch` requests to `result`. Raises DeviceCordoned.

    A tool that fails adds a finding too: `not_profiled`, or `check_incomplete`, which prevents the
    verdict `passed`.
    """
    findings: list[Finding] = []
    for check in dict.fromkeys(launch.checks):
        if check in SANITIZERS:
            rerun = await _run_under_tool(launchers, ordinal, order, check, result, deadline)
            findings += read_findings(rerun.findings)
            if rerun.incomplete is not None:
                message = f"The check {check} is incomplete: {rerun.incomplete}."
                findings.append(Finding(kind=CHECK_INCOMPLETE, message=message))
    if launch.profile:
        rerun = await _run_under_tool(launchers, ordinal, order, PROFILE, result, deadline)
        if rerun.profile is not None:
            result.profile = Profile.model_validate(rerun.profile)
        else:
            findings.append(not_profiled("profile", rerun.incomplete))
    if launch.profile == BY_LINE and result.profile is not None:
        tool = SOURCE_COUNTERS
        rerun = await _run_under_tool(launchers, ordinal, order, tool, result, deadline)
        result.counters = rerun.counters
        if not rerun.counters:
            findings.append(not_profiled("profile by line", rerun.incomplete))
    result.findings = findings + result.findings


def not_profiled(what: str, why: str | None) -> Finding:
    """Return the finding that a requested profile is missing."""
    message = f"This launch has no {what}: {why}."
    return Finding(kind=NOT_PROFILED, message=message)


async def _run_under_tool(
    launchers: Launchers,
    ordinal: int,
    order: LauncherOrder,
    tool: str,
    result: RunResult,
    deadline: Deadline,
) -> SanitizerReport:
    if result.ending in _NEVER_ENDED:
        return SanitizerReport(incomplete="the kernel did not finish without the tool")
    if tool in PROFILERS and result.ending is not RunEnding.FINISHED:
        return SanitizerReport(incomplete="the kernel failed without the tool")
    try:
        limit_s = deadline.limit_s(CHECK_S)
    except DeadlinePassed:
        return SanitizerReport(incomplete="deadline_s passed before it could start")
    return await launchers.run_under_tool(ordinal, order, tool, limit_s=limit_s)


RERUN_S = 10.0
EVENT = "finding"
_FOLLOWS = "A rerun will add its line in a few seconds, as the event `finding` and to this launch."
_UNEXPLAINED = frozenset({"illegal_access", "misaligned_access", "out_of_bounds", "crashed"})

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnexplainedFault:
    """A run that ended in a fault: its order, and its finding without a line."""

    order: LauncherOrder
    finding: Finding


@dataclass(slots=True)
class UnexplainedFaults:
    """The first unexplained fault of one launch, which gets no more than one rerun."""

    launch_id: str
    amendments: Amendments
    first: UnexplainedFault | None = field(default=None)

    async def remember(self, order: LauncherOrder, findings: list[Finding]) -> None:
        """Remember a run if one of its findings is a fault without a line; announce its rerun."""
        for index, finding in enumerate(findings):
            if (
                self.first is not None
                or finding.kind not in _UNEXPLAINED
                or finding.line is not None
            ):
                continue
            findings[index] = replace(finding, message=f"{finding.message} {_FOLLOWS}")
            self.first = UnexplainedFault(order, findings[index])
            try:
                await self.amendments.expect(self.launch_id)
            except StoreUnavailable as error:
                logger.warning(
                    "followers of %s will not wait for its rerun: %s", self.launch_id, error
                )


async def explain_fault(
    claim: Claim,
    fault: UnexplainedFault,
    launchers: Launchers,
    ordinal: int,
    jobs: JobProducer,
    amendments: Amendments,
) -> None:
    """Run the kernel of `fault` again under memcheck, and amend its finished launch.

    A fault that does not occur again gives a finding too. Raises StoreUnavailable.
    """
    try:
        rerun = await launchers.run_under_tool(ordinal, fault.order, MEMCHECK, limit_s=RERUN_S)
    except DeviceCordoned as cordoned:
        rerun = SanitizerReport(incomplete=str(cordoned))
    await amend_launch(
        claim, fault.finding, findings_of_rerun(fault.finding, rerun), jobs, amendments
    )


async def report_no_rerun(
    claim: Claim, fault: UnexplainedFault, jobs: JobProducer, amendments: Amendments
) -> None:
    """Add to the launch the finding that there was no rerun. Raises StoreUnavailable."""
    message = (
        "This fault was not rerun under memcheck, because the GPU is busy with other reruns. For "
        'its line, launch again with "checks": ["memcheck"].'
    )
    finding = Finding(kind=fault.finding.kind, message=message)
    await amend_launch(claim, fault.finding, [finding], jobs, amendments)


async def amend_launch(
    claim: Claim,
    first: Finding,
    findings: Sequence[Finding],
    jobs: JobProducer,
    amendments: Amendments,
) -> None:
    """Insert `findings` before `first` in the launch's record, and send followers the first one.

    Raises StoreUnavailable.
    """
    result = await jobs.result(claim.id)
    case, record = None, None
    if result is not None:
        launch = read_stored(Launch, result.record)
        case, launch = with_findings(launch, first, findings)
        record = launch.model_dump_json().encode()
    data = asdict(findings[0]) | {"case": case}
    await amendments.amend(claim.id, claim.token, record, EVENT, data)


def findings_of_rerun(first: Finding, rerun: SanitizerReport) -> list[Finding]:
    """Return a rerun's findings about `first`, or the reason why there are none."""
    findings = read_findings(rerun.findings)
    if findings:
        return findings
    if rerun.incomplete is not None:
        message = f"A rerun under memcheck is incomplete: {rerun.incomplete}."
    else:
        message = (
            "The fault did not occur again under memcheck with the same inputs. There, arguments "
            "have other addresses and programs run in another order, so the kernel may race, or "
            "read memory that it never wrote."
        )
    return [Finding(kind=first.kind, message=message)]


def with_findings(
    launch: Launch, first: Finding, findings: Sequence[Finding]
) -> tuple[int | None, Launch]:
    """Return the index of the case with the finding `first`, None without cases, and the record."""
    if launch.cases is None:
        return None, amended(launch, findings=_explain(launch.findings or [], first, findings))
    for index, case in enumerate(launch.cases):
        if first in case.findings:
            cases = list(launch.cases)
            cases[index] = amended(case, findings=_explain(case.findings, first, findings))
            return case.index, amended(launch, cases=cases)
    return None, launch


def _explain(
    known: Sequence[Finding], first: Finding, findings: Sequence[Finding]
) -> list[Finding]:
    """Return `findings` before the known ones, and drop the announcement in `first`."""
    message = first.message.removesuffix(_FOLLOWS).rstrip()
    settled = replace(first, message=message)
    return [*findings, *(settled if finding == first else finding for finding in known)]
