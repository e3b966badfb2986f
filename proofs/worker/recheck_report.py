"""Validates the report of a child that re-checked a proof.

The child read hostile IR, so it may send anything.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from launch.recheck.recheck_messages import (
    AccessRecheck,
    CheckRecheck,
    RecheckOutcome,
    RecheckReport,
)
from proofs.worker.proof_report import MAX_ACCESSES, MAX_CHARS
from worker.compile.reports import Count, Malformed, Ms, Report

_MAX_VALUE = 2**64
_MAX_NAMES = 4_096
_Text = Annotated[str, Field(max_length=MAX_CHARS)]
_Integer = Annotated[int, Field(ge=-_MAX_VALUE, le=_MAX_VALUE)]


class _Part(Report):
    model_config = ConfigDict(extra="forbid")


class _Check(_Part):
    outcome: RecheckOutcome
    runs: Count
    message: _Text
    sizes: Annotated[dict[_Text, _Integer], Field(max_length=_MAX_NAMES)]

    def report(self) -> CheckRecheck:
        return CheckRecheck(**dict(self))


class _Access(_Part):
    kind: Literal["load", "store", "atomic"]
    line: Count | None
    column: Count | None
    checks: dict[Literal["bounds", "overflow", "race"], _Check]

    def report(self) -> AccessRecheck:
        checks: dict[str, CheckRecheck] = {
            name: check.report() for name, check in self.checks.items()
        }
        return AccessRecheck(kind=self.kind, line=self.line, column=self.column, checks=checks)


class _Recheck(Report):
    accesses: Annotated[list[_Access], Field(max_length=MAX_ACCESSES)]
    equivalent: _Check | None
    refused: _Text
    runs: Count
    ms: Ms

    def report(self) -> RecheckReport:
        members = dict(self) | {
            "accesses": [access.report() for access in self.accesses],
            "equivalent": None if self.equivalent is None else self.equivalent.report(),
        }
        return RecheckReport(**members)


def read_recheck_report(said: Mapping[str, Any]) -> RecheckReport:
    """Return the report that a child sent. Raises Malformed."""
    try:
        return _Recheck.model_validate(said).report()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:MAX_CHARS]
        raise Malformed(f"{where}: {first['msg']}") from None
