"""Checks a program request: by its JSON alone, and for the device that it gets.

Nothing here reads a source, or knows the deployment's devices.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from compiler.inspection import InspectRequest
from compiler.rejection import FieldError, RequestRejected, collecting, pointer
from compiler.request.limits import RequestLimits
from compiler.request.limits import check as check_sizes
from compiler.request.resolution import check_texts
from launch.request.launch_record import Device
from launch.request.launch_resolution import AUTO, CPU, read_device, repeats_errors
from launch.request.request_part import below
from programs.program_request import EntryRequest, ProgramRequest

ON_THE_CPU: Final = frozenset({"initcheck", "racecheck"})
"""The checks that only the CPU device supports."""


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
    said = {"class": entry.class_, "name": entry.name, "outputs": entry.outputs}
    for name, value in said.items():
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
