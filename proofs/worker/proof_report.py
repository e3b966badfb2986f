"""Validates the report of a child that proved a kernel, and writes it for the cache.

The child read hostile IR, which may have taken it over, so it may send anything. What is read has a
record.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from launch.proof.proof_messages import (
    AccessReport,
    AnswerReport,
    ProofReport,
    Rechecked,
    WitnessReport,
)
from worker.compile.reports import Count, Malformed, Ms, Report

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


_Text = Annotated[str, Field(max_length=MAX_CHARS)]
_Name = Annotated[str, Field(max_length=MAX_CHARS)]
_Integer = Annotated[int, Field(ge=-_MAX_VALUE, le=_MAX_VALUE)]
_Index = Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")]
_Program = Annotated[list[_Integer], Field(max_length=3)]
_Integers = Annotated[dict[_Name, _Integer], Field(max_length=_MAX_NAMES)]
_Contents = Annotated[dict[_Index, _Integer], Field(max_length=1 << 17)]


class _Part(Report):
    model_config = ConfigDict(extra="forbid")


class _Witness(_Part):
    scalars: _Integers
    sizes: _Integers
    extents: Annotated[
        dict[_Name, Annotated[int, Field(ge=0, le=_MAX_VALUE)]], Field(max_length=_MAX_NAMES)
    ]
    types: Annotated[dict[_Name, Annotated[str, Field(max_length=64)]], Field(max_length=4096)]
    grid: _Program
    program: _Program
    other_program: _Program | None
    values: Annotated[dict[_Name, _Contents], Field(max_length=_MAX_NAMES)]
    index: _Integer | None
    message: _Text

    def report(self) -> WitnessReport:
        return WitnessReport(**dict(self))


def _has_types(witness: _Witness) -> _Witness:
    if not witness.types.keys() >= witness.extents.keys():
        raise ValueError("a buffer has no type")
    return witness


class _Rechecked(_Part):
    runs: Count
    bits: Literal["agrees", "timeout", "not_modelled"]

    def report(self) -> Rechecked:
        return Rechecked(**dict(self))


class _Answer(_Part):
    verdict: Literal["proved", "refuted", "possible", "unknown"]
    proved_under: Annotated[list[_Text], Field(max_length=10_000)]
    reason: _Text
    line: Count | None
    expression: _Text
    witness: Annotated[_Witness, AfterValidator(_has_types)] | None = None
    proposals: Annotated[list[str], Field(max_length=MAX_PROPOSALS), AfterValidator(_are_short)] = (
        Field(default_factory=list)
    )
    rechecked: _Rechecked | None = None

    def report(self) -> AnswerReport:
        witness = None if self.witness is None else self.witness.report()
        rechecked = None if self.rechecked is None else self.rechecked.report()
        return AnswerReport(**{**dict(self), "witness": witness, "rechecked": rechecked})


class _Access(_Part):
    file: _Text | None
    line: Count | None
    column: Count | None
    argument: _Text | None
    kind: Literal["load", "store", "atomic"]
    answers: dict[Literal["bounds", "overflow", "race"], _Answer]

    def report(self) -> AccessReport:
        answers = {check: answer.report() for check, answer in self.answers.items()}
        return AccessReport(**{**dict(self), "answers": answers})


class _Mistake(_Part):
    message: _Text
    line: Count
    column: Count


class _Proof(Report):
    accesses: Annotated[list[_Access], Field(max_length=MAX_ACCESSES)]
    refused: _Text
    refused_line: Count | None
    questions: Count
    effort: Count
    solver_ms: Ms
    equivalent: _Answer | None = None
    contract_error: _Mistake | None = None

    def report(self) -> ProofReport:
        members = dict(self) | {
            "accesses": [access.report() for access in self.accesses],
            "equivalent": None if self.equivalent is None else self.equivalent.report(),
            "contract_error": None if self.contract_error is None else dict(self.contract_error),
        }
        return ProofReport(**members)


def read_proof_report(said: bytes | Mapping[str, Any]) -> ProofReport:
    """Return the report that a child sent, or that was kept. Raises Malformed."""
    members = json.loads(said) if isinstance(said, bytes) else said
    try:
        return _Proof.model_validate(members).report()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:MAX_CHARS]
        raise Malformed(f"{where}: {first['msg']}") from None


def written_proof_report(report: ProofReport) -> bytes:
    """Return the report as JSON."""
    return json.dumps(asdict(report)).encode()
