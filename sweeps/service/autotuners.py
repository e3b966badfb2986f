"""Asks workers what the autotuners of a sweep's sources try, before the sweep is planned.

No source is looked into here: each reading is an inspection, kept and shared as those are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.autotune import AutotuneReading
from compiler.inspection import Inspection, InspectRequest, inspect_job
from compiler.rejection import FieldError, RequestRejected
from compiler.request import limits
from launch.request.request_part import read
from service.caller import Caller
from service.compilations.derivations import inspect
from service.gather_limited import gather_limited
from service.http.problems import ProblemRaised
from service.state import ServiceState
from service.toolchains import ToolchainSet
from store.stored import read_stored
from sweeps.autotune.autotuned_space import AutotuneContext
from sweeps.autotune.configurations import AT
from sweeps.error_location import BASE, COMPILATION
from sweeps.variant import Kind

WAIT_S = 60.0
AT_ONCE = 4
_INSPECTED = ("module", "files", "absent", "kernel")


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

    found = await gather_limited(AT_ONCE, contexts, read_one)  # the first wrong one raises
    return dict(zip(contexts, found, strict=True))


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
    _, record = await inspect(state, job, caller, WAIT_S)
    if record is None:
        detail = f"No worker has read the autotuner within {WAIT_S:g} s; post it again"
        raise ProblemRaised("not_finished", detail)
    found = read_stored(Inspection, record)
    if found.autotune is None:
        error = FieldError(AT, _why(found, context))
        if found.problem is not None and found.problem.needs:
            raise _needing(error, found.problem.needs)
        raise RequestRejected(error)
    return found.autotune


def _needing(error: FieldError, needs: Sequence[str]) -> ProblemRaised:
    """Return the problem of a base whose modules were not all posted."""
    detail = f"{error.pointer}: {error.message}"
    return ProblemRaised("invalid_request", detail, errors=[error], needs=[*needs])


def _why(found: Inspection, context: AutotuneContext) -> str:
    said = found.problem.detail if found.problem is not None else "nothing was found"
    lines = [f"line {item.line}: {item.message}" for item in found.diagnostics if item.line]
    where = f" ({lines[0]})" if lines and lines[0] not in said else ""
    return f"the autotuner cannot be read for {context.target}: {said}{where}"
