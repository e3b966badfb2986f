"""Validates the report of a child that proved a kernel, and writes it for the cache.

The child read hostile IR, which may have taken it over, so it may send anything. What is read has a
record.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field

from launch.proof.proof_messages import (
    AccessReport,
    AnswerReport,
    ContractMistake,
    ProofReport,
    Rechecked,
    WitnessReport,
)
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import Count, Ms, Report

MAX_ACCESSES: Final = 1_000
MAX_CHARS: Final = 4_000
"""Of one text."""
MAX_PROPOSALS: Final = 6
MAX_PROPOSED_CHARS: Final = 1 << 20
"""Of all proposals for one access."""
_MAX_NAMES = 4_096
_MAX_VALUE = 2**64


def _are_short(proposals: list[str]) -> list[str]:
    if sum(map(len, proposals)) > MAX_PROPOSED_CHARS:
        raise ValueError(f"more than {MAX_PROPOSED_CHARS:,} characters together")
    return proposals


def _has_types(witness: WitnessReport) -> WitnessReport:
    if not witness.types.keys() >= witness.extents.keys():
        raise ValueError("a buffer has no type")
    return witness


class ExactReport(Report):
    """Refuses members that the message does not have."""

    model_config = ConfigDict(extra="forbid")


_Text = Annotated[str, Field(max_length=MAX_CHARS)]
_Integer = Annotated[int, Field(ge=-_MAX_VALUE, le=_MAX_VALUE)]
_Extent = Annotated[int, Field(ge=0, le=_MAX_VALUE)]
_Index = Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")]
_Program = Annotated[list[_Integer], Field(max_length=3)]
_Contents = Annotated[dict[_Index, _Integer], Field(max_length=1 << 17)]
BY_TYPE: Final = {
    str: _Text,
    str | None: _Text | None,
    int: Count,
    int | None: Count | None,
    float: Ms,
    list[int]: _Program,
    list[int] | None: _Program | None,
    dict[str, int]: Annotated[dict[_Text, _Integer], Field(max_length=_MAX_NAMES)],
}
_LIMITS = MessageLimits(BY_TYPE, ExactReport)
_WITNESS: Any = _LIMITS.within(
    WitnessReport,
    extents=Annotated[dict[_Text, _Extent], Field(max_length=_MAX_NAMES)],
    types=Annotated[
        dict[_Text, Annotated[str, Field(max_length=64)]], Field(max_length=_MAX_NAMES)
    ],
    values=Annotated[dict[_Text, _Contents], Field(max_length=_MAX_NAMES)],
    index=_Integer | None,
)
_ANSWER: Any = _LIMITS.within(
    AnswerReport,
    may_lack=["witness", "proposals", "rechecked"],
    proved_under=Annotated[list[_Text], Field(max_length=10_000)],
    witness=Annotated[_WITNESS, AfterValidator(_has_types)] | None,
    proposals=Annotated[list[str], Field(max_length=MAX_PROPOSALS), AfterValidator(_are_short)],
    rechecked=_LIMITS.within(Rechecked) | None,
)
_ACCESS: Any = _LIMITS.within(
    AccessReport, answers=dict[Literal["bounds", "overflow", "race"], _ANSWER]
)
_read = MessageLimits(BY_TYPE).reader(
    ProofReport,
    may_lack=["equivalent", "contract_error"],
    accesses=Annotated[list[_ACCESS], Field(max_length=MAX_ACCESSES)],
    equivalent=_ANSWER | None,
    contract_error=_LIMITS.within(ContractMistake) | None,
)


def read_proof_report(report: bytes | Mapping[str, Any]) -> ProofReport:
    """Return the report that a child sent, or that was kept. Raises Malformed."""
    return _read(json.loads(report) if isinstance(report, bytes) else report)


def written_proof_report(report: ProofReport) -> bytes:
    """Return the report as JSON."""
    return json.dumps(asdict(report)).encode()
