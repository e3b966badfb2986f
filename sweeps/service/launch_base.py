"""Resolves the parts of launch sweeps that need the service: devices, seeds, uploads, references.

It is found out for one variant of each kind, not for each variant: where launches of a target and a
Triton run, and what each set of arguments starts with. Seeds are chosen once, so that all variants
are asked the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom
from typing import Any

from compiler.job import CompileJob
from compiler.rejection import FieldError, RequestRejected
from launch.request.argument_schema import MAX_ARGUMENTS
from launch.request.case import arguments_in, with_seeds
from launch.request.launch_request import LaunchRequest
from launch.request.request_part import read
from service.caller import Caller
from service.launches.launch_submission import PreparedLaunch, prepare_launch
from service.state import ServiceState
from sweeps.axis import ARGUMENTS, Axis
from sweeps.error_location import BASE, placed
from sweeps.space import AT, PlannedSweep
from sweeps.sweep_job import LaunchDevice
from sweeps.sweep_plan import SweepPlan, SweptAxis
from sweeps.variant import merged_body

TRIED_OF_A_PLACE = 4
"""Variants that are asked where launches like them run, while these are refused."""


@dataclass(slots=True)
class LaunchBase:
    """The plan with its seeds, and where its launches run."""

    plan: SweepPlan
    places: list[LaunchDevice]
    references: dict[str, CompileJob]
    launched: CompileJob | None = None


async def resolve_launch_base(
    state: ServiceState, sweep: PlannedSweep, caller: Caller
) -> LaunchBase:
    """Return what a sweep over launches needs in addition to its plan.

    Raises RequestRejected for what is wrong with the base, ProblemRaised, StoreUnavailable.
    """
    tried = await state.threads.run(_tried, sweep.plan)
    _check_arguments(sweep.plan, tried)
    plan = await state.threads.run(_seeded, sweep)
    seeded = PlannedSweep(plan, sweep.axes)
    base = LaunchBase(plan, [], {})
    for place, indices in tried.by_place.items():
        for index in indices:
            prepared = await _prepared(state, seeded, index, caller)
            if prepared is not None:
                _add(base, place, prepared)
                break
    for index in tried.of_arguments:
        await _prepared(state, seeded, index, caller)
    return base


@dataclass(frozen=True, slots=True)
class _Tried:
    """The variants that are checked as launches before the sweep is queued."""

    by_place: Mapping[tuple[str, str], Sequence[int]]
    """By target and Triton: of each the first that is not refused."""
    of_arguments: Sequence[int]
    """One for each label of arguments."""


def _tried(plan: SweepPlan) -> _Tried:
    places = {place: indices[:TRIED_OF_A_PLACE] for place, indices in _by_place(plan).items()}
    return _Tried(places, _first_of_arguments(plan))


def _check_arguments(plan: SweepPlan, tried: _Tried) -> None:
    """Refuse more arguments, in all variants that are checked, than a launch may have.

    Raises RequestRejected.
    """
    cases = plan.base.get("cases")
    times = max(1, len(cases)) if isinstance(cases, list) else 1
    labels = next((axis for axis in plan.axes if axis.name == ARGUMENTS), None)
    own = arguments_in(plan.base.get("arguments") or ())
    listed = [arguments_in(content) for content in (labels.contents or () if labels else ())]
    variants = len(tried.of_arguments) + len(tried.by_place)
    count = times * (variants * own + sum(listed))
    if count > MAX_ARGUMENTS:
        message = (
            f"its labels, targets and Tritons have {count} arguments together; "
            f"the limit is {MAX_ARGUMENTS}"
        )
        raise RequestRejected(FieldError(AT, message))


def _add(base: LaunchBase, place: tuple[str, str], launch: PreparedLaunch) -> None:
    target, triton = place
    base.places.append(
        LaunchDevice(target=target, triton=triton, device=launch.device, lane=launch.lane)
    )
    base.references |= launch.references
    if "compilation_key" in base.plan.base:
        base.launched = launch.compile_job


async def _prepared(
    state: ServiceState, sweep: PlannedSweep, index: int, caller: Caller
) -> PreparedLaunch | None:
    """Return variant `index` as it could be queued, None if its own values are refused.

    Raises RequestRejected for what is wrong with the base.
    """
    try:
        request = read(LaunchRequest, sweep.plan.variant(index).body, "")
        return await prepare_launch(state, request, caller)
    except RequestRejected as rejected:
        _raise_of_base(rejected, sweep, index)
        return None


def _raise_of_base(rejected: RequestRejected, sweep: PlannedSweep, index: int) -> None:
    errors = placed(rejected.errors, sweep.plan, sweep.axes, index)
    if errors.of_base:
        raise type(rejected)(*errors.of_base) from None


def written_place(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the target and the Triton that a launch names, "" for each that it does not."""
    compilation = body.get("compilation") or {}
    return compilation.get("target") or "", compilation.get("triton") or ""


def _by_place(plan: SweepPlan) -> dict[tuple[str, str], list[int]]:
    own = written_place(plan.base)
    indices: dict[tuple[str, str], list[int]] = {}
    for index in range(len(plan)):
        values = plan.values(index)
        place = values.get("target") or own[0], values.get("triton") or own[1]
        indices.setdefault(place, []).append(index)
    return indices


def _first_of_arguments(plan: SweepPlan) -> Sequence[int]:
    """Return the first variant of each label of arguments."""
    first: dict[str | None, int] = {}
    for index in range(len(plan)):
        first.setdefault(plan.values(index).get(ARGUMENTS), index)
    return list(first.values())[1:]  # the very first is the first of its place, too


def _seeded(sweep: PlannedSweep) -> SweepPlan:
    """Return the plan with a seed wherever one is needed. Raises RequestRejected."""
    plan, source = sweep.plan, SystemRandom()
    base = _with_seeds(plan.base, source, BASE)
    axes = list(plan.axes)
    for at, (swept, axis) in enumerate(zip(plan.axes, sweep.axes, strict=True)):
        if axis.name == ARGUMENTS:
            axes[at] = _seeded_axis(base, plan, swept, axis, source)
    return plan.model_copy(update={"base": base, "axes": axes})


def _seeded_axis(
    base: dict[str, Any], plan: SweepPlan, swept: SweptAxis, axis: Axis, source: SystemRandom
) -> SweptAxis:
    contents = []
    for index in range(len(swept.values)):
        body = merged_body(base, plan.kind, {ARGUMENTS: swept.content(index)})
        at = axis.pointer_of(index)
        contents.append(_with_seeds(body, source, at)[ARGUMENTS])
    return swept.model_copy(update={"contents": contents})


def _with_seeds(body: dict[str, Any], source: SystemRandom, at: str) -> dict[str, Any]:
    """Return a launch's body with its seeds. Raises RequestRejected at `at`."""
    own = body
    if "compilation" in body:  # whose own members may be axes: it is read with each variant
        own = {name: part for name, part in body.items() if name != "compilation"}
    request = read(LaunchRequest, own, at)
    seeded = with_seeds(request, source)
    changed: dict[str, Any] = {}
    if "arguments" in body:
        changed["arguments"] = seeded.arguments
    if seeded.fuzz is not None:
        changed["fuzz"] = seeded.fuzz.model_dump(mode="json")
    if seeded.cases:
        changed["cases"] = [
            case.model_dump(mode="json", by_alias=True, exclude_unset=True) for case in seeded.cases
        ]
    return body | changed
