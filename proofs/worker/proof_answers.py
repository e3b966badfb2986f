"""Turns a child's report into the answers of a record, and witnesses into launch requests."""

from collections.abc import Sequence
from typing import Any

from compiler.compilation import amended
from launch.proof.proof_messages import AccessReport, AnswerReport, ProofReport, WitnessReport
from proofs.proof_job import ProofJob
from proofs.proof_record import ProofAnswer, ProofFix, ProofReplay, ProvedAccess, Verdict
from proofs.worker.proposed_fix import SourceChange

MOST_WRITTEN = 4_096
"""Elements of a buffer whose contents a witness's launch lists."""
_WORST_FIRST: tuple[Verdict, ...] = ("refuted", "unknown", "possible")
_FLOATS = frozenset({"fp16", "bf16", "fp32", "fp64"})


def proved_accesses(
    report: ProofReport, job: ProofJob, fix: tuple[SourceChange, ProofFix] | None
) -> list[ProvedAccess]:
    """Return the answers about every access; `fix` is for one of them."""
    written = {one.argument for one in report.accesses if one.kind != "load"}
    found = [_access(one, job, written) for one in report.accesses]
    if fix is not None:
        change, made = fix
        access = found[change.access]
        answer = access.bounds if change.check == "bounds" else access.overflow
        if answer is not None:
            members = {change.check: amended(answer, fix=made)}
            found[change.access] = amended(access, **members)
    return found


def comparison_of(said: AnswerReport) -> ProofAnswer:
    """Return the answer about two kernels."""
    return ProofAnswer(
        verdict=said.verdict, proved_under=said.proved_under, reason=said.reason or None
    )


def verdict_of(accesses: Sequence[ProvedAccess]) -> Verdict:
    """Return the verdict of the worst answer."""
    answers = [(one.bounds, one.overflow, one.race) for one in accesses]
    found = {answer.verdict for of_one in answers for answer in of_one if answer is not None}
    return next((verdict for verdict in _WORST_FIRST if verdict in found), "proved")


def _access(one: AccessReport, job: ProofJob, written: set[str | None]) -> ProvedAccess:
    answers = {check: _answer(said, job, written) for check, said in one.answers.items()}
    return ProvedAccess(
        file=one.file,
        line=one.line,
        column=one.column,
        argument=one.argument,
        kind=one.kind,
        bounds=answers.get("bounds"),
        overflow=answers.get("overflow"),
        race=answers.get("race"),
    )


def _answer(said: AnswerReport, job: ProofJob, written: set[str | None]) -> ProofAnswer:
    witness = said.witness
    return ProofAnswer(
        verdict=said.verdict,
        proved_under=said.proved_under,
        certificate=said.claims if said.verdict == "proved" else None,
        reason=said.reason or None,
        line=said.line,
        expression=said.expression or None,
        witness=None if witness is None else _launch(witness, job, written),
        replay=None if witness is None else _replay(witness),
    )


def _replay(witness: WitnessReport) -> ProofReplay:
    return ProofReplay(
        message=witness.message,
        program=witness.program,
        other_program=witness.other_program,
        grid=witness.grid,
        sizes=witness.sizes | witness.scalars,
        index=witness.index,
    )


def _launch(witness: WitnessReport, job: ProofJob, written: set[str | None]) -> dict[str, Any]:
    """Return the witness as the body of POST /v1/launches."""
    buffers = {
        name: _buffer(name, size, witness, is_output=name in written)
        for name, size in witness.extents.items()
    }
    constants = {
        name: item
        for name, item in job.compile_job.specialization.to_request()["signature"].items()
        if name not in buffers and name not in witness.scalars and isinstance(item, str)
    }
    others: dict[str, Any] = {
        name: 1.0 if kind.startswith("fp") else 1 for name, kind in constants.items()
    }
    return {
        **job.launch,
        "arguments": {**buffers, **witness.scalars, **others},
        "grid": witness.grid,
        "device": "cpu",
    }


def _buffer(name: str, size: int, witness: WitnessReport, *, is_output: bool) -> dict[str, Any]:
    dtype = witness.types[name]
    found: dict[str, Any] = {"shape": [size], "dtype": dtype}
    values = {int(at): value for at, value in witness.values.get(name, {}).items()}
    if values and dtype not in _FLOATS and size <= MOST_WRITTEN:
        first = next(iter(values.values()))
        listed = [values.get(at, first) for at in range(size)]
        return found | {"init": {"kind": "values", "values": listed}}
    if is_output:
        return found | {"output": True}
    return found | {"init": {"kind": "zeros"}}
