"""What a launcher is asked to do: one run in the words of `worker.cuda`."""

from collections.abc import Mapping
from typing import Any

from compiler.compilation import Compilation
from compiler.launch.request import LaunchRequest, TimingRequest
from compiler.types import is_pointer
from worker.cuda import job as launcher
from worker.launch.run import Run


def order_of(
    cubin: bytes, compilation: Compilation, request: LaunchRequest, run: Run, *, plain: bool
) -> launcher.LaunchJob:
    """Return the job of a launcher; a `plain` one is neither timed nor run twice."""
    x, y, z = run.grid
    dumped = run.bound.model_dump(mode="json")
    return launcher.LaunchJob(
        cubin=cubin,
        abi=compilation.abi or {},
        grid=(x, y, z),
        allocations=dumped["allocations"],
        arguments=_run_time(dumped["arguments"], compilation),
        uploads=run.uploads,
        timing=None if plain else _timing(request.timing or TimingRequest()),
        determinism=not plain and "determinism" in request.checks,
    )


def _timing(asked: TimingRequest) -> launcher.TimingOrder:
    return launcher.TimingOrder(
        warmup_repeats=asked.warmup_repeats,
        min_repeats=asked.min_repeats,
        max_ms=asked.max_ms,
        flush_l2=asked.flush_l2,
        fresh_inputs=asked.fresh_inputs,
        samples=asked.samples,
    )


def _run_time(arguments: Mapping[str, Any], compilation: Compilation) -> dict[str, Any]:
    """Return the arguments that the compiled kernel still takes, scalars in its own types."""
    taken = {item.name: item.type for item in compilation.parameters if item.role == "runtime"}
    return {
        name: _typed(argument, taken[name]) for name, argument in arguments.items() if name in taken
    }


def _typed(argument: dict[str, Any], kind: Any) -> dict[str, Any]:
    is_scalar = argument["kind"] == "scalar" and isinstance(kind, str) and not is_pointer(kind)
    return argument | {"dtype": kind} if is_scalar else argument
