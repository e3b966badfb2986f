"""The task that runs a user's own reference function on the inputs of a launch.

Executes user Python, so only a sandboxed child may run it. The child never receives the kernel's
outputs. The language, NumPy or torch, determines the types of inputs and results.
"""

import inspect
import linecache
import math
import sys
import traceback
import types
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, cast

import numpy as np

from compiler.back.back import spent_ms
from compiler.diagnostic import (
    KERNEL_FOLDER,
    Diagnostic,
    Failure,
    Severity,
    Span,
    diagnostic,
    excerpt,
    file_in_kernel,
)
from compiler.front import ast_source, environment
from compiler.json_number import read_number
from compiler.messages.wire import Send
from compiler.posted_text import lines_of, python_text
from launch.buffers.allocation import (
    BadBuffer,
    Leaf,
    content_key,
    leaf_of,
    leaves,
    memory_of,
    part,
    view,
)
from launch.buffers.element_types import Array, is_float, largest_finite, readable
from launch.checks.bounded_output import BoundedOutput
from launch.messages import (
    ExpectedOutput,
    NumpyName,
    ReferenceOrder,
    ReferenceReport,
    RoundingOrder,
)
from launch.reference.expected import SLUG, NoOutputs, at_return, by_output
from launch.reference.reference_language import NUMPY, Language
from launch.reference.rounding_sensitivity import (
    Perturb,
    RoundingSensitive,
    rounding_sensitive,
    widened,
)

FUNCTION = "reference"
PATH = f"{KERNEL_FOLDER}reference.py"
_MODULE = "reference"
_TORCH = "torch"
NEEDS_TORCH = "needs_torch"
"""The slug of a reference in another language that imports torch."""

# Caches initial contents of buffers for later cases of a launch that start with the same ones.
#
# Drawing random numbers takes longer than most references. A child that calls references serves
# one launch and ends with it, and so does this cache. References receive copies.

_MAX_BYTES = 64 << 20
"""Limit of all cached contents; the least recently used are evicted."""


class KnownContents:
    """An LRU cache of initial contents by `content_key`, bounded in bytes."""

    def __init__(self, most_bytes: int = _MAX_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._memories: OrderedDict[str, Array] = OrderedDict()

    def memory_of(self, described: Mapping[str, Any], layout: Leaf | None, body: bytes) -> Array:
        """Return the elements of an allocation, read-only, as `allocation.memory_of` does."""
        key = content_key(described, layout)
        if key is not None and key in self._memories:
            self._memories.move_to_end(key)
            return self._memories[key]
        made = memory_of(described, layout, body)
        made.flags.writeable = False
        if key is not None and made.nbytes <= self._most_bytes:
            self._keep(key, made)
        return made

    def _keep(self, key: str, made: Array) -> None:
        self._memories[key] = made
        self._held_bytes += made.nbytes
        while self._held_bytes > self._most_bytes:
            _, gone = self._memories.popitem(last=False)
            self._held_bytes -= gone.nbytes


_KNOWN = KnownContents()
_MODULES_OF_MEMORY = frozenset({"builtins", "numpy", "torch"})  # NumPy has its own MemoryError
_MAX_CALLS = 10


def reference(
    order: ReferenceOrder, body: bytes, send: Send, language: Language = NUMPY
) -> ReferenceReport:
    """Call `reference(**inputs)` and send `expected:<name>` for every output, in C order.

    In NumPy, inputs are read-only arrays in the shape of their argument: bf16 and fp8 become
    float32, `i1` becomes bool, and other dtypes stay. In torch, inputs are tensors of the matching
    dtype. An output with initial contents is an input, too. Scalars and constexprs are Python
    values. A function without `**` receives only the inputs that it names. It returns a dict by
    output, or the array of the only output.

    With a `doubt`, floats are float64. Then this also sends `doubtful:<name>` with one bit for each
    element, which is 1 if the element is inconclusive. Raises `Failure`, mostly
    `invalid_reference`.
    """
    started = perf_counter()
    with warnings.catch_warnings(), redirect_stdout(BoundedOutput(sys.stdout)):
        warnings.simplefilter("ignore")
        call = _ReferenceCall(
            order, part(body, order.source).decode(), _memories(order, body), language
        )
        results = (
            call.rounding_sensitive(order.doubt)
            if order.doubt
            else RoundingSensitive(call.answer(), {}, {})
        )
        sys.stdout.flush()
    ms = spent_ms(started)
    for name, array in results.expected.items():
        send({"kind": "stage", "stage": f"expected:{name}", "ms": ms}, array.tobytes())
    for name, bits in results.doubtful.items():
        packed = np.packbits(bits.reshape(-1)).tobytes()
        send({"kind": "stage", "stage": f"doubtful:{name}", "ms": ms}, packed)
    return ReferenceReport(outputs=call.describe(results))


@dataclass(frozen=True)
class _ReferenceCall:
    """A reference with its order, inputs and language."""

    order: ReferenceOrder
    text: str
    memories: list[Array | None]
    language: Language

    @property
    def outputs(self) -> list[Leaf]:
        return [leaf for leaf in leaves(self.order.arguments) if leaf.output]

    def answer(self, perturb: Perturb | None = None) -> dict[str, Array]:
        """Call the reference; return its results. `perturb` converts stored elements to numbers."""
        language = self.language
        if perturb is not None:
            language = replace(
                language, argument=lambda e, dtype: language.of_numbers(perturb(e, dtype))
            )
        with language.preserved_state():
            inputs = _inputs(self.order, self.memories, language)
            if perturb is not None:
                inputs |= _infinite_scalars(self.order)
            returned = _call(_define(self.text), inputs, language)
        return _read_answer(returned, self.outputs, self.text)

    def rounding_sensitive(self, order: RoundingOrder) -> RoundingSensitive:
        """Return the expected values in float64, and masks of inconclusive elements."""
        inputs = [
            widened(view(memory, leaf), leaf.dtype)
            for leaf in leaves(self.order.arguments)
            if (memory := self.memories[leaf.allocation]) is not None
        ]
        return rounding_sensitive(order, self.answer, self.outputs, inputs)

    def describe(self, results: RoundingSensitive) -> dict[str, ExpectedOutput]:
        return {
            leaf.name: replace(
                _describe(results.expected[leaf.name], leaf, self.memories[leaf.allocation]),
                scale=results.scales.get(leaf.name),
            )
            for leaf in self.outputs
            if leaf.name in results.expected
        }


def _describe(expected: Array, leaf: Leaf, memory: Array | None) -> ExpectedOutput:
    unchanged = False
    if memory is not None and leaf.elements:
        before = readable(view(memory, leaf), leaf.dtype)
        unchanged = np.array_equal(expected, before, equal_nan=True)
    name = cast("NumpyName", expected.dtype.name)
    return ExpectedOutput(dtype=name, shape=list(expected.shape), unchanged=unchanged)


def _read_answer(returned: Any, outputs: Sequence[Leaf], text: str) -> dict[str, Array]:
    """Return an array for every output. Raises `Failure` with the line of the `return`."""
    try:
        return by_output(returned, outputs)
    except NoOutputs:
        raise  # its line would blame the reference
    except Failure as failure:
        raise at_return(failure, text, FUNCTION, PATH) from failure
    except Exception as error:  # the returned object may have its own methods
        raise _failure(error) from error


def _define(posted: str) -> Callable[..., Any]:
    """Execute the source and return its function."""
    try:
        text = python_text(posted, PATH)
    except SyntaxError as error:
        raise _failure(error) from error
    linecache.cache[PATH] = (len(text), None, lines_of(text), PATH)
    module = types.ModuleType(_MODULE)
    module.__file__ = PATH
    vars(module)["np"] = np  # short references are typed without imports
    sys.modules[_MODULE] = module
    try:
        exec(compile(text, PATH, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - its task
    except (Exception, SystemExit) as error:
        raise _failure(error) from error
    function = vars(module).get(FUNCTION)
    if not callable(function):
        message = f"the source of the reference defines no function {FUNCTION!r}"
        raise Failure(SLUG, "reference", message)
    return function  # type: ignore[no-any-return]


def _call(function: Callable[..., Any], inputs: dict[str, Any], language: Language) -> Any:
    try:
        returned = language.returned(function(**_select_inputs(function, inputs)))
    except (Exception, SystemExit) as error:
        raise _failure(error) from error
    if message := language.modified_in_place(inputs):
        raise Failure(SLUG, "reference", message)
    return returned


def _select_inputs(function: Callable[..., Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs that the function names, or all if it has `**`. Raises `Failure`."""
    parameters = inspect.signature(function).parameters.values()
    named = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
    needed = {p.name for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY}
    needed |= {
        p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    }
    missing = sorted(needed - inputs.keys())
    if missing:
        message = (
            f"{FUNCTION}() has the parameter {missing[0]!r}, which is not an input of the launch; "
            f"inputs: {', '.join(inputs)}"
        )
        raise Failure(SLUG, "reference", message)
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return {name: value for name, value in inputs.items() if takes_all or name in named}


def _failure(error: BaseException) -> Failure:
    """Return the failure for an exception of user code. Reraises `MemoryError`."""
    _reraise_memory_error(error)
    if isinstance(error, Failure):
        return error
    if isinstance(error, SyntaxError) and file_in_kernel(error.filename or ""):
        span = Span(file_in_kernel(error.filename or "") or "", error.lineno or 1)
        placed = diagnostic("error", "frontend", error.msg, span=span)
        return Failure(SLUG, "reference", f"line {error.lineno}: {error.msg}", [placed])
    slug, message = _slug_and_message(error)
    failure = _failure_at_user_line(error, slug, message)
    return Failure(slug, "reference", failure.message, failure.diagnostics)


def _slug_and_message(error: BaseException) -> tuple[str, str]:
    """Return the slug and message for an exception of a reference."""
    message = f"{type(error).__name__}: {error}"
    if environment.was_refused(error):
        return SLUG, f"the sandbox refused what this calls: {message}"
    if not isinstance(error, ModuleNotFoundError):
        return SLUG, message
    if (error.name or "").partition(".")[0] == _TORCH:
        return NEEDS_TORCH, message
    return SLUG, f"{message}; only NumPy and the standard library are available"


def _memories(order: ReferenceOrder, body: bytes) -> list[Array | None]:
    """Return the initial contents of each allocation, or None without any."""
    layouts = {(leaf.allocation, leaf.name): leaf for leaf in leaves(order.arguments)}
    try:
        return [
            None
            if allocation["init"] is None
            else _KNOWN.memory_of(allocation, layouts.get((index, allocation["name"])), body)
            for index, allocation in enumerate(order.allocations)
        ]
    except BadBuffer as error:
        raise Failure("invalid_argument", "request", str(error)) from error


def _inputs(
    order: ReferenceOrder, memories: list[Array | None], language: Language
) -> dict[str, Any]:
    try:
        inputs = {
            name: _input(name, argument, memories, language)
            for name, argument in order.arguments.items()
            if argument["kind"] != "buffer" or memories[argument["allocation"]] is not None
        }
    except BadBuffer as error:
        raise Failure("invalid_argument", "request", str(error)) from error
    values = {name: ast_source.decode(value, str) for name, value in order.constexprs.items()}
    return inputs | {name: value for name, value in values.items() if "." not in name}


def _infinite_scalars(order: ReferenceOrder) -> dict[str, float]:
    """Return infinities for finite scalars that overflow their dtype, as they do in the kernel.

    A reference in the scalar's own dtype overflows by itself; a float64 reference would not.
    """
    floats = {
        name: (float(read_number(argument["value"])), argument["dtype"])
        for name, argument in order.arguments.items()
        if argument["kind"] == "scalar" and is_float(argument["dtype"])
    }
    return {
        name: math.copysign(math.inf, value)
        for name, (value, dtype) in floats.items()
        if abs(value) > largest_finite(dtype)
    }


def _input(
    name: str, argument: dict[str, Any], memories: list[Array | None], language: Language
) -> Any:
    match argument["kind"]:
        case "buffer":
            memory, leaf = memories[argument["allocation"]], leaf_of(name, argument)
            return None if memory is None else language.argument(view(memory, leaf), leaf.dtype)
        case "scalar":
            return read_number(argument["value"])
        case "tuple":
            items = {f"{name}.{index}": item for index, item in enumerate(argument["items"])}
            return tuple(_input(path, item, memories, language) for path, item in items.items())
        case "descriptor":
            return _input(name, argument["base"], memories, language)
    return None


def _reraise_memory_error(error: BaseException) -> None:
    """Reraise a `MemoryError`, unless its class is the user's own."""
    own = type(error).__module__.partition(".")[0] not in _MODULES_OF_MEMORY
    if isinstance(error, MemoryError) and not own:
        raise MemoryError from error


def _failure_at_user_line(error: BaseException, slug: str, message: str) -> Failure:
    """Return the failure for an exception of user code, with the calls that led to it."""
    places = list(_places(error))
    if not places:
        return Failure(slug, "frontend", message, [diagnostic("error", "frontend", message)])
    shown, calls = places[-1], places[-_MAX_CALLS - 1 : -1]
    marked = _at(shown, "error", message)
    notes = [_at(call, "note", f"called from {call.name}") for call in reversed(calls)]
    return Failure(slug, "frontend", f"line {shown.lineno}: {message}", [marked, *notes])


def _places(error: BaseException) -> Iterator[traceback.FrameSummary]:
    """Yield the user's lines that led to `error`, outermost first."""
    for summary in traceback.extract_tb(error.__traceback__, limit=-50):
        if file_in_kernel(summary.filename) and summary.lineno:
            yield summary


def _at(summary: traceback.FrameSummary, severity: Severity, message: str) -> Diagnostic:
    line = summary.lineno or 1
    span = Span(file_in_kernel(summary.filename) or "user.py", line)
    shown = excerpt(linecache.getlines(summary.filename), span)
    return diagnostic(severity, "frontend", message, span=span, excerpt=shown)
