"""Validates the report of a child that re-checked a proof.

The child read hostile IR, so it may send anything.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from launch.recheck.recheck_messages import AccessRecheck, CheckRecheck, RecheckReport
from proofs.worker.proof_report import BY_TYPE, MAX_ACCESSES, ExactReport
from worker.compile.message_limits import MessageLimits

_LIMITS = MessageLimits(BY_TYPE, ExactReport)
_CHECK: Any = _LIMITS.within(CheckRecheck)
_ACCESS: Any = _LIMITS.within(
    AccessRecheck, checks=dict[Literal["bounds", "overflow", "race"], _CHECK]
)
read_recheck_report = MessageLimits(BY_TYPE).reader(
    RecheckReport,
    accesses=Annotated[list[_ACCESS], Field(max_length=MAX_ACCESSES)],
    equivalent=_CHECK | None,
)
"""Returns the report that a child sent. Raises Malformed."""
