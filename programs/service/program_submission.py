"""Turns a program request into a job and queues it.

The request is checked by its JSON alone: nothing here parses, compiles or runs the posted source.
`choose_runner` chooses the Triton that records the program, the device that runs it, and the lane.
"""

import hashlib
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from compiler.inspection import InspectRequest
from compiler.rejection import FieldError, RequestRejected, collecting, pointer
from compiler.request.limits import RequestLimits
from compiler.request.limits import check as check_sizes
from compiler.request.resolution import check_texts, offered_target
from compiler.target import parse_target
from compiler.toolchain import Toolchain
from jobs.submission import JobOrder
from launch.request.initializer import SEED_BITS
from launch.request.launch_record import Device
from launch.request.launch_request import DeviceClass
from launch.request.launch_resolution import AUTO, CPU, read_device, repeats_errors
from launch.request.request_part import below
from programs.flag_kinds import chosen_kinds
from programs.program_job import ProgramJob, program_job
from programs.program_kind import PROGRAM
from programs.program_request import EntryRequest, ProgramRequest
from programs.stored_programs import Programs, StoredProgram
from service.caller import Caller
from service.http.problems import ProblemRaised
from service.large_bodies import IN_LOOP_BYTES
from service.owned_jobs import OwnedJobs
from service.program_runners import ProgramRunner
from service.state import ServiceState
from store.jobs.types import (
    Membership,
    Priority,
    Submitted,
    Waiting,
)
from store.own_lists import Listing

_TRYING_S: Final = "5"
"""The `Retry-After`, in seconds, while a worker tests its recorder."""
ON_THE_CPU: Final = frozenset({"initcheck", "racecheck"})
"""The checks that only the CPU device supports."""


async def _find(state: ServiceState, program_id: str, caller: str) -> StoredProgram | None:
    return await state.store(Programs).find(program_id, caller)


async def submit_program(
    state: ServiceState,
    request: ProgramRequest,
    caller: Caller,
    program_id: str,
    *,
    waiting: Waiting | None = None,
    membership: Membership | None = None,
) -> Submitted:
    """Do every check that needs no worker, and queue the program.

    Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable.
    """
    if character_count(request) <= IN_LOOP_BYTES:
        check_program(request, state.settings.request_limits)
    else:  # checking megabytes of source would hold up other requests
        await state.threads.run(check_program, request, state.settings.request_limits)
    runner = await choose_runner(state, request)
    job = program_job(
        request,
        program_id=program_id,
        caller=caller.id,
        namespace=caller.namespace,
        toolchain_id=runner.toolchain_id,
        device=runner.device,
        lane=runner.lane,
        drawn_seed=secrets.randbits(SEED_BITS),
        serious_flags=chosen_kinds(state.settings.serious_flags),
    )
    order = JobOrder(
        PROGRAM,
        job,
        caller.id,
        Priority(request.priority),
        queued_ms=int(request.deadline_s * 1000),
        membership=membership,
        listing=Listing("programs"),
        # the plan of a batch has the ids of its items, which join each other before they come here
        equal_name=_equal_name(job) if request.seed is None and membership is None else "",
    )
    submitted = await state.client.submit(order, waiting=waiting)
    await state.store(Programs).create(submitted.job_id, caller.id)
    return submitted


def _equal_name(job: ProgramJob) -> str:
    """Return the name that equal jobs of one caller share, whatever their ids and drawn seeds."""
    return hashlib.sha256(PROGRAM.written(job.model_copy(update={"id": "", "seed": 0}))).hexdigest()


PROGRAMS = OwnedJobs(PROGRAM, "programs", submit_program, _find, runs_equal_once=True)


async def choose_runner(state: ServiceState, request: ProgramRequest) -> ProgramRunner:
    """Return where the program runs, or where it is recorded if it stops after that.

    Raises RequestRejected for a device that no worker offers, or that cannot do what is asked;
    ProblemRaised (503) while a worker tests its recorder.
    """
    wanted = read_device(request.device)
    chosen = await state.toolchains.choose(request.triton)
    runner = None
    if wanted != CPU and request.stop_after is None:
        runner = await _on_a_gpu(state, request, chosen, wanted)
    if runner is None:
        toolchain = await _recording(state, request, chosen)
        if request.target is not None:
            offered_target(request.target, toolchain)
        runner = ProgramRunner(toolchain.id)
    if errors := list(device_errors(request, runner.device)):
        raise RequestRejected(*errors)
    return runner


async def _on_a_gpu(
    state: ServiceState, request: ProgramRequest, chosen: Toolchain, wanted: str | DeviceClass
) -> ProgramRunner | None:
    """Return the place on a GPU; None if `wanted` is "auto" and programs run on no GPU.

    Raises RequestRejected, and ProblemRaised (503) while a worker tests its GPUs.
    """
    known = await state.workers.known_program_devices()
    fitting = {
        toolchain: name
        for toolchain, names in known.items()
        if (name := _matching(names, wanted)) is not None
    }
    toolchain = await _instead(state, request, chosen, fitting)
    if toolchain is None:
        if wanted == AUTO:
            await _check_gpus_are_known(state)
            return None
        raise await _no_such_device(state, known, fitting)
    return ProgramRunner(toolchain.id, fitting[toolchain.id])


def _matching(names: Sequence[str], wanted: str | DeviceClass) -> str | None:
    """Return the first device class that matches `wanted`; "auto" matches all."""
    if not isinstance(wanted, DeviceClass):
        return names[0]
    wanted_target = str(parse_target(wanted.target))
    for name in names:
        target, _, model = name.partition(" ")
        if target == wanted_target and wanted.model in {None, model}:
            return name
    return None


async def _no_such_device(
    state: ServiceState, known: Mapping[str, Sequence[str]], fitting: Collection[str]
) -> RequestRejected | ProblemRaised:
    """Return the reason why no GPU of the requested class runs the program."""
    if await _of(state, fitting):
        return RequestRejected(FieldError("/triton", await _offered(state, fitting, "such a GPU")))
    await _check_gpus_are_known(state)
    if await _is_being_tried(state):
        return _try_again()
    offered = ", ".join(sorted({name for names in known.values() for name in names}))
    message = (
        "no worker runs programs on this device. Available: "
        f"{offered or 'only the CPU device'}. "
        "To run programs on a worker's GPUs, install a CUDA build of torch next to its Triton"
    )
    return RequestRejected(FieldError("/device", message))


async def _recording(state: ServiceState, request: ProgramRequest, chosen: Toolchain) -> Toolchain:
    """Return the toolchain that records the program for the CPU device.

    Raises RequestRejected if there is none, or none of the requested Triton, and ProblemRaised
    (503) while a worker tests its recorder.
    """
    recording = await state.workers.known_programs()
    toolchain = await _instead(state, request, chosen, recording)
    if toolchain is not None:
        return toolchain
    if await _of(state, recording):
        message = await _offered(state, recording, "the CPU device")
        raise RequestRejected(FieldError("/triton", message))
    raise await _refusal(state)


async def _instead(
    state: ServiceState, request: ProgramRequest, chosen: Toolchain, offering: Collection[str]
) -> Toolchain | None:
    """Return `chosen` if it is among those `offering`, else one of the same Triton.

    If the request names no Triton, any toolchain will do. None if nothing is left.
    """
    if chosen.id in offering:
        return chosen
    others = await _of(state, offering)
    alike = [each for each in others if each.triton == chosen.triton]
    if alike or (others and request.triton is None):
        return (alike or others)[-1]
    return None


async def _of(state: ServiceState, ids: Collection[str]) -> list[Toolchain]:
    return [each for each in await state.toolchains.all() if each.id in ids]


async def _offered(state: ServiceState, ids: Collection[str], device: str) -> str:
    tritons = ", ".join(sorted({each.triton for each in await _of(state, ids)}))
    return f"no worker runs programs of this Triton on {device}; use one of {tritons}"


async def _is_being_tried(state: ServiceState) -> bool:
    return await _says(state, "is_being_tried")


async def _check_gpus_are_known(state: ServiceState) -> None:
    """Raise ProblemRaised (503) while a worker tests if programs run on its GPUs."""
    if await _says(state, "tries_gpus"):
        raise _try_again("programs run on its GPU")


async def _says(state: ServiceState, member: str) -> bool:
    """Return True if a worker has set this field of its offer to record."""
    reports = [worker.sandbox_report or {} for worker in await state.workers.list()]
    return any((report.get("recording") or {}).get(member) for report in reports)


def _try_again(what: str = "it can record programs") -> ProblemRaised:
    detail = f"A worker has just started and is testing if {what}. Post again in {_TRYING_S} s"
    return ProblemRaised("no_toolchain", detail, headers={"Retry-After": _TRYING_S})


async def _refusal(state: ServiceState) -> RequestRejected | ProblemRaised:
    """Return the reason why no worker records programs."""
    if not await state.workers.list():
        detail = f"No worker runs at the moment. Start one, or post again in {_TRYING_S} s"
        return ProblemRaised("no_toolchain", detail, headers={"Retry-After": _TRYING_S})
    if await _is_being_tried(state):
        return _try_again()
    message = (
        "no worker of this deployment records programs. Install torch next to a worker's Triton (a "
        "CPU build is enough; in a checkout: `make torch`) and restart that worker. "
        "GET /v1/targets shows under `programs` where programs are recorded, and "
        "GET /v1/system shows under `recording` why not"
    )
    return RequestRejected(FieldError("", message))


def character_count(request: ProgramRequest) -> int:
    """Return the characters of all texts of a request."""
    return sum(len(text.source) + sum(map(len, text.files.values())) for text in _texts(request))


def check_program(request: ProgramRequest, limits: RequestLimits) -> None:
    """Do every check that needs no worker. Raises RequestRejected, RequestTooLarge."""
    limits = replace(limits, files=limits.program_files)
    for text in _texts(request):
        with below(text.at):
            check_sizes(InspectRequest(source=text.source, files=text.files), limits)
    errors: list[FieldError] = []
    for text in _texts(request):
        with collecting(errors), below(text.at):
            check_texts(text.source, text.files)
    with collecting(errors):
        read_device(request.device)
    errors += repeats_errors(request.timing)
    errors += _entry_errors(request.entry, "/entry")
    if request.reference is not None:
        errors += _entry_errors(request.reference.entry, "/reference/entry")
    errors += _script_errors(request)
    errors += _stop_errors(request)
    if errors:
        raise RequestRejected(*errors)


def device_errors(request: ProgramRequest, device: Device | None) -> Iterator[FieldError]:
    """Yield an error for each setting that `device` (None: the CPU device) does not support."""
    if device is None:
        if request.timing is not None:
            is_wanted = read_device(request.device) == CPU
            why = "this is the CPU device" if is_wanted else "no worker here runs programs on a GPU"
            yield FieldError("/timing", f"only GPUs time programs, and {why}; leave `timing` out")
        return
    for index, check in enumerate(request.checks or ()):
        if check in ON_THE_CPU:
            message = (
                f"{check} needs the CPU device, and this program runs on the GPU {device.model} "
                f'({device.target}); leave it out, or set "device": "{CPU}"'
            )
            yield FieldError(f"/checks/{index}", message)


@dataclass(frozen=True, slots=True)
class _Text:
    at: str
    source: str
    files: dict[str, str]


def _texts(request: ProgramRequest) -> Iterator[_Text]:
    """Yield every text of the request, with the JSON pointer of the object of its `source`."""
    yield _Text("", request.source, request.files)
    if request.reference is not None:
        yield _Text("/reference", request.reference.source, request.reference.files)
    if request.inputs is not None:
        yield _Text("/inputs", request.inputs.source, {})
    for index, case in enumerate(request.cases):
        yield _Text(pointer("cases", index, "inputs"), case.inputs.source, {})


_OF_KIND = {"class": "model", "name": "function", "outputs": "script"}


def _entry_errors(entry: EntryRequest | None, at: str) -> Iterator[FieldError]:
    if entry is None:
        return
    members = {"class": entry.class_, "name": entry.name, "outputs": entry.outputs}
    for name, value in members.items():
        if value is not None and _OF_KIND[name] != entry.kind:
            message = f"only a {_OF_KIND[name]} takes it, and this is a {entry.kind}; leave it out"
            yield FieldError(f"{at}/{name}", message)


def _script_errors(request: ProgramRequest) -> Iterator[FieldError]:
    """Yield errors for inputs and references that do not go with a script."""
    reference = request.reference
    if _is_script(request.entry):
        if request.inputs is not None:
            yield FieldError(
                "/inputs", "a script makes its own inputs; name a function or a model in `entry`"
            )
        if request.cases:
            yield FieldError("/cases", "a script makes its own inputs; leave `cases` out")
        if reference is not None and not _is_script(reference.entry):
            message = 'a script is compared with a script; set `"kind": "script"` here, too'
            yield FieldError("/reference/entry", message)
    elif reference is not None and _is_script(reference.entry):
        message = "a script takes no inputs; name the model or function that the program replaces"
        yield FieldError("/reference/entry", message)


def _stop_errors(request: ProgramRequest) -> Iterator[FieldError]:
    """Yield errors for settings of steps that `stop_after` leaves out."""
    if request.target is not None and request.stop_after != "kernels":
        message = 'it needs `"stop_after": "kernels"`; set that, or leave `target` out'
        yield FieldError("/target", message)
    if request.stop_after is None:
        return
    # a reference is allowed: it also provides the program's arguments
    runs: dict[str, object] = {
        "cases": request.cases,
        "checks": request.checks,
        "timing": request.timing,
    }
    if request.trials > 1:
        runs["trials"] = request.trials
    with suppress(RequestRejected):  # `device` has its error already
        if read_device(request.device) not in (AUTO, CPU):
            runs["device"] = request.device
    for name, value in runs.items():
        if value:
            message = f"nothing runs after {request.stop_after}; leave `{name}` or `stop_after` out"
            yield FieldError(f"/{name}", message)


def _is_script(entry: EntryRequest | None) -> bool:
    return entry is not None and entry.kind == "script"
