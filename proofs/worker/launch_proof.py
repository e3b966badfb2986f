"""The proof of a launch's kernel: its contract is inferred from the launch's cases."""

import secrets

from compiler.compilation import amended
from compiler.job import CompileJob
from compiler.json_number import read_number
from compiler.problem import failure_problem
from compiler.request.resolution import specialized_job
from compiler.specialization import Specialization, SpecializedParameter
from jobs.deadline import Deadline
from jobs.submission import JobOrder
from launch.contract.infer_contract import (
    CaseBuffer,
    InferenceCase,
    NotInferable,
    inferred_contract,
)
from launch.request.bound_arguments import Buffer, Scalar
from launch.request.case import Case
from launch.request.launch_job import LaunchJob
from proofs.proof_job import ProofJob
from proofs.proof_kind import PROOF
from proofs.proof_record import Proof, proof_url
from proofs.proof_request import CHECKS, ProofLimits
from proofs.stored_proofs import Proofs
from store.jobs.types import Priority
from worker.worker_context import WorkerContext

_TTIR = "ttir"
MOST_CASES = 8
"""The first cases of a launch, from which its contract is inferred."""


async def prove_launch(context: WorkerContext, job: LaunchJob, deadline: Deadline) -> Proof:
    """Return the proof of a launch's kernel. Raises DeadlinePassed, CallerBytesFull."""
    proof_id = secrets.token_hex(16)
    try:
        proof = _proof_job(job, proof_id)
    except NotInferable as error:
        problem = failure_problem("invalid_argument", f"No contract can be inferred: {error}")
        return Proof(id=proof_id, url=proof_url(proof_id), state="failed", problem=problem)
    order = JobOrder(PROOF, proof, job.caller, Priority(job.priority), queued_ms=deadline.left_ms)
    await Proofs(context.queue.redis).create(proof_id, job.caller)
    return Proof.model_validate_json(await context.client.done_within(deadline, order))


def _proof_job(job: LaunchJob, proof_id: str) -> ProofJob:
    """Return the job of the proof. Raises NotInferable."""
    cases = job.cases[:MOST_CASES]
    compiled = _compile_job(job, cases[0])
    constants = {
        name: value
        for name, item in compiled.specialization.named.items()
        if item.is_constexpr and isinstance(value := _number(item.value), int)
    }
    contract = inferred_contract([_inference_case(case, constants) for case in cases], constants)
    kernel = {
        name: member
        for name, member in compiled.as_request().items()
        if name in ("source", "files", "kernel", "constexprs") and member
    }
    return ProofJob(
        id=proof_id,
        caller=job.caller,
        compile_job=compiled,
        contract=contract,
        is_inferred=True,
        checks=list(CHECKS),
        limits=ProofLimits(),
        launch={"compilation": kernel},
        priority=job.priority,
        deadline_s=job.deadline_s,
    )


def _compile_job(job: LaunchJob, case: Case) -> CompileJob:
    """Return the kernel's job, up to TTIR, with the types of a case's arguments."""
    compiled = amended(job.compile_job, stop_after=_TTIR)
    known = compiled.specialization
    named = dict(known.named)
    if job.infers:
        for name, argument in case.bound.arguments.items():
            if name not in named and isinstance(argument, Buffer | Scalar):
                mark = "*" if isinstance(argument, Buffer) else ""
                named[name] = SpecializedParameter(type=f"{mark}{argument.dtype}")
    return specialized_job(compiled, Specialization(named, known.positional))


def _inference_case(case: Case, constants: dict[str, int]) -> InferenceCase:
    buffers, scalars = {}, {}
    for name, argument in case.bound.arguments.items():
        if isinstance(argument, Buffer):
            strides = None if _is_contiguous(argument) else argument.strides
            buffers[name] = CaseBuffer(argument.shape, strides)
        elif isinstance(argument, Scalar) and name not in constants:
            value = _number(argument.value)
            if isinstance(value, int) and not isinstance(value, bool):
                scalars[name] = value
    grid = case.grid.evaluate({**constants, **scalars})
    return InferenceCase(buffers, scalars, grid[: len(case.grid.dimensions)])


def _is_contiguous(buffer: Buffer) -> bool:
    step = 1
    for extent, stride in zip(reversed(buffer.shape), reversed(buffer.strides), strict=True):
        if stride != step and extent != 1:
            return False
        step *= extent
    return buffer.offset == 0


def _number(value: object) -> int | float | bool | None:
    try:
        return read_number(value)
    except ValueError:
        return None
