"""Writes a kernel for a helper: it loads what the helper takes, and stores what it returns.

A function that returns a value cannot be launched, so a source that defines nothing else has no
kernel. `NAME_stored` is the kernel that is written for the helper NAME, below the source's text.
"""

import ast
from collections.abc import Iterator, Sequence

from compiler.messages.reports import MAX_WRITTEN
from compiler.reading.facts import JitFunction
from compiler.reading.jit_decorator import Aliases
from compiler.reading.proposals.clues import UseClues
from compiler.reading.proposals.parsed_function import ParsedFunction
from compiler.reading.proposals.uses import Uses

SUFFIX = "_stored"
_COUNTING = frozenset({"range", "static_range", "cdiv"})
_HEAD = "\n\n\nimport triton as _triton\nimport triton.language as _tl\n"


def helper_of(kernel: str | None, functions: Sequence[JitFunction]) -> JitFunction | None:
    """Return the helper that `kernel` is to be written for, None for other names."""
    if kernel is None or not kernel.endswith(SUFFIX):
        return None
    if any(function.name == kernel for function in functions):
        return None
    named = [each for each in functions if each.name == kernel.removesuffix(SUFFIX)]
    return named[-1] if named and returned(named[-1]) else None


def unused_helpers(functions: Sequence[JitFunction]) -> list[JitFunction]:
    """Return the helpers that no function uses, simple ones first; none if one is a kernel."""
    used = {name for function in functions for name in function.reads}
    names = {function.name for function in functions}
    unused = {each.name: each for each in functions if each.name not in used}
    if not all(map(returned, unused.values())):
        return []
    helpers = [each for each in unused.values() if each.name + SUFFIX not in names]
    return sorted(helpers, key=_needs_shapes)[:MAX_WRITTEN]


def kernels_for(
    helpers: Sequence[JitFunction], functions: Sequence[JitFunction], aliases: Aliases
) -> str:
    """Return the text of a kernel for each of `helpers`, to put below the source's."""
    if not helpers:
        return ""
    uses = Uses({each.name: ParsedFunction(each.node, aliases) for each in functions})
    return _HEAD + "".join(_kernel(each, uses.of(each.name), aliases) for each in helpers)


def note_on(helper: JitFunction) -> str:
    """Return what a kernel is that was written for a helper, in words."""
    name = helper.name
    return (
        f"{name}{SUFFIX} is not in the source: it is written for {name}, which returns a value, "
        f"and loads what {name} takes and stores what it returns"
    )


def returned(function: JitFunction) -> list[ast.expr]:
    """Return the values that a function of Triton's returns."""
    if function.decorator.language != "triton":
        return []
    values = [node.value for node in ast.walk(function.node) if isinstance(node, ast.Return)]
    return [value for value in values if value is not None and not _is_none(value)]


def _needs_shapes(helper: JitFunction) -> bool:
    """Return whether a helper multiplies matrices or indexes axes, which no row of values has."""
    for node in ast.walk(helper.node):
        match node:
            case ast.Call(func=ast.Attribute(attr="dot" | "dot_scaled" | "trans")):
                return True
            case ast.Subscript(slice=ast.Tuple()):
                return True
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _kernel(helper: JitFunction, evidence: dict[str, UseClues], aliases: Aliases) -> str:
    parameters = list(_required(helper.node))
    counted = _single(ParsedFunction(helper.node, aliases))
    taken = {argument.arg for argument, _ in parameters}
    size, block, at, inside = (
        _unused(name, taken) for name in ("n_elements", "BLOCK_SIZE", "offsets", "inside")
    )
    results = _results(helper, taken)
    own, passed = [], []
    for argument, is_by_name in parameters:
        name = argument.arg
        if _is_constexpr(argument, evidence[name]):
            own.append(f"{name}: _tl.constexpr")
            value = name
        elif evidence[name].pointer or name in counted:
            own.append(name)
            value = name
        else:
            pointer = _unused(f"{name}_ptr", taken)
            own.append(pointer)
            value = f"_tl.load({pointer} + {at}, mask={inside})"
        passed.append(f"{name}={value}" if is_by_name else value)
    outputs = [_unused(f"{result}_ptr", taken) for result in results]
    head = ", ".join([*own, *outputs, size, f"{block}: _tl.constexpr"])
    lines = [
        f"def {helper.name}{SUFFIX}({head}):",
        f"{at} = _tl.program_id(0) * {block} + _tl.arange(0, {block})",
        f"{inside} = {at} < {size}",
        f"{', '.join(results)} = {helper.name}({', '.join(passed)})",
        *(
            f"_tl.store({pointer} + {at}, {result}, mask={inside})"
            for pointer, result in zip(outputs, results, strict=True)
        ),
    ]
    return "\n\n@_triton.jit\n" + "\n    ".join(lines) + "\n"


def _required(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, bool]]:
    """Yield the parameters without a default, each with whether it is passed by its name."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument in positional[: len(positional) - len(arguments.defaults)]:
        yield argument, False
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is None:
            yield argument, True


def _single(function: ParsedFunction) -> set[str]:
    """Return the names that bound loops or decide branches: single numbers, never blocks."""
    waiting: list[ast.AST] = []
    for node in function.nodes:
        match node:
            case ast.Call() if function.callee(node) in _COUNTING:
                waiting += node.args
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                waiting.append(test)
    names: set[str] = set()
    while waiting:
        for part in ast.walk(waiting.pop()):
            if isinstance(part, ast.Name) and part.id not in names:
                names.add(part.id)
                waiting += function.values.get(part.id, ())
    return names


def _is_constexpr(argument: ast.arg, clues: UseClues) -> bool:
    annotation = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    return "constexpr" in annotation or (bool(clues.shape) and not clues.pointer)


def _results(helper: JitFunction, taken: set[str]) -> list[str]:
    """Return a name for each value that a helper returns, as far as its text shows them."""
    values = returned(helper)
    counts = {len(value.elts) if isinstance(value, ast.Tuple) else 0 for value in values}
    count = counts.pop() if len(counts) == 1 else 0
    names = [f"out{index}" for index in range(count)] or ["out"]
    return [_unused(name, taken) for name in names]


def _unused(name: str, taken: set[str]) -> str:
    """Return `name`, or one like it that is not taken yet, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
