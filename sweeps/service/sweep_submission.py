"""From the body of a sweep to its job: expanded, checked as far as the base goes, and queued.

Errors of the request are reported immediately; errors of one variant are in its row later.
Before a sweep is planned, workers read what the autotuners of its sources try: each reading is an
inspection, kept and shared as those are.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from compiler.autotune import AutotuneReading
from compiler.inspection import Inspection, InspectRequest, inspect_job
from compiler.rejection import FieldError, RequestRejected, did_you_mean, shown
from compiler.request import limits
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from compiler.target import parse_target
from compiler.wanted import Unwanted
from jobs.submission import JobOrder
from launch.request.request_part import read
from service.caller import Caller
from service.compilations.derivations import inspect
from service.file_digests import keep_texts
from service.gather_limited import gather_limited
from service.http.problems import ProblemRaised
from service.provers import check_prover
from service.state import ServiceState
from service.toolchains import ToolchainSet
from store.errors import QueueFull
from store.own_lists import Listing
from store.stored import read_stored
from sweeps.autotune.autotuned_space import AutotuneContext, AutotunedSpace, contexts_of
from sweeps.autotune.configurations import AT as CONFIGURATIONS_AT
from sweeps.axis_validation import check_axes, check_base, check_sources
from sweeps.combinations import max_combinations
from sweeps.error_location import BASE, COMPILATION, placed
from sweeps.search.search_request import read_search
from sweeps.service.launch_base import LaunchBase, resolve_launch_base
from sweeps.service.refused_work import MeasuredWork, RefusedWork
from sweeps.space import AT, PlannedSweep, Space, planned, read_space
from sweeps.stored_sweeps import Sweeps
from sweeps.sweep_job import SweepJob
from sweeps.sweep_kind import SWEEP
from sweeps.sweep_plan import ABSENT
from sweeps.sweep_request import SweepRequest, check_contract, check_included
from sweeps.table import WrongQuery, check_sort
from sweeps.variant import Kind
from sweeps.where import read_where

MAX_READING_S = 60.0
MAX_READINGS_AT_ONCE = 4
_INSPECTED = ("module", "files", "absent", "kernel")


async def submit_sweep(
    state: ServiceState,
    refused: RefusedWork,
    request: SweepRequest,
    kind: Kind,
    caller: Caller,
    sort: str,
    sweep_id: str,
) -> str:
    """Queue the sweep, whose rows are wanted in the order of `sort`, and return its id.

    Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable.
    """
    work = MeasuredWork(refused, caller.id, state.threads)
    try:
        job = await _job(state, request, kind, caller, sort, sweep_id, work)
        await _enqueue(state, job)
    except (RequestRejected, ProblemRaised, QueueFull, Unwanted):
        refused.charge(caller.id, work.cpu_s)
        raise
    return job.id


async def _job(
    state: ServiceState,
    request: SweepRequest,
    kind: Kind,
    caller: Caller,
    sort: str,
    sweep_id: str,
    work: MeasuredWork,
) -> SweepJob:
    check_included(request.include)
    check_contract(request.contract)
    if request.contract is not None:
        await check_prover(state, "/contract")
    check_base(request.base, kind)
    search = read_search(request.search, kind=kind, base=request.base)
    most = max_combinations(state.settings.max_sweep_variants, has_where=bool(request.where))
    # in a thread: ten thousand variants take longer than other requests should wait
    space = await work.run(read_space, request.space, kind, most)
    tuned = (
        await _autotuned(state, caller, request, kind, space, work) if space.is_autotuned else None
    )
    toolchains = await state.toolchains.current()
    sweep = await work.run(_planned, state, request, kind, tuned or space, toolchains)
    _check_sort(sort, sweep)
    resolved = await _resolved(state, sweep, toolchains, caller)
    await _keep_texts(state, caller, request, kind)
    return SweepJob(
        id=sweep_id,
        caller=caller.id,
        namespace=caller.namespace,
        plan=resolved.plan,
        toolchains=_toolchains(sweep, toolchains),
        places=resolved.places,
        references=resolved.references,
        launched=resolved.launched,
        search=search,
        budget_s=request.budget_s,
        contract=request.contract,
        include=request.include,
        assumptions=[] if tuned is None else tuned.assumptions,
    )


async def _resolved(
    state: ServiceState, sweep: PlannedSweep, offered: ToolchainSet, caller: Caller
) -> LaunchBase:
    """Return the plan as it will be driven, having refused what all variants would be refused for.

    Raises RequestRejected, ProblemRaised, StoreUnavailable.
    """
    _toolchains(sweep, offered)
    _check_targets(sweep, offered)
    _check_options(sweep, offered)
    if sweep.plan.kind == "launches":
        return await resolve_launch_base(state, sweep, caller)
    await state.threads.run(_check_first, state, sweep, offered, caller)
    return LaunchBase(sweep.plan, [], {})


async def _keep_texts(
    state: ServiceState, caller: Caller, request: SweepRequest, kind: Kind
) -> None:
    """Store the texts of the base, which was checked by then."""
    kernel = request.base.get("compilation", {}) if kind == "launches" else request.base
    await keep_texts(state, caller, kernel.get("module"), kernel.get("files") or {})


async def _autotuned(
    state: ServiceState,
    caller: Caller,
    request: SweepRequest,
    kind: Kind,
    space: Space,
    work: MeasuredWork,
) -> AutotunedSpace:
    """Return the space with the configurations of the source's own autotuner."""
    contexts = contexts_of(request.base, kind, space)
    readings = await read_autotuners(state, caller, request.base, kind, contexts)
    return await work.run(AutotunedSpace, space, readings)


def _planned(
    state: ServiceState,
    request: SweepRequest,
    kind: Kind,
    space: Space | AutotunedSpace,
    offered: ToolchainSet,
) -> PlannedSweep:
    where, most = read_where(request.where), state.settings.max_sweep_variants
    defaults = partial(_default_options, offered)
    if isinstance(space, AutotunedSpace):
        sweep = space.planned(request.base, kind, where, most, defaults)
    else:
        sweep = planned(request.base, kind, space, where, most, defaults)
    check_axes(request.base, kind, sweep.axes)
    check_sources(sweep.axes, state.settings.request_limits)
    _check_size(sweep, state.settings.max_sweep_bytes)
    return sweep


def _default_options(
    offered: ToolchainSet, target: str | None, triton: str | None
) -> dict[str, Any]:
    """Return the default options; none where the variant will be refused."""
    try:
        toolchain = offered.choose(triton)
        backend = parse_target(target or toolchain.default_target).backend
    except RequestRejected:
        return {}
    table = toolchain.options.get(backend, {})
    return {f"options.{name}": spec.default for name, spec in table.items()}


def _check_sort(sort: str, sweep: PlannedSweep) -> None:
    """Refuse a column that the table will not have. Raises ProblemRaised (422)."""
    try:
        check_sort(sort, [axis.name for axis in sweep.axes])
    except WrongQuery as wrong:
        raise ProblemRaised("invalid_request", str(wrong), parameter=wrong.parameter) from None


def _check_size(sweep: PlannedSweep, most_bytes: int) -> None:
    """Refuse a table that is large by its axes alone. Raises RequestRejected."""
    sizes = [[len(orjson.dumps(value)) for value in axis.values] for axis in sweep.axes]
    names = sum(len(axis.name) for axis in sweep.axes)
    total = names * len(sweep.plan) + sum(
        of_axis[at]
        for chosen in sweep.plan.chosen
        for of_axis, at in zip(sizes, chosen, strict=True)
        if at != ABSENT
    )
    if total > most_bytes:
        message = f"its rows would have {total} bytes of values alone; the limit is {most_bytes}"
        raise RequestRejected(FieldError(AT, message))


def _toolchains(sweep: PlannedSweep, offered: ToolchainSet) -> dict[str, str]:
    """Return the ids of the toolchains that variants name. Raises RequestRejected."""
    plan = sweep.plan
    inner = plan.base.get("compilation", {}) if plan.kind == "launches" else plan.base
    own = inner.get("triton") if isinstance(inner, dict) else None
    at = BASE + (COMPILATION if plan.kind == "launches" else "") + "/triton"
    written: dict[str, str] = {own if isinstance(own, str) else "": at}
    for axis in sweep.axes:
        if axis.name == "triton":
            written |= {name: axis.pointer_of(i) for i, name in enumerate(axis.values)}
    ids = {}
    for name, where in written.items():
        try:
            ids[name] = offered.choose(name or None).id
        except RequestRejected as rejected:
            raise RequestRejected(FieldError(where, rejected.errors[0].message)) from None
    return ids


def _check_first(
    state: ServiceState, sweep: PlannedSweep, offered: ToolchainSet, caller: Caller
) -> None:
    """Refuse what every variant would be refused for. Raises RequestRejected, ProblemRaised."""
    plan = sweep.plan
    body = plan.variant(0).body
    try:
        request = read(CompileRequest, body, "")
        limits.check(request, state.settings.request_limits)
        resolve(request, offered.choose(request.triton), caller.namespace)
    except RequestRejected as rejected:
        errors = placed(rejected.errors, plan, sweep.axes, 0)
        if errors.of_base:
            raise type(rejected)(*errors.of_base) from None


def _check_targets(sweep: PlannedSweep, offered: ToolchainSet) -> None:
    """Refuse a swept target that no toolchain here knows. Raises RequestRejected."""
    known = {target for toolchain in offered.known for target in toolchain.targets}
    errors = []
    for axis in sweep.axes:
        for index, written in enumerate(axis.values if axis.name == "target" else ()):
            try:
                if str(parse_target(written)) not in known:
                    message = f"no Triton here compiles for {written}; see GET /v1/targets"
                    errors.append(FieldError(axis.pointer_of(index), message))
            except RequestRejected as rejected:
                errors.append(FieldError(axis.pointer_of(index), rejected.errors[0].message))
    if errors:
        raise RequestRejected(*errors)


def _check_options(sweep: PlannedSweep, offered: ToolchainSet) -> None:
    """Refuse a swept option that no backend here has. Raises RequestRejected."""
    tables = [table for toolchain in offered.known for table in toolchain.options.values()]
    known = sorted({name for table in tables for name in table})
    errors = []
    for axis in sweep.axes:
        group, _, name = axis.name.partition(".")
        if group == "options" and name not in known:
            message = f"unknown option {shown(name)}.{did_you_mean(name, known)}"
            errors.append(FieldError(axis.at, f"{message} There are {', '.join(known)}"))
    if errors:
        raise RequestRejected(*errors)


async def _enqueue(state: ServiceState, job: SweepJob) -> None:
    most = state.settings.max_sweeps_per_caller
    if not await state.store(Sweeps).begin(job.id, job.caller, most):
        detail = f"You have {most} sweeps that are not over; wait for one of them, or DELETE it"
        raise ProblemRaised("too_many_requests", detail, limit=most)
    try:
        await state.client.submit(JobOrder(SWEEP, job, job.caller, listing=Listing("sweeps")))
    except QueueFull:
        await state.store(Sweeps).forget(job.id, job.caller)
        raise


async def read_autotuners(
    state: ServiceState,
    caller: Caller,
    base: Mapping[str, Any],
    kind: Kind,
    contexts: Sequence[AutotuneContext],
) -> dict[AutotuneContext, AutotuneReading]:
    """Return the reading of each context.

    Raises RequestRejected for a source that cannot be read, ProblemRaised (409) where no worker has
    read it in time, QueueFull, StoreUnavailable.
    """
    inner = base.get("compilation") if kind == "launches" else base
    compilation: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    at = BASE + (COMPILATION if kind == "launches" else "")
    offered = await state.toolchains.current()

    async def read_one(context: AutotuneContext) -> AutotuneReading:
        return await _read_one(state, caller, compilation, context, offered, at)

    # the first wrong one raises
    readings = await gather_limited(MAX_READINGS_AT_ONCE, contexts, read_one)
    return dict(zip(contexts, readings, strict=True))


async def _read_one(
    state: ServiceState,
    caller: Caller,
    compilation: Mapping[str, Any],
    context: AutotuneContext,
    offered: ToolchainSet,
    at: str,
) -> AutotuneReading:
    asked = {name: compilation[name] for name in _INSPECTED if compilation.get(name)}
    asked |= {"source": context.source, "target": context.target}
    try:
        request = read(InspectRequest, asked, "")
        limits.check(request, state.settings.request_limits)
        job = inspect_job(request, offered.choose(context.triton), caller.namespace)
    except RequestRejected as rejected:
        errors = (FieldError(at + error.pointer, error.message) for error in rejected.errors)
        raise type(rejected)(*errors) from None
    _, record = await inspect(state, job, caller, MAX_READING_S)
    if record is None:
        detail = f"No worker has read the autotuner within {MAX_READING_S:g} s; post it again"
        raise ProblemRaised("not_finished", detail)
    inspection = read_stored(Inspection, record)
    if inspection.autotune is None:
        error = FieldError(CONFIGURATIONS_AT, _why(inspection, context))
        if inspection.problem is not None and inspection.problem.needs:
            raise _needing(error, inspection.problem.needs)
        raise RequestRejected(error)
    return inspection.autotune


def _needing(error: FieldError, needs: Sequence[str]) -> ProblemRaised:
    """Return the problem of a base whose modules were not all posted."""
    detail = f"{error.pointer}: {error.message}"
    return ProblemRaised("invalid_request", detail, errors=[error], needs=[*needs])


def _why(inspection: Inspection, context: AutotuneContext) -> str:
    detail = inspection.problem.detail if inspection.problem is not None else "nothing was found"
    lines = [f"line {item.line}: {item.message}" for item in inspection.diagnostics if item.line]
    where = f" ({lines[0]})" if lines and lines[0] not in detail else ""
    return f"the autotuner cannot be read for {context.target}: {detail}{where}"
