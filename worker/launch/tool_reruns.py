"""A second look at a run that ended in a fault, when its launch has been answered already.

The GPU says of an illegal access only that there was one. The same inputs under memcheck tell the
argument and the line; they become an event of the launch, and go into its record.

Runs of a launch under a tool: the checks and the profile that were asked for.

Each is a run of its own with the same inputs, beside the one whose outputs are compared and timed.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from compiler.compilation import amended
from launch.messages import Finding
from launch.request.launch_record import Launch, Profile
from launch.request.launch_request import LaunchRequest
from launch.request.verdict import CHECK_INCOMPLETE, RunEnding
from store.errors import StoreUnavailable
from store.jobs.producer import JobProducer
from store.jobs.types import Claim
from store.launches import Amendments
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.examination import Examined
from worker.gpu.supervisor.gpu import DeviceDrained
from worker.gpu.supervisor.launchers import Launchers
from worker.gpu.tools.installed_tools import MEMCHECK, PROFILE, SANITIZERS
from worker.launch.launch_reports import read_findings
from worker.launch.run import Deadline, DeadlinePassed, RunResult

CHECK_S = 60.0
"""What one run under a tool may take, whatever the kernel alone may."""
_NEVER_ENDED = frozenset({RunEnding.TIMEOUT, RunEnding.OUT_OF_MEMORY, RunEnding.DOES_NOT_FIT})
NOT_PROFILED = "not_profiled"


async def look_closer(
    launchers: Launchers,
    ordinal: int,
    order: LauncherOrder,
    request: LaunchRequest,
    ran: RunResult,
    deadline: Deadline,
) -> None:
    """Put into `ran` what the tools that `request` asks for say. Raises DeviceDrained.

    What a tool could not find out is said too: a finding of kind `check_incomplete`, after which
    no verdict is `passed`, or `not_profiled`.
    """
    seen: list[Finding] = []
    for check in dict.fromkeys(request.checks):
        if check in SANITIZERS:
            examined = await _examined(launchers, ordinal, order, check, ran, deadline)
            seen += read_findings(examined.findings)
            if examined.incomplete is not None:
                message = f"{check} tells nothing of this launch: {examined.incomplete}."
                seen.append(Finding(kind=CHECK_INCOMPLETE, message=message))
    if request.profile:
        examined = await _examined(launchers, ordinal, order, PROFILE, ran, deadline)
        if examined.profile is not None:
            ran.profile = Profile.model_validate(examined.profile)
        else:
            message = f"There is no profile of this launch: {examined.incomplete}."
            seen.append(Finding(kind=NOT_PROFILED, message=message))
    ran.findings = seen + ran.findings


async def _examined(
    launchers: Launchers,
    ordinal: int,
    order: LauncherOrder,
    tool: str,
    ran: RunResult,
    deadline: Deadline,
) -> Examined:
    if ran.ending in _NEVER_ENDED:
        return Examined(incomplete="the kernel alone did not get to its end")
    if tool == PROFILE and ran.ending is not RunEnding.FINISHED:
        return Examined(incomplete="the kernel alone went wrong")
    try:
        limit_s = deadline.limit_s(CHECK_S)
    except DeadlinePassed:
        return Examined(incomplete="deadline_s was over before it could begin")
    return await launchers.examine(ordinal, order, tool, limit_s=limit_s)


LOOK_S = 10.0
EVENT = "finding"
_FOLLOWS = "Its line follows in a few seconds, as the event `finding` and in this launch."
_UNEXPLAINED = frozenset({"illegal_access", "misaligned_access", "out_of_bounds", "crashed"})

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A run that went wrong: what was run, and the finding that wants an explanation."""

    order: LauncherOrder
    finding: Finding


@dataclass(slots=True)
class Suspects:
    """The first unexplained fault of one launch; a second look at one is all that it gets."""

    launch_id: str
    amendments: Amendments
    first: Suspect | None = field(default=None)

    async def note(self, order: LauncherOrder, findings: list[Finding]) -> None:
        """Remember a run if one of its findings is a fault without a line, and announce a look."""
        for index, one in enumerate(findings):
            if self.first is not None or one.kind not in _UNEXPLAINED or one.line is not None:
                continue
            findings[index] = replace(one, message=f"{one.message} {_FOLLOWS}")
            self.first = Suspect(order, findings[index])
            try:
                await self.amendments.expect(self.launch_id)
            except StoreUnavailable as error:
                logger.warning("followers of %s will not wait: %s", self.launch_id, error)


async def look_again(
    claim: Claim,
    suspect: Suspect,
    launchers: Launchers,
    ordinal: int,
    jobs: JobProducer,
    amendments: Amendments,
) -> None:
    """Examine a suspect whose launch is finished, and tell what came out. Raises StoreUnavailable.

    That the fault did not show again is told too.
    """
    try:
        examined = await launchers.examine(ordinal, suspect.order, MEMCHECK, limit_s=LOOK_S)
    except DeviceDrained as drained:
        examined = Examined(incomplete=str(drained))
    await tell(claim, suspect.finding, _findings(suspect.finding, examined), jobs, amendments)


async def not_looked(
    claim: Claim, suspect: Suspect, jobs: JobProducer, amendments: Amendments
) -> None:
    """Tell that there is no second look at a suspect. Raises StoreUnavailable."""
    message = (
        "There was no second look, since this GPU has others to do; launch again with "
        '"checks": ["memcheck"] for one.'
    )
    finding = Finding(kind=suspect.finding.kind, message=message)
    await tell(claim, suspect.finding, [finding], jobs, amendments)


async def tell(
    claim: Claim,
    first: Finding,
    findings: Sequence[Finding],
    jobs: JobProducer,
    amendments: Amendments,
) -> None:
    """Put `findings` before `first` in the launch's record, and tell its followers the first one.

    Raises StoreUnavailable.
    """
    result = await jobs.result(claim.id)
    case, record = None, None
    if result is not None:
        launch = Launch.model_validate_json(result.record)
        case, launch = _amended(launch, first, findings)
        record = launch.model_dump_json().encode()
    data = asdict(findings[0]) | {"case": case}
    await amendments.amend(claim.id, claim.token, record, EVENT, data)


def _findings(first: Finding, examined: Examined) -> list[Finding]:
    found = read_findings(examined.findings)
    if found:
        return found
    if examined.incomplete is not None:
        message = f"A second look under memcheck tells nothing more: {examined.incomplete}."
    else:
        message = (
            "The fault did not show again when the same inputs were run under memcheck, where "
            "arguments lie at other addresses and programs run in another order: the kernel may "
            "race, or use memory that it never wrote."
        )
    return [Finding(kind=first.kind, message=message)]


def _amended(
    launch: Launch, first: Finding, findings: Sequence[Finding]
) -> tuple[int | None, Launch]:
    """Return the case that has the finding `first`, null without cases, and the new record."""
    if launch.cases is None:
        return None, amended(launch, findings=_explained(launch.findings or [], first, findings))
    for index, case in enumerate(launch.cases):
        if first in case.findings:
            cases = list(launch.cases)
            cases[index] = amended(case, findings=_explained(case.findings, first, findings))
            return case.index, amended(launch, cases=cases)
    return None, launch


def _explained(
    known: Sequence[Finding], first: Finding, findings: Sequence[Finding]
) -> list[Finding]:
    """Return `findings` before what was known; nothing follows `first` any more."""
    message = first.message.removesuffix(_FOLLOWS).rstrip()
    settled = replace(first, message=message)
    return [*findings, *(settled if one == first else one for one in known)]
