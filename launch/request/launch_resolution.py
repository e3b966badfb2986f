"""Resolves a launch request, or collects the errors that its JSON alone shows.

Pure. The service resolves a request once; workers read the result (`launch_job.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compiler.constexpr import Value, plain_value
from compiler.rejection import (
    MAX_ERRORS,
    FieldError,
    RequestRejected,
    collecting,
    did_you_mean,
    listed,
    pointer,
    shown,
)
from compiler.request.resolution import read_specialization
from compiler.specialization import Specialization
from compiler.target import parse_target
from compiler.wanted import check_wanted
from launch.request.argument_binding import ARGUMENTS
from launch.request.bound_arguments import BoundArguments, Scalar
from launch.request.buffer import MAX_BYTES
from launch.request.case import Case, Origin, cases_of, seeds_of
from launch.request.grid import NUM_SMS
from launch.request.hint_check import HintViolated, check_hints
from launch.request.launch_request import FUZZ, DeviceClass, LaunchRequest, RepeatsRequest
from launch.request.launched_kernel import LaunchedKernel
from launch.request.request_part import below, read

AUTO = "auto"
CPU = "cpu"
GPU = "gpu"
_OLD_NAMES = {"interpreter": CPU}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request whose JSON has no error; `located` are its cases with their origins."""

    device: str | DeviceClass
    specialization: Specialization | None
    located: Sequence[tuple[Case, Origin]]

    @property
    def cases(self) -> list[Case]:
        """The cases, without their origins."""
        return [case for case, _ in self.located]

    @property
    def infers(self) -> bool:
        """True if the signature must be inferred from the arguments of each case."""
        specialization = self.specialization
        if specialization is None or specialization.positional:
            return False
        return all(parameter.is_constexpr for parameter in specialization.named.values())


def resolve_launch(request: LaunchRequest, max_bytes: int = MAX_BYTES) -> Resolved:
    """Return the resolved `request`, which must have its seeds (`case.with_seeds`).

    Raises RequestRejected with every error, or HintViolated if only hints are broken.
    """
    errors: list[FieldError] = list(_contradictions(request))
    with collecting(errors):
        device = read_device(request.device)
        if device == AUTO and (request.trace is not None or not _has_target(request)):
            device = CPU  # the only device that can trace, and it needs no target
        errors += _device_errors(request, device)
    specialization = None
    if request.compilation is not None:
        with collecting(errors), below("/compilation"):
            specialization = _specialization(request.compilation)
    with collecting(errors):
        located = cases_of(request, max_bytes)
        cases = [case for case, _ in located]
        errors += _wrong_returns(request, cases)
        errors += _same_values(request, cases)
        errors += _fuzz_errors(request, cases)
    if errors:
        raise RequestRejected(*errors)
    resolved = Resolved(device, specialization, located)
    _check_cases(resolved)
    return resolved


def read_device(raw: Any) -> str | DeviceClass:
    """Return the device that `raw` names, by its current name.

    Raises RequestRejected. The device need not exist: that is checked later.
    """
    if isinstance(raw, str) and (name := _OLD_NAMES.get(raw, raw)) in (AUTO, CPU, GPU):
        return name
    if isinstance(raw, dict):
        device = read(DeviceClass, raw, "/device")
        with below("/device"):
            return DeviceClass(target=str(parse_target(device.target)), model=device.model)
    with suppress(RequestRejected):  # its error is less specific than the one below
        if isinstance(raw, str):
            return DeviceClass(target=str(parse_target(raw)))
    meant = did_you_mean(raw, (AUTO, CPU, GPU)) if isinstance(raw, str) else ""
    message = (
        f'{shown(raw)} is not a device.{meant} Write "auto", "cpu", "gpu" or a target: "cuda:90"'
    )
    raise RequestRejected(FieldError("/device", message))


def _has_target(request: LaunchRequest) -> bool:
    return request.compilation is None or request.compilation.has_target


def grid_values(specialization: Specialization | None, bound: BoundArguments) -> dict[str, Any]:
    """Return the Python values that a grid may name: scalars, and the given constexprs."""
    named = specialization.named if specialization else {}
    values = {n: _python(p.value) for n, p in named.items() if p.is_constexpr}
    scalars = bound.arguments.items()
    return values | {n: _python(a.value) for n, a in scalars if isinstance(a, Scalar)}


def _python(value: Value) -> Any:
    if isinstance(value, dict) and "int" in value:
        return int(value["int"])
    return plain_value(value)


def _contradictions(request: LaunchRequest) -> Iterator[FieldError]:
    if (request.compilation is None) == (request.compilation_key is None):
        yield FieldError(
            "", "give either `compilation`, or the `compilation_key` of a finished one"
        )
    if isinstance(request.arguments, list) and request.compilation and request.compilation.source:
        yield FieldError("/arguments", "must be an object by name; by position is for IR")
    yield from repeats_errors(request.timing)


def repeats_errors(timing: RepeatsRequest | None) -> Iterator[FieldError]:
    """Yield an error if fields of `timing` contradict each other."""
    if timing is not None and timing.max_repeats is not None:
        least = timing.min_repeats if "min_repeats" in timing.model_fields_set else 1
        if timing.max_repeats < least:
            yield FieldError("/timing/max_repeats", f"is less than min_repeats, {least}")


def _device_errors(request: LaunchRequest, device: str | DeviceClass) -> Iterator[FieldError]:
    needs_gpu = device == GPU or isinstance(device, DeviceClass)
    if request.trace is not None and needs_gpu:
        yield FieldError("/trace", 'only the CPU device traces; write "device": "cpu"')
    if needs_gpu and not _has_target(request):
        example = device.target if isinstance(device, DeviceClass) else "cuda:90"
        message = (
            f"a launch on a GPU needs the target to compile for, such as {shown(example)}; only "
            '"device": "cpu" needs none'
        )
        yield FieldError("/compilation/target", message)
        return
    if isinstance(device, DeviceClass) and request.compilation is not None:
        compiled = request.compilation.target
        with suppress(RequestRejected):  # reported at /compilation/target
            if parse_target(device.target) != parse_target(compiled):
                yield FieldError("/device/target", f"the compilation is for {compiled}")


def _specialization(compilation: LaunchedKernel) -> Specialization:
    errors: list[FieldError] = []
    with collecting(errors):
        errors += _wrong_stages(compilation)
    specialization = Specialization()
    if compilation.ir is None:  # IR has its own types; a signature for it is an error
        with collecting(errors):
            specialization = read_specialization(compilation).specialization
    if errors:
        raise RequestRejected(*errors)
    return specialization


def _wrong_stages(compilation: LaunchedKernel) -> Iterator[FieldError]:
    """Yield errors of the stage to stop after. Raises RequestRejected for the target."""
    if not compilation.has_target:
        if compilation.stop_after is not None:
            yield FieldError("/stop_after", "without a target there are no stages; leave it out")
        return
    stages = parse_target(compilation.target).stages
    if compilation.stop_after not in (None, stages[-1]):
        yield FieldError("/stop_after", f"a launch needs the last stage, {stages[-1]}")


def _fuzz_errors(request: LaunchRequest, cases: list[Case]) -> Iterator[FieldError]:
    if FUZZ not in request.checks:
        if request.fuzz is not None:
            yield FieldError("/fuzz", 'has settings, but "fuzz" is not among the checks: add it')
        return
    first = cases[0]
    if first.reference is None or first.reference.source is None:
        message = "fuzzing needs a reference with a `source`: give one"
        if request.cases:
            message = "fuzzing needs a reference with a `source` in the first case: give one there"
        yield FieldError(pointer("checks", request.checks.index(FUZZ)), message)
    fixed = request.fuzz.fixed if request.fuzz else ()
    unknown = [at for at, name in enumerate(fixed) if name not in first.bound.arguments]
    for index in unknown[:MAX_ERRORS]:
        name = fixed[index]
        known = did_you_mean(name, first.bound.arguments)
        message = f"{shown(name)} is not an argument.{known}"
        yield FieldError(pointer("fuzz", "fixed", index), message)


def _wrong_returns(request: LaunchRequest, cases: list[Case]) -> Iterator[FieldError]:
    outputs = {name for case in cases for name in case.bound.outputs}
    unknown = [name for name in request.return_ if name not in outputs]
    known = listed(sorted(outputs))
    for name in unknown[:MAX_ERRORS]:
        yield FieldError(pointer("return", name), f"is not an output; outputs are {known}")


def _same_values(request: LaunchRequest, cases: list[Case]) -> Iterator[FieldError]:
    """Yield an error if each repeat of a case should get new values, but nothing is random."""
    if request.timing is None or request.timing.fresh_inputs != "values":
        return
    for case in cases:
        if not seeds_of(case.bound):
            which = f"no argument of case {case.index}" if request.cases else "no argument"
            message = (
                f"{which} has random values that could differ in each repeat: give one an init "
                "of kind uniform, normal or randint, or write true for new addresses only"
            )
            yield FieldError(pointer("timing", "fresh_inputs"), message)


def _check_cases(resolved: Resolved) -> None:
    """Check the grids whose names are all known, and the arguments against a signature by name."""
    errors: list[FieldError] = []
    hints: list[FieldError] = []
    specialization = resolved.specialization
    for case, origin in resolved.located:
        check_wanted()
        if len(errors) + len(hints) >= MAX_ERRORS:
            break
        values = grid_values(specialization, case.bound)
        if case.grid.names <= (values.keys() | case.bound.arguments.keys()) - {NUM_SMS}:
            with collecting(errors):
                case.grid.evaluate(values)
        if specialization is not None and not specialization.positional and not resolved.infers:
            try:
                check_hints(specialization.named, case.bound, ARGUMENTS, complete=False)
            except HintViolated as violated:
                hints += origin.relocate(violated.errors)
            except RequestRejected as rejected:
                errors += origin.relocate(rejected.errors)
    if errors:
        raise RequestRejected(*dict.fromkeys(errors))
    if hints:
        raise HintViolated(*dict.fromkeys(hints))
