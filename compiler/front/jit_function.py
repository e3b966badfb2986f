"""Finds the jit function to compile in a loaded module; asks it what Triton sees in its parameters.

The task `parameters` executes the source, as `front` does, where its text alone is not enough (see
`facts`).
"""

import ast
import linecache
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import triton.language as tl

from compiler.back import triton_api
from compiler.diagnostic import KERNEL_FOLDER, USER_FILE, Assumption, Failure, diagnostic
from compiler.front import ast_source
from compiler.front.code_reach import MAX_REACHED, reach_of_value
from compiler.front.diagnosis import module_errors
from compiler.front.module import Loaded, load
from compiler.front.module_execution import StatementFailed, future_flags
from compiler.front.stubs import driver_stub
from compiler.messages.orders import Execution, ParametersOrder
from compiler.messages.reports import AskedParameter, ParametersReport
from compiler.messages.wire import Send
from compiler.reading.facts import JitFunction
from compiler.reading.jit_decorator import Aliases
from compiler.reading.nested_kernels import NestedKernel, nested_kernels
from compiler.reading.read_source import with_kernel
from compiler.reading.stored_helpers import note_on
from compiler.rejection import suggestion


def load_kernel(order: Execution, text: str) -> tuple[Loaded, Any]:
    """Execute the source of `order`, and return its module and its kernel. Raises `Failure`."""
    driver_stub.pretend(triton_api.target_of(order.target))
    whole, helper = with_kernel(text, order.kernel)
    loaded = load(whole, order.files, module=order.module, absent=order.absent)
    with asking_for_modules(loaded):
        return loaded, find(loaded, order.kernel, helper)


@contextmanager
def asking_for_modules(loaded: Loaded, kernel: Any = None) -> Iterator[None]:
    """Have a `Failure` of the block name the modules that user code asked for in vain.

    A `kernel` that lacks none of the names that are missing fails with these modules, too.
    """
    needs = len(loaded.assumptions.needs)
    try:
        yield
    except Failure as failure:
        is_new = len(loaded.assumptions.needs) > needs
        if is_new or (needs and (kernel is None or _may_lack_a_name(loaded, kernel))):
            raise module_errors.of_needs(failure, loaded) from failure
        if loaded.assumptions.absent is not None:
            failure.needs = []  # the caller listed it as absent
        raise


def _may_lack_a_name(loaded: Loaded, kernel: Any) -> bool:
    """Return whether a kernel uses a name that statements left out would have bound."""
    if loaded.execution is None:
        return True
    reach = reach_of_value(kernel, MAX_REACHED)
    functions = (item for item in reach.objects.values() if isinstance(item, FunctionType))
    used = reach.missing.union(*(function.__code__.co_names for function in functions))
    missing = loaded.execution.missing
    return reach.sees_all or "*" in missing or not used.isdisjoint(missing)


def find(loaded: Loaded, name: str | None, helper: JitFunction | None = None) -> Any:
    """Return the `JITFunction` called `name`, out of any autotuner; without a name the only one.

    It may be one that was written for a `helper`. Raises `Failure`: `unknown_kernel`,
    `ambiguous_kernel`, or why its definition did not run.
    """
    module_errors.check_executed(loaded)
    functions = jit_functions(vars(loaded.module))
    function = _chosen(loaded, name, functions)
    module_errors.check_certain(loaded, function, name)
    if helper is not None and loaded.execution is not None:
        assumption = Assumption(USER_FILE, helper.node.lineno, note_on(helper))
        loaded.execution.assume_of(function, assumption)
    return function


def _chosen(loaded: Loaded, name: str | None, functions: dict[str, Any]) -> Any:
    if name is None:
        return _only(functions, loaded)
    named = unwrap(vars(loaded.module).get(name))
    function = named if isinstance(named, triton_api.JITFunction) else _inner(loaded, name)
    if function is None:
        function = _of_text(loaded, [each for each in _nested_kernels() if each.name == name])
    if function is not None:
        return function
    for dropped in loaded.dropped:
        if name in dropped.names:
            raise module_errors.of_definition(dropped, name, loaded.dropped)
    known = ", ".join(functions) or "none"
    message = f"there is no jit function {name!r} in the source; it has: {known}"
    raise _unknown(message + suggestion(name, functions), loaded)


def _inner(loaded: Loaded, name: str) -> Any:
    """Return the jit function of a class (`Class.Inner.kernel`), or one that a function made."""
    owner, *attributes = name.split(".")
    if attributes:
        value = vars(loaded.module).get(owner)
        for attribute in attributes:
            value = getattr(value, attribute, None)
        function = unwrap(value)
        return function if isinstance(function, triton_api.JITFunction) else None
    values = jit_functions(vars(loaded.module)).values()
    made = {id(value): value for value in values if value.__name__ == name}
    return next(iter(made.values())) if len(made) == 1 else None


def _unknown(message: str, loaded: Loaded, hint: str | None = None) -> Failure:
    notes = module_errors.of_assumptions(loaded)
    error = diagnostic("error", "frontend", message, hint=hint)
    return Failure("unknown_kernel", "frontend", message, [error, *notes])


def _nested_kernels() -> list[NestedKernel]:
    """Return the kernels that exist only once a function or a class of the source is run."""
    tree = _source_tree()
    return nested_kernels(tree, Aliases(tree))


def _source_tree() -> ast.Module:
    """Return the posted source, empty if it is not Python."""
    try:
        return ast.parse("".join(linecache.getlines(KERNEL_FOLDER + USER_FILE)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _hint_on(nested: Sequence[NestedKernel]) -> str | None:
    if not nested:
        return (
            "A kernel that functions write as text exists only once they are called: post that "
            "text, or a file that defines a kernel."
        )
    first = nested[0]
    return (
        f"{first.name} is defined inside of {first.where}: move it to the top level of the source."
    )


def _of_text(loaded: Loaded, nested: Sequence[NestedKernel]) -> Any:
    """Return the only one of `nested` as its text defines it, None if that needs more."""
    statements = nested[0].statements() if len(nested) == 1 else None
    if statements is None or loaded.execution is None:
        return None
    kernel = nested[0]
    namespace = vars(loaded.module)
    if kernel.node.name in namespace:
        return None  # something else of the module has this name
    try:
        loaded.execution.run_more(loaded.module, statements, future_flags(_source_tree()))
    except StatementFailed as failed:
        raise module_errors.of_definition(failed.dropped, kernel.name, loaded.dropped) from failed
    function = unwrap(namespace.get(kernel.node.name))
    if not isinstance(function, triton_api.JITFunction):
        return None
    message = f"{kernel.name} is inside of {kernel.where}, and is compiled as it is written there"
    assumption = Assumption(USER_FILE, kernel.node.lineno, message)
    loaded.execution.assume_of(function, assumption)
    return function


def jit_functions(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the jit functions that a module defined, by their name in its namespace."""
    unwrapped = {name: unwrap(value) for name, value in namespace.items()}
    module = namespace.get("__name__")  # user code may delete it
    return {
        name: value
        for name, value in unwrapped.items()
        if isinstance(value, triton_api.JITFunction) and value.module == module
    }


def unwrap(value: Any) -> Any:
    """Follow `.fn` through autotuners and heuristics down to the jit function, if there is one."""
    for _ in range(10):
        if isinstance(value, triton_api.JITFunction):
            break
        held = "fn" if hasattr(type(value), "run") else "__wrapped__"
        inner = vars(value).get(held) if hasattr(value, "__dict__") else None
        if inner is None:
            break
        value = inner
    return value


def _only(functions: dict[str, Any], loaded: Loaded) -> Any:
    called = {
        other.__name__
        for function in functions.values()
        for other in functions.values()
        if other is not function and other.__name__ in function.fn.__code__.co_names
    }
    kernels = {id(value): value for name, value in functions.items() if name not in called}
    if len(kernels) == 1:
        return next(iter(kernels.values()))
    if not kernels:
        nested = _nested_kernels()
        if (function := _of_text(loaded, nested)) is not None:
            return function
        message = "running the source made no @triton.jit function"
        raise _unknown(message, loaded, _hint_on(nested))
    names = ", ".join(value.__name__ for value in kernels.values())
    message = f"the source has several kernels: {names}. Name one in `kernel`."
    raise Failure("ambiguous_kernel", "frontend", message)


def parameters(order: ParametersOrder, body: bytes, send: Send) -> ParametersReport:
    """Return the kernel's name, its line, and what Triton sees in its parameters.

    Raises `Failure`.
    """
    del send
    _, function = load_kernel(order, body.decode())
    return ParametersReport(
        kernel=function.__name__,
        line=triton_api.definition_line(function),
        parameters=[_parameter_facts(parameter) for parameter in function.params],
    )


def _parameter_facts(parameter: Any) -> AskedParameter:
    fixed = "tl.constexpr" if parameter.is_constexpr else parameter.annotation_type
    return AskedParameter(
        name=parameter.name,
        annotation=fixed or None,
        constexpr=parameter.is_constexpr,
        const=parameter.is_const,
        default=_default(parameter) if parameter.has_default else None,
        do_not_specialize=parameter.do_not_specialize,
        do_not_specialize_on_alignment=parameter.do_not_specialize_on_alignment,
    )


def _default(parameter: Any) -> dict[str, Any]:
    value = parameter.default
    if isinstance(value, tl.constexpr) and _is_plain(value.value):
        return {"literal": ast_source.encode(value), "constexpr": True}
    # an argument that counts as a number is passed as one; a constant stays the same object
    is_number = isinstance(value, (int, float)) and not parameter.is_constexpr
    if is_number or _is_plain(value):
        return {"literal": ast_source.encode(value)}
    return {"expression": f"a value of type {type(value).__name__}"}


def _is_plain(value: Any) -> bool:
    """Return whether tagged JSON represents a value completely."""
    if type(value) is tuple:
        return all(_is_plain(item) for item in value)
    plain_types = (type(None), bool, int, float, str)
    return type(value) in plain_types or isinstance(value, (tl.dtype, triton_api.JITFunction))
