"""Submits launches: checks everything that needs no worker, and queues the job."""

import random
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final, ParamSpec, TypeVar

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.rejection import FieldError, RequestRejected
from compiler.request import limits
from compiler.request.limits import is_longer
from compiler.request.resolution import resolve
from compiler.specialization import SpecializedParameter
from jobs.core_kinds import LAUNCH
from jobs.submission import JobOrder
from launch.request.argument_binding import ARGUMENTS
from launch.request.bound_arguments import BoundArguments, Buffer
from launch.request.case import argument_count, with_seeds
from launch.request.element import ITEM_BYTES
from launch.request.hint_check import as_given, check_hints, compiled_hints
from launch.request.launch_job import (
    MAX_OUTPUT_BYTES,
    MAX_UPLOADED_BYTES,
    LaunchJob,
    compile_job_of_launch,
    launch_job,
)
from launch.request.launch_record import Device
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import Resolved, resolve_launch
from launch.request.request_part import below
from service.caller import Caller
from service.compilations.retrieval import read_compile_job
from service.file_digests import keep_texts
from service.http.problems import ProblemRaised
from service.launches.launch_device import check_tools, choose_device
from service.owned_jobs import OwnedJobs
from service.provers import check_prover
from service.state import ServiceState
from store.jobs.types import Membership, Priority, Submitted, Waiting
from store.launches import StoredLaunch
from store.own_lists import Listing
from store.stored import read_stored

_PROOF = "proof"
_LONG_BYTES: Final = 4 << 10
"""The size of arguments in JSON from which a thread reads them: about a millisecond of work."""
_MANY_ARGUMENTS: Final = 50
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


async def _find(state: ServiceState, launch_id: str, caller: str) -> StoredLaunch | None:
    return await state.launches.find(launch_id, caller)


async def submit_launch(
    state: ServiceState,
    request: LaunchRequest,
    caller: Caller,
    launch_id: str,
    *,
    waiting: Waiting | None = None,
    membership: Membership | None = None,
) -> Submitted:
    """Check everything that needs no worker, and queue the launch.

    Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable.
    """
    prepared = await prepare_launch(state, request, caller)
    job, payload = await _in_thread_if(
        prepared.is_long, state, _written_job, prepared, launch_id, caller.id
    )
    await keep_texts(state, caller, job.compile_job.module, job.compile_job.files)
    order = JobOrder(
        LAUNCH,
        job,
        caller.id,
        Priority(request.priority),
        queued_ms=int(request.deadline_s * 1000),
        membership=membership,
        listing=Listing("launches"),
        payload=payload,
    )
    submitted = await state.client.submit(order, waiting=waiting)
    await state.launches.create(launch_id, caller.id, job.compile_job.kernel)
    return submitted


@dataclass(frozen=True, slots=True)
class PreparedLaunch:
    """A launch that was checked: its request with its seeds, and where it runs."""

    request: LaunchRequest
    resolved: Resolved
    device: Device
    lane: str
    compile_job: CompileJob
    references: Mapping[str, CompileJob]
    is_long: bool
    """True if reading or writing it would delay others: a thread does."""


async def prepare_launch(
    state: ServiceState, request: LaunchRequest, caller: Caller
) -> PreparedLaunch:
    """Check everything that needs no worker, and choose where the launch runs.

    Raises RequestRejected, ProblemRaised, StoreUnavailable.
    """
    is_long = _is_long(request)
    seeded, resolved = await _in_thread_if(is_long, state, _resolve, request)
    _check_outputs(resolved)
    await _check_tensors(state, caller, resolved)
    compile_job = await _compile_job(state, seeded, resolved, caller)
    references = await _reference_jobs(state, resolved, caller)
    device, lane = await choose_device(state, resolved, compile_job, references)
    await check_tools(state, seeded, device)
    if _PROOF in seeded.checks:
        await check_prover(state, f"/checks/{seeded.checks.index(_PROOF)}")
    kernel = compile_job_of_launch(compile_job, seeded.timeout_s)
    named = {key: compile_job_of_launch(job, seeded.timeout_s) for key, job in references.items()}
    return PreparedLaunch(seeded, resolved, device, lane, kernel, named, is_long)


async def _in_thread_if(
    is_long: bool,
    state: ServiceState,
    make: Callable[_Given, _Made],
    *args: _Given.args,
    **kwargs: _Given.kwargs,
) -> _Made:
    """Return what `make` returns."""
    if is_long:
        return await state.threads.run(make, *args, **kwargs)
    return make(*args, **kwargs)


def _is_long(request: LaunchRequest) -> bool:
    """Return whether a request has many arguments, or long ones."""
    sources = [case.reference.source for case in request.cases if case.reference is not None]
    arguments = [request.arguments, *(case.arguments for case in request.cases)]
    is_many = argument_count(request) > _MANY_ARGUMENTS
    return is_many or is_longer([arguments, sources], _LONG_BYTES)


def _written_job(prepared: PreparedLaunch, launch_id: str, caller: str) -> tuple[LaunchJob, bytes]:
    job = launch_job(
        prepared.request,
        prepared.resolved.cases,
        launch_id=launch_id,
        caller=caller,
        device=prepared.device,
        lane=prepared.lane,
        compile_job=prepared.compile_job,
        references=prepared.references,
    )
    return job, LAUNCH.written(job)


def _resolve(request: LaunchRequest) -> tuple[LaunchRequest, Resolved]:
    seeded = with_seeds(request, random.SystemRandom())
    return seeded, resolve_launch(seeded)


def _check_outputs(resolved: Resolved) -> None:
    errors: list[FieldError] = []
    for case, origin in resolved.located:
        sizes = (
            prod(output.shape) * ITEM_BYTES[output.dtype] for output in case.bound.outputs.values()
        )
        if (size := sum(sizes)) > MAX_OUTPUT_BYTES:
            message = f"the outputs take {size} bytes in total, more than {MAX_OUTPUT_BYTES}"
            errors += origin.relocate([FieldError(ARGUMENTS, message)])
    if errors:
        raise RequestRejected(*errors)


async def _check_tensors(state: ServiceState, caller: Caller, resolved: Resolved) -> None:
    sizes: dict[str, int | None] = {}
    for case, origin in resolved.located:
        total = 0
        for allocation in case.bound.allocations:
            init = allocation.init or {}
            if init.get("kind") != "tensor":
                continue
            digest = init["digest"]
            if digest not in sizes:
                sizes[digest] = await state.tensors.size(caller.id, digest)
            size = sizes[digest]
            if size is None:
                message = f"you have no tensor {digest}; upload it with PUT /v1/tensors/{{digest}}"
                error = FieldError(_pointer_of_digest(case.bound, allocation.name), message)
                raise RequestRejected(*origin.relocate([error]))
            total += size
        if total > MAX_UPLOADED_BYTES:
            message = f"the tensors take {total} bytes in total, more than {MAX_UPLOADED_BYTES}"
            raise RequestRejected(*origin.relocate([FieldError(ARGUMENTS, message)]))


def _pointer_of_digest(bound: BoundArguments, allocation: str) -> str:
    """Return the JSON pointer of an allocation's tensor; for nested ones, of the argument."""
    name = allocation.partition(".")[0]
    is_plain = isinstance(bound.arguments.get(name), Buffer)
    return f"{ARGUMENTS}/{name}/init/digest" if is_plain else f"{ARGUMENTS}/{name}"


async def _compile_job(
    state: ServiceState, request: LaunchRequest, resolved: Resolved, caller: Caller
) -> CompileJob:
    if request.compilation is not None:
        with below("/compilation"):
            limits.check(request.compilation, state.settings.request_limits)
            toolchain = await state.toolchains.choose(request.compilation.triton)
            kernel = request.compilation.for_target(toolchain.default_target)
            return resolve(kernel, toolchain, caller.namespace)
    key = request.compilation_key or ""
    compiled = await _read_compiled(state, key, "/compilation_key", caller)
    for case, origin in resolved.located:
        try:
            hints = compiled.hints_of(case.bound.arguments)
            check_hints(hints, case.bound, of_ir=compiled.job.ir is not None)
        except RequestRejected as rejected:
            raise type(rejected)(*origin.relocate(rejected.errors)) from None
    return compiled.job


async def _reference_jobs(
    state: ServiceState, resolved: Resolved, caller: Caller
) -> dict[str, CompileJob]:
    """Return the kernels that references name, each checked against its cases' arguments."""
    compiled: dict[str, _Compiled] = {}
    for case, origin in resolved.located:
        key = case.reference.compilation_key if case.reference is not None else None
        if key is None:
            continue
        at = f"{origin.reference_at}/compilation_key"
        if key not in compiled:
            compiled[key] = await _read_compiled(state, key, at, caller)
        hints = compiled[key].hints_of(case.bound.arguments)
        taken = {name: item for name, item in case.bound.arguments.items() if name in hints}
        try:
            check_hints(hints, BoundArguments(allocations=case.bound.allocations, arguments=taken))
        except RequestRejected as rejected:
            reasons = "; ".join(f"{error.pointer}: {error.message}" for error in rejected.errors)
            message = f"its kernel cannot take the arguments: {reasons}"
            raise type(rejected)(FieldError(at, message)) from None
    return {key: compiled.job for key, compiled in compiled.items()}


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A finished compilation: its job, and the hints that its run-time arguments must keep."""

    job: CompileJob
    hints: dict[str, SpecializedParameter]

    def hints_of(self, arguments: Container[str]) -> dict[str, SpecializedParameter]:
        """Return the hints by the names that a launch gives its arguments."""
        return self.hints if self.job.ir is None else as_given(self.hints, arguments)


async def _read_compiled(state: ServiceState, key: str, at: str, caller: Caller) -> _Compiled:
    message = f"there is no finished compilation {key}; post it first, or again"
    try:
        job = await read_compile_job(state, caller, key)
    except ProblemRaised:
        raise RequestRejected(FieldError(at, message)) from None
    record = await state.compilations.read(key)
    if record is None and (result := await state.jobs.result(key)):
        record = result.record  # a success may not have reached the cache yet
    if record is None:
        raise RequestRejected(FieldError(at, message))
    compilation = read_stored(Compilation, record)
    if compilation.state != "succeeded":
        message = f"the compilation {compilation.state}; see {compilation.url}"
        raise RequestRejected(FieldError(at, message))
    every = compiled_hints(compilation.parameters)
    named = {name: item for name, item in every.items() if not item.is_constexpr}
    return _Compiled(job, named)


LAUNCHES = OwnedJobs(LAUNCH, "launches", submit_launch, _find)
