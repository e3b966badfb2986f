"""The task that runs a source as `__main__` and records what its launches pass.

Tensors have no elements (`fake_tensor`), and a launch does nothing. Triton's own JIT binds and
specializes the arguments, so types and hints are those of a real launch. Of an autotuned kernel,
the first configuration is launched.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import triton.testing
from triton.runtime.autotuner import Autotuner

from compiler.back import triton_api
from compiler.diagnostic import USER_FILE, Failure
from compiler.front import ast_source
from compiler.front.diagnosis import wording
from compiler.front.dropped_statements import chain_of
from compiler.front.environment import Assumptions, LaunchResult, executing_line
from compiler.front.module import HostRun, Loaded, load
from compiler.front.script import torch_functions
from compiler.front.script.fake_tensor import Tensor
from compiler.front.stubs import driver_stub
from compiler.messages.script_launches import (
    MAX_LAUNCHES,
    MAX_LINES,
    MAX_STOP_CHARS,
    Hint,
    KernelLaunch,
    LaunchedParameter,
    LaunchesOrder,
    LaunchesReport,
)
from compiler.messages.wire import Send

_MAX_CPU_S = 5.0
"""The CPU time of a script: a launch comes early, and an inspection waits for it."""
_HINTS: dict[tuple[str, int], Hint] = {
    ("tt.divisibility", 16): "divisible_by_16",
    ("tt.pointer_range", 32): "pointer_range_32",
}
_MAX_NUMBER = 1 << 63
_MAX_AXES, _MAX_EXTENT = 3, 1 << 31
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def launches(order: LaunchesOrder, body: bytes, send: Send) -> LaunchesReport:
    """Return the first launch of each kernel, as far as the script gets."""
    del send
    driver_stub.pretend(triton_api.target_of(order.target))
    recorded = _Recorded()
    needs: list[str] = []
    host_run = HostRun(torch_functions.known_names, recorded.runs(), _MAX_CPU_S)
    # where it took too long or failed, what it launched before counts
    try:
        with _benchmarks_called_once():
            loaded = load(
                body.decode(),
                order.files,
                module=order.module,
                absent=order.absent,
                host_run=host_run,
            )
        stop, needs = _stop(loaded), list(loaded.assumptions.needs)
    except Failure as failure:
        stop = failure.message
    cut = stop if stop is None else stop.encode(errors="replace").decode()[:MAX_STOP_CHARS]
    return LaunchesReport(launches=list(recorded.by_kernel.values()), stop=cut, needs=needs)


def _stop(loaded: Loaded) -> str | None:
    """Return the line that raised, and its error; of lines that failed in turn, the first."""
    others = [item for item in loaded.dropped if not isinstance(item.error, ImportError)]
    last = loaded.failed or (others[-1] if others else None)
    if last is None:
        return None
    cause, _ = chain_of(last, "", loaded.dropped)[-1]
    span = cause.span
    place = f"line {span.line}" if span.file == USER_FILE else f"{span.file}, line {span.line},"
    return f"{place} raises {wording.words_of(cause.error)}"


class _Recorded:
    """The launches of a run."""

    def __init__(self) -> None:
        self.by_kernel: dict[str, KernelLaunch] = {}

    def runs(self) -> Mapping[Any, Callable[..., Any]]:
        """Return the methods `run` of the classes that launch."""

        def run(function: Any, *arguments: Any, **named: Any) -> LaunchResult:
            self._launch(function, arguments, named)
            return LaunchResult(Assumptions())

        return {triton_api.JITFunction: run, Autotuner: _first_configuration}

    def _launch(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        file, line = executing_line() or (USER_FILE, 0)
        name = function.__name__
        first = self.by_kernel.get(name)
        if first is not None:
            if line != first.line and line not in first.other_lines[: MAX_LINES - 1]:
                first.other_lines.append(line)
        elif len(self.by_kernel) < MAX_LAUNCHES:
            parameters, options, grid = _specialized(function, arguments, named)
            self.by_kernel[name] = KernelLaunch(
                kernel=name, file=file, line=line, parameters=parameters, options=options,
                other_lines=[], grid=grid,
            )  # fmt: skip


def _first_configuration(tuner: Any, *arguments: Any, **named: Any) -> Any:
    tuner.nargs = dict(zip(tuner.arg_names, arguments, strict=False))
    config = tuner.prune_configs(named)[0]
    return tuner.fn.run(*arguments, **named, **config.all_kwargs())


def _specialized(
    function: Any, arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[list[LaunchedParameter], dict[str, Any], list[int] | None]:
    """Return what Triton's JIT makes of the arguments, and the grid. Raises what it raises."""
    grid = named.get("grid")
    named = {name: value for name, value in named.items() if name not in ("grid", "warmup")}
    keywords = named | {"debug": named.get("debug", function.debug) or False}
    _, _, _, backend, binder = function.device_caches[0]
    bound, specialization, options = binder(*arguments, **keywords)
    _, signature, constexprs, attrs = function._pack_args(
        backend, keywords, bound, specialization, options
    )
    parameters = []
    for position, (name, kind) in enumerate(signature.items()):
        value = bound[name]
        if kind == "constexpr" and not function.params[position].is_constexpr and value == 1:
            parameters.append(
                LaunchedParameter(name=name, type="i32", hints=["equal_to_1"], number=1)
            )
        elif kind == "constexpr":
            encoded = _sendable(ast_source.encode(constexprs[(position,)]))
            parameters.append(
                LaunchedParameter(name=name, type="constexpr", hints=[], value=encoded)
            )
        elif isinstance(kind, str):
            parameters.append(
                LaunchedParameter(
                    name=name,
                    type=kind,
                    hints=[_HINTS[pair[0], pair[1]] for pair in attrs.get((position,), [])],
                    number=value if _is_number(value) else None,
                    is_guess=isinstance(value, Tensor) and value.is_guess,
                    shape=_shape_of(value) if isinstance(value, Tensor) else None,
                )
            )
    chosen = {name: named[name] for name in _OPTIONS if isinstance(named.get(name), int)}
    return parameters, chosen, _extents(grid, bound)


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) < _MAX_NUMBER


def _shape_of(tensor: Tensor) -> list[int] | None:
    """Return a tensor's shape, or the number of elements that it reaches over gaps."""
    if tensor.is_guess or not tensor.numel() or min(tensor.strides, default=0) < 0:
        return None
    if tensor.is_contiguous():
        return list(tensor.shape) or [1]
    steps = zip(tensor.shape, tensor.strides, strict=True)
    return [1 + sum((extent - 1) * stride for extent, stride in steps)]


def _extents(grid: Any, bound: Mapping[str, Any]) -> list[int] | None:
    """Return the extents of a grid; None where a launch would refuse it."""
    try:
        extents = grid(dict(bound)) if callable(grid) else grid
        made = [int(extent) for extent in extents]
    except Exception:  # noqa: BLE001 - the function is the user's; types count without a grid
        return None
    return made if len(made) <= _MAX_AXES and all(0 < n < _MAX_EXTENT for n in made) else None


def _sendable(value: Any) -> Any:
    """Return a value in tagged JSON, or an object for one with half of a character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return {"object": "a text that is not UTF-8"}
    return value


@contextlib.contextmanager
def _benchmarks_called_once() -> Iterator[None]:
    """Have `do_bench` of `triton.testing` call its function once, and `Mark.run` do nothing."""
    originals = triton.testing.do_bench, triton.testing.Mark.run

    def called(function: Callable[[], object], *_: Any, **named: Any) -> Any:
        function()
        return [1.0 for _ in named["quantiles"]] if named.get("quantiles") else 1.0

    triton.testing.do_bench = called
    triton.testing.Mark.run = lambda *_, **__: None
    try:
        yield
    finally:
        triton.testing.do_bench, triton.testing.Mark.run = originals
