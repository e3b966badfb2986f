"""The task that executes a source, whole, and builds the `source` and `ttir` stages.

Runs user Python, so only children that are thrown away may use it.
"""

import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.back import contexts, ir_module, locations, triton_api
from compiler.back.back import spent_ms
from compiler.diagnostic import USER_FILE, Failure
from compiler.front import ast_source, triton_knobs
from compiler.front.ast_source import CompleteSpecialization, specialize
from compiler.front.borrowed_functions import borrow, doubting
from compiler.front.code_reach import MAX_REACHED, reach_of_value
from compiler.front.diagnosis import front_errors, module_errors
from compiler.front.jit_function import asking_for_modules, find
from compiler.front.module import Loaded, load
from compiler.front.stubs import driver_stub
from compiler.front.unknown_defaults import UnknownDefault, hide_defaults
from compiler.messages.orders import FrontOrder
from compiler.messages.reports import BlockLocations, FrontReport
from compiler.messages.wire import Send
from compiler.reading.read_source import with_kernel

_ASKED = "option_asked"
"""The slug of the failure of a front end that needs to see every option."""


class _HiddenOptions:
    """The names of options whose values are not in this process, and the one that code read."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._asked: str | None = None

    def visible(self, options: Any) -> dict[str, Any]:
        """Return the values of `options`, a backend's, that are not hidden."""
        return {name: value for name, value in vars(options).items() if name not in self._names}

    def hide(self, options: Any) -> Any:
        """Return `options` so that reading a hidden one raises `_HiddenOptionRead`."""
        if not self._names:
            return options
        kind = type(options)
        traps = {name: _Trap(name, self._ask) for name in (*self._names, "__dict__")}
        place = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
        hidden = copy.copy(options)
        for name in self._names:
            vars(hidden).pop(name, None)
        # the options are frozen, so their own way of setting refuses
        object.__setattr__(hidden, "__class__", type(kind.__name__, (kind,), place | traps))
        return hidden

    def check(self) -> None:
        """Raise `_HiddenOptionRead` if code read a hidden option, even if it went on without it."""
        if self._asked is not None:
            raise _HiddenOptionRead(self._asked)

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """End the block with `Failure` (`_ASKED`), however it ends, if a hidden option was read."""
        try:
            yield
        finally:
            if self._asked is not None:
                message = f"the front end asks for the option {self._asked}"
                raise Failure(_ASKED, "frontend", message)

    def _ask(self, name: str) -> None:
        self._asked = name
        raise _HiddenOptionRead(name)


@dataclass(frozen=True)
class _FrontRun:
    """The front end's result for a kernel."""

    locations: BlockLocations
    timings_ms: dict[str, float]


def front(order: FrontOrder, body: bytes, send: Send) -> FrontReport:
    """Execute the source, send the stages `source` and `ttir`, and report the back end's inputs.

    Raises `Failure`, `_ASKED` where code read a hidden option.
    """
    hidden = _HiddenOptions(order.hidden)
    with hidden.noticed(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return _front(order, body.decode(), send, caught, hidden)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()


def _front(
    order: FrontOrder,
    text: str,
    send: Send,
    caught: list[warnings.WarningMessage],
    hidden: _HiddenOptions,
) -> FrontReport:
    started = perf_counter()
    driver_stub.pretend(triton_api.target_of(order.target))
    texts = {USER_FILE: text, **order.files}
    triton_knobs.initial_state()
    whole, helper = with_kernel(text, order.kernel)
    loaded = load(whole, order.files, module=order.module, absent=order.absent)
    load_ms = spent_ms(started)
    with asking_for_modules(loaded):
        triton_knobs.check(texts)
        function = find(loaded, order.kernel, helper)
        # a caller that names the modules it lacks has all others
        borrowed = borrow(loaded, function) if order.module is None else []
        specialization = specialize(function, order, loaded)
    with (
        doubting(borrowed, loaded),
        asking_for_modules(loaded, function),
        _unknown_defaults(function, specialization),
    ):
        made = _lower(function, specialization, order, send, loaded, hidden)
        altered = triton_knobs.check(texts)  # code may have run while the kernel was compiled
    assumptions = [
        *loaded.assumptions_of(function, order.kernel),
        *(each.assumption for each in borrowed),
    ]
    lacked = loaded.modules_lacked_by(function) if order.module is None else []
    return FrontReport(
        kernel=function.__name__,
        language=triton_api.language_of(function).ir,
        locations=made.locations,
        constexprs={
            name: ast_source.encode(value) for name, value in specialization.filled.items()
        },
        timings_ms={"load": load_ms, **made.timings_ms},
        notes=altered
        + module_errors.of_assumptions(loaded, assumptions)
        + front_errors.of_warnings(caught),
        assumptions=assumptions,
        needs=list(dict.fromkeys([*lacked, *(m for each in borrowed for m in each.modules)])),
    )


@contextmanager
def _unknown_defaults(function: Any, specialization: CompleteSpecialization) -> Iterator[None]:
    """Have a `Failure` of the block name the modules that a default needs which the kernel reads.

    Raises it at once for a kernel that may compare a default without any notice.
    """
    hide_defaults(function)
    filled = specialization.filled.values()
    unknown = [value for value in filled if isinstance(value, UnknownDefault)]
    if not unknown:
        yield
        return
    modules = list(dict.fromkeys(module for value in unknown for module in value.modules))
    message = f"the kernel reads a default that needs {' or '.join(modules)}, which is missing"
    missing = Failure("missing_module", "frontend", message)
    missing.needs = modules
    reach = reach_of_value(function, MAX_REACHED)
    if reach.compares or reach.sees_all:
        raise missing
    try:
        yield
    except Failure as failure:
        is_named = UnknownDefault.__name__ in failure.message
        if is_named or any(value.was_read for value in unknown):
            missing.diagnostics = failure.diagnostics
            raise missing from failure
        raise


def _lower(
    function: Any,
    specialization: CompleteSpecialization,
    order: FrontOrder,
    send: Send,
    loaded: Loaded,
    hidden: _HiddenOptions,
) -> _FrontRun:
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    parsed = backend.parse_options(dict(order.options))
    options = hidden.hide(parsed)
    language = triton_api.language_of(function)
    stages = triton_api.stages_of(backend, options, language.ir)
    context = contexts.new_context(backend)
    started = perf_counter()
    module = _make_ir(function, specialization, backend, options, context, loaded)
    hidden.check()
    source = triton_api.virtual_paths(str(module))
    ir_module.check_size(source, "source", order.ir_bounds)
    timings_ms = {"source": spent_ms(started)}
    send({"kind": "stage", "stage": "source", "ms": timings_ms["source"]}, source.encode())
    if order.stop_after != "source" and language.has_ttir:
        started = perf_counter()
        metadata = {"target": backend.target, **hidden.visible(parsed)}
        module = _make_ttir(stages["ttir"], module, metadata)
        ttir = triton_api.virtual_paths(str(module)).encode()
        timings_ms["ttir"] = spent_ms(started)
        send({"kind": "stage", "stage": "ttir", "ms": timings_ms["ttir"]}, ttir)
    return _FrontRun(locations.collect(module), timings_ms)


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


# Options that only back ends read are hidden from the front end.
#
# The user's code and Triton's language can reach the options through the builder. A value that is
# not in the process cannot have influenced it.


class _HiddenOptionRead(BaseException):
    """Code read a hidden option. No `except Exception` of the user's may catch this."""


class _Trap:
    """An attribute that asks when an instance reads it; classes read it unchanged."""

    def __init__(self, name: str, ask: Any) -> None:
        self._name = name
        self._ask = ask

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return getattr(owner.__base__, self._name)
        return self._ask(self._name)

    def __set__(self, instance: object, value: object) -> None:
        """Make this win over what the instance holds; frozen options are never set."""
        raise AttributeError(self._name)
