"""Turns a proof request into a job and queues it. Reads no source and no IR."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from compiler.job import CompileJob
from compiler.json_number import read_number
from compiler.proof.contract import ContractError
from compiler.rejection import FieldError, RequestRejected, pointer
from compiler.request import limits
from compiler.request.resolution import resolve
from jobs.submission import JobOrder
from launch.contract.infer_contract import (
    CaseBuffer,
    InferenceCase,
    NotInferable,
    inferred_contract,
)
from launch.contract.text import read_contract
from launch.request.grid import parse_grid
from launch.request.launched_kernel import LaunchedKernel
from launch.request.request_part import below, read
from proofs.proof_job import OtherKernelJob, ProofJob
from proofs.proof_kind import PROOF
from proofs.proof_request import ProofArgument, ProofBuffer, ProofCase, ProofRequest
from proofs.stored_proofs import Proofs, StoredProof
from service.caller import Caller
from service.compilations.retrieval import read_compile_job
from service.file_digests import keep_texts
from service.owned_jobs import OwnedJobs
from service.provers import check_prover
from service.state import ServiceState
from store.jobs.types import Membership, Priority, Submitted, Waiting
from store.own_lists import Listing

_TTIR = "ttir"
_SHORT_CHARACTERS: Final = 1_000
"""Reading a contract of this length takes less time than handing it to a thread."""
_OWN_FIELDS = {"compilation", "contract", "cases", "checks", "limits", "deadline_s", "equivalent"}
_MAX_I32 = 2**31 - 1


async def _find(state: ServiceState, proof_id: str, caller: str) -> StoredProof | None:
    return await state.store(Proofs).find(proof_id, caller)


async def submit_proof(
    state: ServiceState,
    request: ProofRequest,
    caller: Caller,
    proof_id: str,
    *,
    waiting: Waiting | None = None,
    membership: Membership | None = None,
) -> Submitted:
    """Do every check that needs no worker, and queue the proof.

    Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable.
    """
    await check_prover(state, "")
    other = None
    if request.equivalent is not None:
        compile_job, contract, other = await _pair(state, request, caller)
    else:
        compile_job = await _kernel(state, request, request.compilation, caller)
        if request.contract is not None and len(request.contract) <= _SHORT_CHARACTERS:
            contract = _contract(request, compile_job)
        else:
            contract = await state.threads.run(_contract, request, compile_job)
    for kernel in [compile_job, *([other.compile_job] if other else [])]:
        await keep_texts(state, caller, kernel.module, kernel.files)
    job = ProofJob(
        id=proof_id,
        caller=caller.id,
        compile_job=compile_job,
        contract=contract,
        is_inferred=bool(request.cases),
        checks=request.checks,
        limits=request.limits,
        launch={"compilation_key": compile_job.key},
        other=other,
        priority=request.priority,
        deadline_s=request.deadline_s,
    )
    order = JobOrder(
        PROOF,
        job,
        caller.id,
        Priority(request.priority),
        queued_ms=int(request.deadline_s * 1000),
        membership=membership,
        listing=Listing("proofs"),
    )
    submitted = await state.client.submit(order, waiting=waiting)
    await state.store(Proofs).create(proof_id, caller.id)
    return submitted


async def _pair(
    state: ServiceState, request: ProofRequest, caller: Caller
) -> tuple[CompileJob, str, OtherKernelJob]:
    """Return both kernels of a comparison with their contracts. Raises RequestRejected."""
    if request.source is not None or request.ir is not None or request.compilation is not None:
        message = "give either `equivalent`, or one kernel"
        raise RequestRejected(FieldError("/equivalent", message))
    kernels = []
    for index, posted in enumerate(request.equivalent or ()):
        with below(f"/equivalent/{index}"):
            job = await _kernel(state, posted, posted.compilation, caller)
            text = posted.contract if posted.contract is not None else request.contract
            if text is None:
                raise RequestRejected(FieldError("/contract", "give a contract"))
            kernels.append((job, _checked(text)))
    (first, contract), (second, other_contract) = kernels
    return first, contract, OtherKernelJob(compile_job=second, contract=other_contract)


async def _kernel(
    state: ServiceState, request: LaunchedKernel, posted: Any, caller: Caller
) -> CompileJob:
    """Return the kernel's job. Raises RequestRejected, ProblemRaised."""
    own = {name: getattr(request, name) for name in request.model_fields_set - _OWN_FIELDS}
    if posted is None:
        return await _resolved(state, request, own, caller)
    if request.source is not None or request.ir is not None:
        message = "give either `compilation`, or a kernel's `source` or `ir`"
        raise RequestRejected(FieldError("/compilation", message))
    if isinstance(posted, str):
        return await read_compile_job(state, caller, posted)
    with below("/compilation"):
        kernel = read(LaunchedKernel, posted, "")
        members = {name: getattr(kernel, name) for name in kernel.model_fields_set}
        return await _resolved(state, request, members, caller)


async def _resolved(
    state: ServiceState, request: LaunchedKernel, members: Mapping[str, Any], caller: Caller
) -> CompileJob:
    kernel = LaunchedKernel.model_validate(members)
    limits.check(kernel, state.settings.request_limits)
    toolchain = await state.toolchains.choose(kernel.triton)
    changes: dict[str, Any] = {"stop_after": _TTIR}
    if kernel.signature is None and kernel.specialization_data is None and kernel.source:
        changes["signature"] = _signature(getattr(request, "cases", ()), kernel.constexprs or {})
    complete = LaunchedKernel.model_validate(dict(members) | changes)
    return resolve(complete.for_target(toolchain.default_target), toolchain, caller.namespace)


def _signature(cases: Sequence[ProofCase], constexprs: Mapping[str, Any]) -> dict[str, str]:
    """Return the types of the arguments of the cases. Raises RequestRejected without cases."""
    if not cases:
        message = "give the kernel's signature, or cases, whose arguments give it"
        raise RequestRejected(FieldError("/signature", message))
    arguments = [_arguments(*numbered) for numbered in enumerate(cases)]
    types = {}
    for name in arguments[0]:
        values = [each[name] for each in arguments if name in each]
        if name not in constexprs:
            types[name] = _type_of(values)
    return types


def _arguments(index: int, case: ProofCase) -> dict[str, ProofArgument]:
    """Return the arguments of a case. Raises RequestRejected."""
    at = f"/cases/{index}/arguments"
    return {name: _argument(value, at + pointer(name)) for name, value in case.arguments.items()}


def _argument(value: Any, at: str) -> ProofArgument:
    if isinstance(value, dict):
        buffer = read(ProofBuffer, value, at)
        if buffer.strides is not None and len(buffer.strides) != len(buffer.shape):
            message = f"must be {len(buffer.shape)} numbers, as the shape has as many axes"
            raise RequestRejected(FieldError(at + "/strides", message))
        return buffer
    if isinstance(value, bool | int | float):
        return value
    raise RequestRejected(FieldError(at, 'must be a number, or a buffer: {"shape": [4099]}'))


def _type_of(values: Sequence[ProofArgument]) -> str:
    first = values[0]
    if isinstance(first, ProofBuffer):
        return f"*{first.dtype}"
    if isinstance(first, bool):
        return "i1"
    if isinstance(first, float):
        return "fp32"
    is_wide = any(isinstance(value, int) and abs(value) > _MAX_I32 for value in values)
    return "i64" if is_wide else "i32"


def _contract(request: ProofRequest, job: CompileJob) -> str:
    """Return the contract's text, given or inferred. Raises RequestRejected."""
    if (request.contract is None) == (not request.cases):
        message = "give either a `contract`, or `cases` to infer it from"
        raise RequestRejected(FieldError("/contract", message))
    if request.contract is not None:
        return _checked(request.contract)
    constants = _constants(job)
    cases = [_inference_case(*numbered, constants) for numbered in enumerate(request.cases)]
    try:
        return inferred_contract(cases, constants)
    except NotInferable as error:
        raise RequestRejected(FieldError("/cases", str(error))) from None


def _checked(text: str) -> str:
    """Return a contract's text. Raises RequestRejected for a mistake, with its place."""
    try:
        read_contract(text)
    except ContractError as error:
        raise RequestRejected(FieldError("/contract", str(error))) from None
    return text


def _constants(job: CompileJob) -> dict[str, int]:
    """Return the integer constexprs that the request names."""
    values = {
        name: read_number(item.value)
        for name, item in job.specialization.named.items()
        if item.is_constexpr and isinstance(item.value, dict) and "int" in item.value
    }
    return {name: value for name, value in values.items() if isinstance(value, int)}


def _inference_case(index: int, case: ProofCase, constants: Mapping[str, int]) -> InferenceCase:
    arguments = _arguments(index, case)
    buffers = {
        name: CaseBuffer(value.shape, value.strides)
        for name, value in arguments.items()
        if isinstance(value, ProofBuffer)
    }
    scalars = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, int) and not isinstance(value, bool) and name not in constants
    }
    grid = parse_grid(case.grid, f"/cases/{index}/grid").evaluate({**constants, **scalars})
    return InferenceCase(buffers, scalars, grid[: len(case.grid)])


PROOFS = OwnedJobs(PROOF, "proofs", submit_proof, _find, scope="compile")
