"""A row of a sweep's table: the result of one variant. The sweep's driver writes it as JSON.

A row has one line about its launch, and one about its proof. The launch itself has every finding
and output; the proof itself has every access.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Annotated, Any, Final, Literal, get_args

import orjson
from pydantic import BaseModel, Field

from compiler.diagnostic import clipped
from compiler.problem import Problem
from launch.messages import Finding
from launch.request.launch_record import CaseResult, Launch, Output
from launch.request.verdict import Verdict

MAX_REASON_CHARS: Final = 300
_PROVED = "proved"
_CHECKS = ("bounds", "overflow", "race")
LIVING: Final = ("queued", "running")
RowState = Literal[
    "queued", "running", "succeeded", "completed", "failed", "cancelled", "refused", "pruned"
]
"""`succeeded` is a compilation that did, `completed` a launch that ran, whatever its verdict."""
STATES: Final[tuple[str, ...]] = get_args(RowState)


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One variant. What is not known, or does not apply, is null."""

    index: int
    values: Annotated[
        dict[str, Any], Field(description="by axis; null where it keeps the base's value")
    ]
    state: RowState
    compilation_key: str | None = None
    compilation_url: str | None = None
    cache: Annotated[
        str | None, Field(json_schema_extra={"enum": ["hit", "miss", "join", None]})
    ] = None
    registers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    shared_bytes: int | None = None
    occupancy: Annotated[float | None, Field(description="theoretical, from 0 to 1")] = None
    code_bytes: Annotated[int | None, Field(description="of the machine code's file")] = None
    instruction_mix: Annotated[
        dict[str, Any] | None, Field(description="where `include` names it")
    ] = None
    compile_ms: float | None = None
    proof: Annotated[
        str | None, Field(description="for all sizes of the contract: proved, refuted, ...")
    ] = None
    proof_reason: Annotated[
        str | None, Field(description="the first access that is not proved, or why none is")
    ] = None
    proof_url: str | None = None
    launch_id: str | None = None
    launch_url: str | None = None
    verdict: str | None = None
    reason: Annotated[
        str | None,
        Field(description="why the verdict is what it is: a finding, or how an output differs"),
    ] = None
    median_us: float | None = None
    interval_us: tuple[float, float] | None = None
    repeats: int | None = None
    pruned: Annotated[dict[str, Any] | None, Field(description="why it was not run")] = None
    problem: Problem | None = None

    def to_json(self) -> bytes:
        """Return the row as it is kept and answered."""
        return orjson.dumps(self, default=_said)


def _said(part: Any) -> Any:
    """Return a problem as rows show it: without what is null."""
    if isinstance(part, BaseModel):
        return part.model_dump(mode="json", exclude_none=True)
    raise TypeError(f"{type(part).__name__} cannot be a part of a row")


@dataclass(frozen=True, slots=True)
class RowProof:
    """The proof as its row shows it.

    `verdict` is None where there was no answer; `reason` then explains why.
    """

    verdict: str | None
    reason: str | None
    url: str | None = None


def read_proof(proof: Mapping[str, Any]) -> RowProof:
    """Return the part of a proof that a row contains, as GET /v1/proofs/{id} answers it."""
    verdict, problem = proof.get("verdict"), proof.get("problem")
    reason = proof.get("reason") if problem is None else problem.get("detail")
    if reason is None and verdict != _PROVED:
        reason = next(_reasons(proof, verdict), None)
    short = None if reason is None else clipped(" ".join(reason.split()), MAX_REASON_CHARS)
    return RowProof(verdict, short, proof.get("url"))


def with_proof(row: SweepRow, proof: RowProof) -> SweepRow:
    """Return the row with its proof."""
    return replace(row, proof=proof.verdict, proof_reason=proof.reason, proof_url=proof.url)


def _reasons(proof: Mapping[str, Any], verdict: str | None) -> Iterator[str]:
    """Yield one line for each access with the verdict of the whole kernel."""
    for access in proof.get("accesses") or ():
        for check in _CHECKS:
            answer = access.get(check)
            if answer is not None and answer["verdict"] == verdict:
                why = (answer.get("replay") or {}).get("message") or answer.get("reason") or ""
                where = f"line {access['line']}: {access['kind']} of {access['argument']}"
                yield f"{where}: {check}: {why}"


def verdict_reason(launch: Launch) -> str | None:
    """Return what speaks against the first run with the launch's verdict; None: nothing does."""
    if launch.verdict is None or launch.verdict is Verdict.PASSED:
        return None
    if launch.cases is None:
        reason = _why(launch.verdict, launch.findings or (), launch.outputs or {})
    else:
        reason = _of_cases(launch.verdict, launch.cases)
    return None if reason is None else clipped(" ".join(reason.split()), MAX_REASON_CHARS)


def _of_cases(verdict: Verdict, cases: Sequence[CaseResult]) -> str | None:
    for case in cases:
        if case.verdict is verdict and (why := _why(verdict, case.findings, case.outputs)):
            return f"case {_name(case)}: {why}"
    for case in cases:
        if case.problem is not None:
            return f"case {_name(case)} did not run: {case.problem.detail}"
    return None


def _name(case: CaseResult) -> str:
    return str(case.index) if case.name is None else case.name


def _why(verdict: Verdict, findings: Sequence[Finding], outputs: dict[str, Output]) -> str | None:
    named = [finding for finding in findings if finding.kind == verdict]
    if named:
        return _finding_text(named[0])
    differing = (_difference(name, output) for name, output in outputs.items())
    if verdict is Verdict.MISMATCH and (text := next(filter(None, differing), None)):
        return text
    return _finding_text(findings[0]) if findings else None


def _finding_text(finding: Finding) -> str:
    if finding.line is None:
        return finding.message
    return f"{finding.file or ''}:{finding.line}: {finding.message}".removeprefix(":")


def _difference(name: str, output: Output) -> str | None:
    compared = output.comparison
    if compared is None or compared.matches:
        return None
    total = prod(output.summary.shape) if output.summary else compared.compared
    text = f"{name}: {compared.mismatched} of {total} elements differ"
    if (first := compared.first_mismatch) is not None:
        text += f"; first at {first.index}: {first.actual}, expected {first.expected}"
    return text
