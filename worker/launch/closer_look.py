"""Runs of a launch under a tool: the checks and the profile that were asked for.

Each is a run of its own with the same inputs, beside the one whose outputs are compared and timed.
"""

from collections.abc import Iterable

from compiler.launch.launch import Finding, Profile
from compiler.launch.request import LaunchRequest
from worker.cuda.examination import Examined
from worker.cuda.job import LaunchJob
from worker.cuda.launchers import Launchers
from worker.cuda.tools import PROFILE, SANITIZERS
from worker.launch.deadline import Deadline, DeadlinePassed
from worker.launch.run import Ran

CHECK_S = 60.0
"""What one run under a tool may take, whatever the kernel alone may."""
_ENDED_IT = frozenset({"illegal_access", "misaligned_access", "assertion_failed"})
INCOMPLETE = "check_incomplete"
NOT_PROFILED = "not_profiled"


async def look_closer(
    launchers: Launchers,
    ordinal: int,
    order: LaunchJob,
    request: LaunchRequest,
    ran: Ran,
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
            seen += as_findings(examined.findings)
            if examined.incomplete is not None:
                ran.unchecked = True
                message = f"{check} tells nothing of this launch: {examined.incomplete}."
                seen.append(Finding(kind=INCOMPLETE, message=message))
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
    order: LaunchJob,
    tool: str,
    ran: Ran,
    deadline: Deadline,
) -> Examined:
    if ran.timed_out or ran.out_of_memory or not ran.fits:
        return Examined(incomplete="the kernel alone did not get to its end")
    if tool == PROFILE and (ran.crashed or any(one.kind in _ENDED_IT for one in ran.findings)):
        return Examined(incomplete="the kernel alone went wrong")
    try:
        limit_s = deadline.limit_s(CHECK_S)
    except DeadlinePassed:
        return Examined(incomplete="deadline_s was over before it could begin")
    return await launchers.examine(ordinal, order, tool, limit_s=limit_s)


def as_findings(found: Iterable[dict[str, object]]) -> list[Finding]:
    """Return an examiner's findings in the form that launches answer."""
    fields = Finding.model_fields
    return [
        Finding.model_validate({name: value for name, value in one.items() if name in fields})
        for one in found
    ]
