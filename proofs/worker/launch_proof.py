"""The proof of a launch's kernel: its contract is inferred from the launch's cases."""

import secrets
from dataclasses import replace

from compiler.json_number import read_number
from compiler.problem import failure_problem
from jobs.deadline import Deadline
from launch.contract.infer_contract import (
    CaseBuffer,
    InferenceCase,
    NotInferable,
    inferred_contract,
)
from launch.request.bound_arguments import Buffer, Scalar
from launch.request.case import Case
from launch.request.launch_job import LaunchJob
from proofs.proof_record import Proof, proof_url
from proofs.worker.kernel_proof import kernel_proof, launched_kernel
from store.stored import read_stored
from worker.worker_context import WorkerContext

MAX_CASES = 8
"""The first cases of a launch, from which its contract is inferred."""


async def prove_launch(context: WorkerContext, job: LaunchJob, deadline: Deadline) -> Proof:
    """Return the proof of a launch's kernel. Raises DeadlinePassed, CallerBytesFull."""
    proof_id = secrets.token_hex(16)
    try:
        contract = _contract(job)
    except NotInferable as error:
        problem = failure_problem("invalid_argument", f"The cases give no contract: {error}")
        return Proof(id=proof_id, url=proof_url(proof_id), state="failed", problem=problem)
    order = kernel_proof(job, contract, job.caller, is_inferred=True).order(proof_id)
    order = replace(order, queued_ms=deadline.left_ms)
    return read_stored(Proof, await context.client.done_within(deadline, order))


def _contract(job: LaunchJob) -> str:
    """Return what the cases of a launch have in common. Raises NotInferable."""
    constants = {
        name: value
        for name, item in launched_kernel(job).specialization.named.items()
        if item.is_constexpr and isinstance(value := _number(item.value), int)
    }
    cases = [_inference_case(case, constants) for case in job.cases[:MAX_CASES]]
    return inferred_contract(cases, constants)


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
