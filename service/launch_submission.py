"""From a launch request to its job, and from a job to what its caller is answered."""

import random
from collections.abc import Sequence

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.launch.case import with_seeds
from compiler.launch.job import LaunchJob, new_launch
from compiler.launch.launch import Device
from compiler.launch.promise import check_promises, promised
from compiler.launch.request import DeviceClass, LaunchRequest
from compiler.launch.resolution import AUTO, INTERPRETER, Resolved, resolve_launch
from compiler.launch.validation import below
from compiler.problem import failure_problem
from compiler.rejection import Fault, RequestRejected
from compiler.resolution import resolve
from service.caller import Caller
from service.problems import ProblemRaised
from service.shared import Shared
from store.jobs.words import Cancellation, Priority
from store.lanes import device_lane, interpreter_lane


async def submit_launch(
    shared: Shared, request: LaunchRequest, caller: Caller, launch_id: str
) -> None:
    """Check all that can be checked without a worker, and queue the launch.

    Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable.
    """
    seeded = with_seeds(request, random.SystemRandom())
    resolved = resolve_launch(seeded)
    await _check_tensors(shared, caller, resolved)
    compile_job, infers = await _compile_job(shared, seeded, resolved, caller)
    device, lane = await _device(shared, resolved, compile_job)
    job = LaunchJob(
        id=launch_id,
        caller=caller.id,
        request=seeded.model_dump(mode="json", by_alias=True, exclude_unset=True),
        compile_job=compile_job,
        device=device,
        infers=infers,
    )
    payload = job.model_dump_json().encode()
    await shared.launches.create(launch_id, caller.id, payload)
    await shared.jobs.submit(
        launch_id,
        lane=lane,
        priority=Priority(seeded.priority),
        payload=payload,
        caller=caller.id,
        deadline_ms=int(seeded.deadline_s * 1000),
    )


async def wait_for_launch(shared: Shared, launch_id: str, wait_s: float) -> bytes:
    """Return the launch as it is once it is over, or after `wait_s`."""
    if wait_s and (result := await shared.finished.wait(launch_id, wait_s)):
        return result.record
    return await current_launch(shared, launch_id)


async def current_launch(shared: Shared, launch_id: str) -> bytes:
    """Return the launch as it is now. Raises ProblemRaised (404) when it is not kept any more."""
    if result := await shared.jobs.result(launch_id):
        return result.record
    payload, standing = await shared.jobs.payload(launch_id), await shared.jobs.state(launch_id)
    if payload is None or standing is None:
        if result := await shared.jobs.result(launch_id):
            return result.record
        raise ProblemRaised("not_found", f"The launch {launch_id} is not kept any more")
    job = LaunchJob.model_validate_json(payload)
    launch = new_launch(job, standing.state.value)
    launch = launch.model_copy(update={"queue_position": standing.position})
    return launch.model_dump_json().encode()


async def cancel_launch(shared: Shared, caller: Caller, launch_id: str) -> bool:
    """Cancel the launch; False when it was over."""
    payload = await shared.jobs.payload(launch_id)
    if payload is None:
        return False
    job = LaunchJob.model_validate_json(payload)
    problem = failure_problem("cancelled", "Its caller cancelled the launch.")
    launch = new_launch(job, "cancelled").model_copy(update={"problem": problem})
    record = launch.model_dump_json().encode()
    done = await shared.jobs.cancel(launch_id, caller.id, record)
    return done in {Cancellation.CANCELLED, Cancellation.WITHDRAWN}


async def _check_tensors(shared: Shared, caller: Caller, resolved: Resolved) -> None:
    for case in resolved.cases:
        for allocation in case.bound.allocations:
            init = allocation.init or {}
            if init.get("kind") != "tensor":
                continue
            if not await shared.tensors.has(caller.id, init["digest"]):
                message = f"you have no tensor {init['digest']}; upload it with PUT /v1/tensors"
                fault = Fault(f"/arguments/{allocation.name}/init/digest", message)
                raise RequestRejected(*case.placed([fault]))


async def _compile_job(
    shared: Shared, request: LaunchRequest, resolved: Resolved, caller: Caller
) -> tuple[CompileJob, bool]:
    if request.compilation is not None:
        toolchain = await shared.toolchains.choose(request.compilation.triton)
        with below("/compilation"):
            return resolve(request.compilation, toolchain, caller.namespace), resolved.infers
    return await _compiled(shared, request.compilation_key or "", resolved), False


async def _compiled(shared: Shared, key: str, resolved: Resolved) -> CompileJob:
    payload = await shared.jobs.kept_payload(key) or await shared.compilations.request(key)
    record = await shared.compilations.read(key)
    if payload is None or record is None:
        message = f"there is no finished compilation {key}; post it first, or again"
        raise RequestRejected(Fault("/compilation_key", message))
    parameters = Compilation.model_validate_json(record).parameters
    for case in resolved.cases:
        named = {n: p for n, p in promised(parameters).items() if not p.is_constexpr}
        check_promises(named, case.bound)
    return CompileJob.model_validate_json(payload)


async def _device(shared: Shared, resolved: Resolved, job: CompileJob) -> tuple[Device, str]:
    wanted = resolved.device
    known = await shared.workers.known_devices()
    if isinstance(wanted, DeviceClass):
        name = _matching(known, wanted.target, wanted.model)
        if name is None:
            offered = ", ".join(known) or "none, only the interpreter"
            message = f"no worker has ever had such a device; known are {offered}"
            raise RequestRejected(Fault("/device", message))
        return _gpu(name)
    if wanted == AUTO and (name := _matching(known, job.target_name, None)):
        return _gpu(name)
    if job.source is None:
        message = (
            f"IR cannot run on the interpreter, and no worker has a device for {job.target_name}"
        )
        raise RequestRejected(Fault("/device", message))
    if wanted not in {AUTO, INTERPRETER}:
        raise RequestRejected(Fault("/device", f"{wanted!r} is no device"))
    return Device(target=None, interpreter=True), interpreter_lane(job.toolchain_id)


def _matching(known: Sequence[str], target: str, model: str | None) -> str | None:
    for name in known:
        its_target, _, its_model = name.partition(" ")
        if its_target == target and model in {None, its_model}:
            return name
    return None


def _gpu(name: str) -> tuple[Device, str]:
    target, _, model = name.partition(" ")
    return Device(target=target, model=model, interpreter=False), device_lane(target, model)
