"""Chooses the device of a launch, and the lane of the workers that have it."""

from collections.abc import Iterator, Mapping, Sequence

from compiler.job import CompileJob
from compiler.rejection import FieldError, RequestRejected
from compiler.target import parse_target
from launch.request.launch_record import Device
from launch.request.launch_request import DeviceClass, LaunchRequest
from launch.request.launch_resolution import CPU, GPU, Resolved
from launch.request.reference_request import Reference
from service.state import ServiceState
from store.jobs.types import cpu_lane, device_lane, torch_lane

WITHOUT_TOOLS = ("determinism", "fuzz", "proof")
"""Checks that every device supports."""


async def choose_device(
    state: ServiceState, resolved: Resolved, job: CompileJob, references: Mapping[str, CompileJob]
) -> tuple[Device, str]:
    """Return the device and the lane of a launch of `job`; `references` are kernels by their keys.

    Raises RequestRejected for a device, or torch on a device, that no worker has ever had, and for
    kernels that it cannot run.
    """
    kernels = {"/compilation_key" if resolved.specialization is None else "/compilation": job} | {
        f"{at}/compilation_key": references[reference.compilation_key]
        for at, reference in _given_references(resolved)
        if reference.compilation_key is not None
    }
    name = await _gpu_name(state, resolved.device, job.target_name)
    if name is None:
        await _check_cpu_device(state, job)
        device, place = Device(target=None, interpreter=True), job.toolchain_id
        lane = cpu_lane(job.toolchain_id)
    else:
        target, _, model = name.partition(" ")
        _check_binaries(kernels, target)
        device, place = Device(target=target, model=model, interpreter=False), name
        lane = device_lane(target, model)
    return device, await _with_torch(state, resolved, lane, place)


def _given_references(resolved: Resolved) -> Iterator[tuple[str, Reference]]:
    for case, origin in resolved.located:
        if case.reference is not None:
            yield origin.reference_at, case.reference


async def _gpu_name(state: ServiceState, wanted: str | DeviceClass, target: str) -> str | None:
    """Return the class of GPUs to run on, None for the CPU device. Raises RequestRejected."""
    if wanted == CPU:
        return None
    known = await state.workers.known_devices()
    if isinstance(wanted, DeviceClass):
        name = _matching(known, str(parse_target(wanted.target)), wanted.model)
    else:
        name = _matching(known, target, None)
    if name is None and (wanted == GPU or isinstance(wanted, DeviceClass)):
        offered = ", ".join(known) or "none, only the CPU device"
        message = f"no worker has ever had such a device; known devices: {offered}"
        raise RequestRejected(FieldError("/device", message))
    return name


def _matching(known: Sequence[str], target: str, model: str | None) -> str | None:
    for name in known:
        its_target, _, its_model = name.partition(" ")
        if its_target == target and model in {None, its_model}:
            return name
    return None


async def _check_cpu_device(state: ServiceState, job: CompileJob) -> None:
    """Refuse a toolchain on whose CPU device no worker has launched, if others are known."""
    launching = [place for place in await state.workers.known_references() if " " not in place]
    if launching and job.toolchain_id not in launching:
        known = [await state.toolchains.find(identity) for identity in launching]
        offered = ", ".join(sorted({toolchain.triton for toolchain in known if toolchain}))
        message = f"no CPU device runs this Triton; offered: {offered or 'none'}"
        raise RequestRejected(FieldError("/compilation/triton", message))


def _check_binaries(kernels: Mapping[str, CompileJob], target: str) -> None:
    errors = []
    for at, kernel in kernels.items():
        if kernel.target_name != target:
            message = f"was compiled for {kernel.target_name}, and cannot run on {target}"
            errors.append(FieldError(at, message))
        elif kernel.stop_after != kernel.target.stages[-1]:
            message = f"was compiled only up to {kernel.stop_after}; compile without `stop_after`"
            errors.append(FieldError(at, message))
    if errors:
        raise RequestRejected(*errors)


async def _with_torch(state: ServiceState, resolved: Resolved, lane: str, place: str) -> str:
    """Return `lane`, or its variant for launches with references in torch."""
    pointers = [
        f"{at}/language"
        for at, reference in _given_references(resolved)
        if reference.source is not None and reference.language == "torch"
    ]
    if not pointers:
        return lane
    known = await state.workers.known_references()
    if "torch" not in known.get(place, ()):
        message = (
            "no worker has torch for such launches; install it (`make torch` in a checkout) and "
            "restart the worker, or write the reference with NumPy"
        )
        raise RequestRejected(*(FieldError(at, message) for at in dict.fromkeys(pointers)))
    return torch_lane(lane)


async def check_tools(state: ServiceState, request: LaunchRequest, device: Device) -> None:
    """Refuse checks, profiles and timings that no worker with such a device supports.

    Raises RequestRejected.
    """
    errors: list[FieldError] = []
    if device.interpreter:
        if request.profile:
            errors.append(
                FieldError(
                    "/profile", "the CPU device cannot profile; choose a GPU or remove `profile`"
                )
            )
        if request.timing is not None and request.timing.fresh_inputs == "values":
            message = "the CPU device does not time runs; choose a GPU"
            errors.append(FieldError("/timing/fresh_inputs", message))
    else:
        known = await state.workers.known_tools(f"{device.target} {device.model}")
        for index, check in enumerate(request.checks):
            if check not in WITHOUT_TOOLS and check not in known:
                message = f"{check} needs compute-sanitizer, and no worker with such a GPU has it"
                errors.append(FieldError(f"/checks/{index}", message))
        if request.profile and "profile" not in known:
            errors.append(
                FieldError("/profile", "profiling needs ncu, and no worker with such a GPU has it")
            )
    if errors:
        raise RequestRejected(*errors)
