"""Turns a child's report into the answers of a record, and witnesses into launch requests."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.compilation import amended
from compiler.job import CompileJob
from compiler.request.resolution import specialized_job
from compiler.type_name import is_pointer
from launch.proof.proof_messages import AccessReport, AnswerReport, ProofReport, WitnessReport
from proofs.guess import Guess
from proofs.proof_job import ProofJob
from proofs.proof_record import ProofAnswer, ProofRecheck, ProofReplay, ProvedAccess, Verdict
from proofs.worker.proposed_fix import TriedFix
from store.byte_limits import MAX_WITNESSES_BYTES

MAX_WRITTEN = 4_096
"""Elements of a buffer whose contents a witness's launch lists."""
_WORST_FIRST: tuple[Verdict, ...] = ("refuted", "unknown", "possible")
_NO_RUN = "no launch reached it, or the CPU device cannot run the kernel"
_BY_BITS = {
    "agrees": "the bit-vector check agrees",
    "timeout": "the bit-vector check reached its limit",
    "not_modelled": "the bit-vector check does not cover it",
}
_FLOATS = frozenset({"fp16", "bf16", "fp32", "fp64"})


def proved_accesses(
    report: ProofReport, job: ProofJob, kernel_key: str, tried: TriedFix
) -> list[ProvedAccess]:
    """Return the answers about every access; what was `tried` is for one of them.

    Witnesses launch the compilation `kernel_key`, so that a record does not repeat its source.
    """
    written = {access.argument for access in report.accesses if access.kind != "load"}
    witnesses = _Witnesses(kernel_key, _arguments_outside_ttir(job.compile_job), written)
    guess = Guess.of(job.contract, is_inferred=job.is_inferred)
    proved = [_access(access, witnesses, guess) for access in report.accesses]
    if tried.fix is not None and tried.access < len(proved):
        access = proved[tried.access]
        answer = access.bounds if tried.check == "bounds" else access.overflow
        if answer is not None:
            members = {tried.check: amended(answer, fix=tried.fix)}
            proved[tried.access] = amended(access, **members)
    return proved


def comparison_of(report: AnswerReport, job: ProofJob, difference: str) -> ProofAnswer:
    """Return the answer about two kernels; a `difference` of their compilations leaves it open."""
    if difference and report.verdict == "proved":
        return ProofAnswer(verdict="unknown", reason=difference)
    contracts = [job.contract, *([] if job.other is None else [job.other.contract])]
    answer = ProofAnswer(
        verdict=report.verdict,
        proved_under=report.proved_under,
        reason=report.reason or None,
        rechecked=_rechecked(report),
    )
    return Guess.of("\n".join(contracts), is_inferred=False).applied(answer)


def verdict_of(accesses: Sequence[ProvedAccess]) -> Verdict:
    """Return the verdict of the worst answer."""
    answers = [(access.bounds, access.overflow, access.race) for access in accesses]
    verdicts = {answer.verdict for of_one in answers for answer in of_one if answer is not None}
    return next((verdict for verdict in _WORST_FIRST if verdict in verdicts), "proved")


def without_hints(job: CompileJob) -> CompileJob:
    """Return the job of the same kernel without hints, which a witness's arguments may break."""
    if job.ir is not None or job.specialization.unhinted == job.specialization:
        return job
    return specialized_job(job, job.specialization.unhinted)


def _arguments_outside_ttir(job: CompileJob) -> dict[str, float | int]:
    """Return values of the parameters that have types of numbers: a kernel may not use them all."""
    signature = job.specialization.to_request()["signature"]
    types = signature if isinstance(signature, dict) else {}
    return {
        name: 1.0 if kind.startswith("fp") else 1
        for name, kind in types.items()
        if isinstance(kind, str) and not is_pointer(kind)
    }


@dataclass
class _Witnesses:
    """Writes the witnesses of one proof, as launches of `kernel_key`, while there is room."""

    kernel_key: str
    constants: dict[str, float | int]
    written: set[str | None]
    left_bytes: int = field(default_factory=lambda: MAX_WITNESSES_BYTES)

    def launch(self, witness: WitnessReport) -> dict[str, Any] | None:
        """Return the witness as the body of POST /v1/launches, None beyond the limit of bytes."""
        buffers = {
            name: _buffer(name, size, witness, is_output=name in self.written)
            for name, size in witness.extents.items()
        }
        body = {
            "compilation_key": self.kernel_key,
            "arguments": {**self.constants, **buffers, **witness.scalars},
            "grid": witness.grid,
            "device": "cpu",
        }
        self.left_bytes -= len(json.dumps(body))
        return body if self.left_bytes >= 0 else None


def _access(access: AccessReport, witnesses: _Witnesses, guess: Guess) -> ProvedAccess:
    answers = {check: _answer(answer, witnesses, guess) for check, answer in access.answers.items()}
    return ProvedAccess(
        file=access.file,
        line=access.line,
        column=access.column,
        argument=access.argument,
        kind=access.kind,
        bounds=answers.get("bounds"),
        overflow=answers.get("overflow"),
        race=answers.get("race"),
    )


def _answer(report: AnswerReport, witnesses: _Witnesses, guess: Guess) -> ProofAnswer:
    launch = None if report.witness is None else witnesses.launch(report.witness)
    reason = report.reason
    if report.witness is not None and launch is None:
        reason = f"its witness is left out: a proof keeps {MAX_WITNESSES_BYTES:,} bytes of them"
    answer = ProofAnswer(
        verdict=report.verdict,
        proved_under=report.proved_under,
        reason=reason or None,
        line=report.line,
        expression=report.expression or None,
        witness=launch,
        replay=None if report.witness is None or launch is None else _replay(report.witness),
        rechecked=_rechecked(report),
    )
    return guess.applied(answer)


def _rechecked(answer: AnswerReport) -> ProofRecheck | None:
    seen = answer.rechecked
    if seen is None:
        return None
    words = _BY_BITS[seen.bits]
    if seen.runs:
        words = f"{seen.runs:,} run{'s' if seen.runs > 1 else ''} agree; {words}"
    else:
        by = " by running" if seen.bits == "agrees" else ""
        words = f"not re-checked{by}: {_NO_RUN}; {words}"
    return ProofRecheck(runs=seen.runs, bits=seen.bits, summary=words)


def _replay(witness: WitnessReport) -> ProofReplay:
    return ProofReplay(
        message=witness.message,
        program=witness.program,
        other_program=witness.other_program,
        grid=witness.grid,
        sizes=witness.sizes | witness.scalars,
        index=witness.index,
    )


def _buffer(name: str, size: int, witness: WitnessReport, *, is_output: bool) -> dict[str, Any]:
    dtype = witness.types[name]
    buffer: dict[str, Any] = {"shape": [size], "dtype": dtype}
    values = {int(at): value for at, value in witness.values.get(name, {}).items()}
    if values and dtype not in _FLOATS and size <= MAX_WRITTEN:
        first = next(iter(values.values()))
        listed = [values.get(at, first) for at in range(size)]
        return buffer | {"init": {"kind": "values", "values": listed}}
    if is_output:
        return buffer | {"output": True}
    return buffer | {"init": {"kind": "zeros"}}
