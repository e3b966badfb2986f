"""The task that executes the slice and makes the `source` and `ttir` stages.

The only code that runs user Python.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.back import ir_module, locations, triton_api
from compiler.back.back import spent_ms
from compiler.diagnostic import USER_FILE, Diagnostic, Failure
from compiler.front import ast_source, triton_knobs
from compiler.front.ast_source import CompleteSpecialization, specialize
from compiler.front.diagnosis import front_errors, module_errors
from compiler.front.jit_function import find
from compiler.front.module import MODULE, Loaded, load
from compiler.front.stubs import driver_stub
from compiler.front.untold_options import Untold

Send = Callable[[dict[str, Any], bytes], None]


@dataclass(frozen=True)
class _Made:
    """What the front end made of a kernel."""

    locations: locations.Locations
    timings_ms: dict[str, float]


def front(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Execute the slice, send the stages `source` and `ttir`, and return what the back end needs.

    `touched` names, by line, what of the kernel's a statement changes; `untold` names options that
    are not among `options` and keep their values to the parent. `conclusive` in the result tells
    that nothing stood in for anything. Raises `Failure`, ASKED where one of `untold` was read.
    """
    untold = Untold(header.get("untold") or [])
    with untold.noticed(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return _front(header, body.decode(), send, caught, untold)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()


def _front(
    header: dict[str, Any],
    text: str,
    send: Send,
    caught: list[warnings.WarningMessage],
    untold: Untold,
) -> dict[str, Any]:
    started = perf_counter()
    name = header.get("module", MODULE)
    driver_stub.pretend(triton_api.target_of(header["target"]))
    files = header.get("files") or {}
    texts = {USER_FILE: text, **files}
    triton_knobs.pristine()
    loaded = load(text, files, name=name)
    load_ms = spent_ms(started)
    try:
        triton_knobs.check(texts)
        function = find(loaded, header.get("kernel"), header.get("touched"))
        specialization = specialize(function, header, loaded)
        made = _lower(function, specialization, header, send, loaded, untold)
        told = triton_knobs.check(texts)  # code may have run while the kernel was compiled
    except Failure as failure:
        failure.conclusive = loaded.is_conclusive
        raise
    return {
        "kind": "result",
        "kernel": function.__name__,
        "language": "glir" if function.is_gluon() else "ttir",
        "locations": made.locations,
        "parameters": specialization.parameters,
        "constexprs": {
            name: ast_source.encode(value) for name, value in specialization.filled.items()
        },
        "metadata": {},
        "timings_ms": {"load": load_ms, **made.timings_ms},
        "notes": told + _remarks(loaded, caught),
        "assumptions": loaded.assumptions.made,
        "conclusive": loaded.is_conclusive,
    }


def _lower(
    function: Any,
    specialization: CompleteSpecialization,
    header: dict[str, Any],
    send: Send,
    loaded: Loaded,
    untold: Untold,
) -> _Made:
    backend = triton_api.make_backend(triton_api.target_of(header["target"]))
    parsed = backend.parse_options(dict(header["options"]))
    options = untold.hidden(parsed)
    stages = triton_api.stages_of(backend, options, gluon=function.is_gluon())
    context = triton_api.new_context(backend)
    started = perf_counter()
    module = _make_ir(function, specialization, backend, options, context, loaded)
    untold.check()
    source = triton_api.virtual_paths(str(module))
    ir_module.check_size(source, "source", header)
    timings_ms = {"source": spent_ms(started)}
    send({"kind": "stage", "stage": "source", "ms": timings_ms["source"]}, source.encode())
    if header.get("stop_after") != "source" and not function.is_gluon():
        started = perf_counter()
        metadata = {"target": backend.target, **untold.told(parsed)}
        module = _make_ttir(stages["ttir"], module, metadata)
        ttir = triton_api.virtual_paths(str(module)).encode()
        timings_ms["ttir"] = spent_ms(started)
        send({"kind": "stage", "stage": "ttir", "ms": timings_ms["ttir"]}, ttir)
    return _Made(locations.collect(module), timings_ms)


def _make_ir(
    function: Any,
    specialization: CompleteSpecialization,
    backend: Any,
    options: Any,
    context: Any,
    loaded: Loaded,
) -> Any:
    source = triton_api.source_of(
        function, specialization.signature, specialization.constexprs, specialization.attrs
    )
    try:
        return triton_api.make_ir(source, backend, options, context)
    except MemoryError:
        raise
    except triton_api.RefusedByVerifier as error:
        message = "Triton's front end made IR that its own verifier refuses"
        raise Failure("lowering_failed", "source", message) from error
    except Exception as error:
        raise front_errors.of_compilation(error, loaded, function, specialization) from error


def _make_ttir(lower: Callable[..., Any], module: Any, metadata: dict[str, Any]) -> Any:
    try:
        return lower(module, metadata)
    except RuntimeError as error:
        message = f"Triton's first passes refused the kernel: {error}"
        raise Failure("lowering_failed", "ttir", message) from error


def _remarks(loaded: Loaded, caught: list[warnings.WarningMessage]) -> list[Diagnostic]:
    return module_errors.of_assumptions(loaded) + front_errors.of_warnings(caught)
