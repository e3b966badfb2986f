"""A second look at a run that ended in a fault, when its launch has been answered already.

The GPU says of an illegal access only that there was one. The same inputs under memcheck tell the
argument and the line; they become an event of the launch, and go into its record.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.launch.launch import Finding, Launch
from store.errors import StoreUnavailable
from store.jobs.callers import Jobs
from store.jobs.words import Claim
from store.sequel import Sequels
from worker.cuda.examination import Examined
from worker.cuda.gpu import DeviceDrained
from worker.cuda.job import LaunchJob
from worker.cuda.launchers import Launchers
from worker.cuda.tools import MEMCHECK
from worker.launch.closer_look import as_findings

LOOK_S = 10.0
EVENT = "finding"
_FOLLOWS = "Its line follows in a few seconds, as the event `finding` and in this launch."
_UNEXPLAINED = frozenset({"illegal_access", "misaligned_access", "out_of_bounds", "crashed"})

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A run that went wrong: what was run, and the finding that wants an explanation."""

    order: LaunchJob
    finding: Finding


@dataclass(slots=True)
class Suspects:
    """The first unexplained fault of one launch; a second look at one is all that it gets."""

    launch_id: str
    sequels: Sequels
    first: Suspect | None = field(default=None)

    async def note(self, order: LaunchJob, findings: list[Finding]) -> None:
        """Remember a run if one of its findings is a fault without a line, and announce a look."""
        for index, one in enumerate(findings):
            if self.first is not None or one.kind not in _UNEXPLAINED or one.line is not None:
                continue
            findings[index] = one.model_copy(update={"message": f"{one.message} {_FOLLOWS}"})
            self.first = Suspect(order, findings[index])
            try:
                await self.sequels.expect(self.launch_id)
            except StoreUnavailable as error:
                logger.warning("followers of %s will not wait: %s", self.launch_id, error)


async def look_again(
    claim: Claim, suspect: Suspect, launchers: Launchers, ordinal: int, jobs: Jobs, sequels: Sequels
) -> None:
    """Examine a suspect whose launch is finished, and tell what came out. Raises StoreUnavailable.

    That the fault did not show again is told too.
    """
    try:
        examined = await launchers.examine(ordinal, suspect.order, MEMCHECK, limit_s=LOOK_S)
    except DeviceDrained as drained:
        examined = Examined(incomplete=str(drained))
    await tell(claim, suspect.finding, _findings(suspect.finding, examined), jobs, sequels)


async def not_looked(claim: Claim, suspect: Suspect, jobs: Jobs, sequels: Sequels) -> None:
    """Tell that there is no second look at a suspect. Raises StoreUnavailable."""
    message = (
        "There was no second look, since this GPU has others to do; launch again with "
        '"checks": ["memcheck"] for one.'
    )
    finding = Finding(kind=suspect.finding.kind, message=message)
    await tell(claim, suspect.finding, [finding], jobs, sequels)


async def tell(
    claim: Claim, first: Finding, findings: Sequence[Finding], jobs: Jobs, sequels: Sequels
) -> None:
    """Put `findings` before `first` in the launch's record, and tell its followers the first one.

    Raises StoreUnavailable.
    """
    result = await jobs.result(claim.id)
    case, record = None, None
    if result is not None:
        launch = Launch.model_validate_json(result.record)
        case, amended = _amended(launch, first, findings)
        record = amended.model_dump_json().encode()
    data = findings[0].model_dump(mode="json") | {"case": case}
    await sequels.tell(claim.id, claim.token, record, EVENT, data)


def _findings(first: Finding, examined: Examined) -> list[Finding]:
    found = as_findings(examined.findings)
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
        amended = _explained(launch.findings or [], first, findings)
        return None, launch.model_copy(update={"findings": amended})
    for index, case in enumerate(launch.cases):
        if first in case.findings:
            cases = list(launch.cases)
            amended = _explained(case.findings, first, findings)
            cases[index] = case.model_copy(update={"findings": amended})
            return case.index, launch.model_copy(update={"cases": cases})
    return None, launch


def _explained(
    known: Sequence[Finding], first: Finding, findings: Sequence[Finding]
) -> list[Finding]:
    """Return `findings` before what was known; nothing follows `first` any more."""
    message = first.message.removesuffix(_FOLLOWS).rstrip()
    settled = first.model_copy(update={"message": message})
    return [*findings, *(settled if one == first else one for one in known)]
