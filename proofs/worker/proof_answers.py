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
    "agrees": "bit-vectors agree",
    "timeout": "bit-vectors reached the limit of their effort",
    "not_modelled": "bit-vectors do not model it",
}
_FLOATS = frozenset({"fp16", "bf16", "fp32", "fp64"})


def proved_accesses(
    report: ProofReport, job: ProofJob, kernel_key: str, tried: TriedFix
) -> list[ProvedAccess]:
    """Return the answers about every access; what was `tried` is for one of them.

    Witnesses launch the compilation `kernel_key`, so that a record does not repeat its source.
    """
    written = {one.argument for one in report.accesses if one.kind != "load"}
    witnesses = _Witnesses(kernel_key, _arguments_outside_ttir(job.compile_job), written)
    guess = Guess.of(job.contract, is_inferred=job.is_inferred)
    found = [_access(one, witnesses, guess) for one in report.accesses]
    if tried.fix is not None and tried.access < len(found):
        access = found[tried.access]
        answer = access.bounds if tried.check == "bounds" else access.overflow
        if answer is not None:
            members = {tried.check: amended(answer, fix=tried.fix)}
            found[tried.access] = amended(access, **members)
    return found


def comparison_of(said: AnswerReport, job: ProofJob, difference: str) -> ProofAnswer:
    """Return the answer about two kernels; a `difference` of their compilations leaves it open."""
    if difference and said.verdict == "proved":
        return ProofAnswer(verdict="unknown", reason=difference)
    contracts = [job.contract, *([] if job.other is None else [job.other.contract])]
    answer = ProofAnswer(
        verdict=said.verdict,
        proved_under=said.proved_under,
        reason=said.reason or None,
        rechecked=_rechecked(said),
    )
    return Guess.of("\n".join(contracts), is_inferred=False).applied(answer)


def verdict_of(accesses: Sequence[ProvedAccess]) -> Verdict:
    """Return the verdict of the worst answer."""
    answers = [(one.bounds, one.overflow, one.race) for one in accesses]
    found = {answer.verdict for of_one in answers for answer in of_one if answer is not None}
    return next((verdict for verdict in _WORST_FIRST if verdict in found), "proved")


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


def _access(one: AccessReport, witnesses: _Witnesses, guess: Guess) -> ProvedAccess:
    answers = {check: _answer(said, witnesses, guess) for check, said in one.answers.items()}
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


def _answer(said: AnswerReport, witnesses: _Witnesses, guess: Guess) -> ProofAnswer:
    launch = None if said.witness is None else witnesses.launch(said.witness)
    reason = said.reason
    if said.witness is not None and launch is None:
        reason = f"its witness is left out: a proof keeps {MAX_WITNESSES_BYTES:,} bytes of them"
    answer = ProofAnswer(
        verdict=said.verdict,
        proved_under=said.proved_under,
        reason=reason or None,
        line=said.line,
        expression=said.expression or None,
        witness=launch,
        replay=None if said.witness is None or launch is None else _replay(said.witness),
        rechecked=_rechecked(said),
    )
    return guess.applied(answer)


def _rechecked(said: AnswerReport) -> ProofRecheck | None:
    seen = said.rechecked
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
    found: dict[str, Any] = {"shape": [size], "dtype": dtype}
    values = {int(at): value for at, value in witness.values.get(name, {}).items()}
    if values and dtype not in _FLOATS and size <= MAX_WRITTEN:
        first = next(iter(values.values()))
        listed = [values.get(at, first) for at in range(size)]
        return found | {"init": {"kind": "values", "values": listed}}
    if is_output:
        return found | {"output": True}
    return found | {"init": {"kind": "zeros"}}
