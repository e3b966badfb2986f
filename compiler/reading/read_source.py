"""The task that parses a source: chooses its kernel, and states facts of all its jit functions.

Reads syntax only and executes nothing. What only running the source can decide is left to the front
child, which runs it whole.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.diagnostic import USER_FILE, Diagnostic, Failure, Span, diagnostic, excerpt
from compiler.messages.orders import ReadOrder
from compiler.messages.reports import ReadReport
from compiler.reading import posted_files, syntax_errors
from compiler.reading.facts import JitFunction, facts
from compiler.reading.jit_decorator import Aliases, module_level
from compiler.reading.nested_kernels import is_static, nested_kernels
from compiler.reading.proposals.propose import Proposals
from compiler.reading.scopes import stored
from compiler.reading.stored_helpers import (
    SUFFIX,
    helper_of,
    kernels_for,
    note_on,
    returned,
    unused_helpers,
)
from compiler.rejection import closest, suggestion


@dataclass(frozen=True)
class _Source:
    """A parsed source."""

    tree: ast.Module
    lines: list[str]
    aliases: Aliases
    functions: list[JitFunction]


def read_source(order: ReadOrder, body: bytes, send: object = None) -> ReadReport:
    """Return the kernel that `order` names, if the text shows it, and the facts of all kernels.

    Raises `Failure`: `syntax_error`, `unknown_kernel`, `ambiguous_kernel`.
    """
    del send
    started = perf_counter()
    source = _parsed(body)
    helper = None if order.inspect else helper_of(order.kernel, source.functions)
    helpers = [helper] if helper is not None else []
    if order.inspect:
        helpers = unused_helpers(source.functions)
    if helpers:
        source = _parsed(body + kernels_for(helpers, source.functions, source.aliases).encode())
    folder = posted_files.folder_of(order.module)
    names = [function.name for function in source.functions]
    if order.inspect:
        names += posted_files.jit_functions(source.tree, order.files, folder)
    numbers = {name: index for index, name in enumerate(dict.fromkeys(names))}
    functions = [*source.functions, *(_nested(source) if order.inspect else ())]
    stated = {f.name: facts(f, numbers, source.aliases) for f in functions}
    counts = Counter(names)
    for name, known in stated.items():
        known["certain"] = counts[name] == 1 or (
            counts[name] > 1 and _is_defined_plainly(name, source.tree)
        )
    kernel = None
    if order.inspect:
        others = posted_files.helpers(source.tree, order.files, folder)
        proposals = Proposals(source.tree, functions, source.aliases, others)
        launched = _launched(source.tree)
        returning = {function.name for function in functions if returned(function)}
        called = {name for known in stated.values() for name in known["calls"]}
        for name, known in stated.items():
            known["launched"] = name in launched
            known["returns"] = name in returning
            known["launched_line"] = launched.get(name)
            proposals.add_to(known)
            # what a jit function calls gets constants also without the annotation
            known["warnings"] = [] if name in called else proposals.warnings(known)
        for helper in helpers:
            _place_at(stated[helper.name + SUFFIX], helper)
        written = [stated.pop(helper.name + SUFFIX) for helper in helpers]
        listed = {
            "kernels": list(stated.values()),
            "written": written,
            "launches": _reaches_launch(source.tree),
        }
    else:
        kernel = _kernel(source, order.kernel, order.functions)
        listed = {"kernels": list(stated.values())}
    return ReadReport(
        kernel=kernel,
        facts=listed,
        ms=round((perf_counter() - started) * 1000, 3),
    )


def _place_at(kernel: dict[str, Any], helper: JitFunction) -> None:
    """Give the facts of a kernel that was written for a helper a line that the source has."""
    kernel["line"] = helper.node.lineno
    for parameter in kernel["parameters"]:
        parameter["line"], parameter["column"] = helper.node.lineno, 1
        if parameter["proposal"] is not None:
            parameter["proposal"]["line"] = helper.node.lineno
    kernel["warnings"] = [note_on(helper), *kernel["warnings"]]


def _parsed(body: bytes) -> _Source:
    try:
        posted = body.decode()
    except UnicodeDecodeError as error:
        message = f"the source is not UTF-8: {error.reason} at byte {error.start}"
        raise Failure("syntax_error", "request", message) from error
    text = syntax_errors.text_of(posted)
    tree = syntax_errors.parse(text)
    aliases = Aliases(tree)
    return _Source(tree, text.split("\n"), aliases, _jit_functions(tree, aliases))


def with_kernel(text: str, kernel: str | None) -> tuple[str, JitFunction | None]:
    """Return a source with the kernel that it only has a helper for, and the helper, if so."""
    if kernel is None or not kernel.endswith(SUFFIX):
        return text, None
    source = _parsed(text.encode())
    helper = helper_of(kernel, source.functions)
    if helper is None:
        return text, None
    return text + kernels_for([helper], source.functions, source.aliases), helper


def _jit_functions(tree: ast.Module, aliases: Aliases) -> list[JitFunction]:
    """Return the decorated functions, and those made by `name = triton.jit(function)`."""
    jitted: list[JitFunction] = []
    plain: dict[str, ast.FunctionDef] = {}
    for node in module_level(tree.body):
        if isinstance(node, ast.FunctionDef):
            decorator = aliases.decorator_of(node)
            if decorator is not None:
                jitted.append(JitFunction(node.name, node, decorator))
            else:
                plain[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            by_call = _jitted_by_call(node.targets[0].id, node.value, plain, aliases)
            jitted += [by_call] if by_call else []
    return jitted


def _nested(source: _Source) -> Iterator[JitFunction]:
    """Yield the jit functions of classes and functions that are compiled by their text alone."""
    nested = nested_kernels(source.tree, source.aliases)
    counts = Counter([*(each.name for each in nested), *(f.name for f in source.functions)])
    for each in nested:
        decorator = source.aliases.decorator_of(each.node)
        is_whole = counts[each.name] == 1 and each.statements() is not None
        if decorator is not None and is_whole:
            yield JitFunction(each.name, each.node, decorator)


def _jitted_by_call(
    name: str, value: ast.expr, plain: dict[str, ast.FunctionDef], aliases: Aliases
) -> JitFunction | None:
    function = plain.get(aliases.jitted_by_call(value) or "")
    if function is None or not isinstance(value, ast.Call):
        return None
    jitted = copy.copy(function)
    jitted.decorator_list = [ast.Call(value.func, [], value.keywords)]
    decorator = aliases.decorator_of(jitted)
    return JitFunction(name, jitted, decorator) if decorator else None


def _is_defined_plainly(name: str, tree: ast.Module) -> bool:
    """Return whether only function definitions bind `name`: the last of them is the kernel."""
    binding = [node for node in tree.body if name in stored([node])]
    return all(isinstance(node, ast.FunctionDef) for node in binding)


def _kernel(source: _Source, name: str | None, passed: list[str]) -> str | None:
    """Return the kernel to compile, None where only running the source can choose it.

    `passed` are functions that constexprs pass to the kernel.
    """
    if name is None:
        functions = [function for function in source.functions if function.name not in passed]
        name = _only_kernel(functions, source.lines, source.tree)
    if name in {function.name for function in source.functions}:
        return name
    if not _may_be_bound(name, source):
        raise _unknown_kernel(name, source.functions, source.tree, source.lines, source.aliases)
    return name


_DYNAMIC = frozenset({"globals", "exec", "eval", "setattr", "__dict__", "vars", "locals"})


def _may_be_bound(name: str | None, source: _Source) -> bool:
    """Return whether running the source may bind `name` (None: any name) to a jit function."""
    if any("jit" in line for line in source.lines) and _DYNAMIC & _words(source.tree):
        return True
    nested = {each.name for each in nested_kernels(source.tree, source.aliases)}
    if name is None:
        return bool(nested) or any(map(_may_make_kernel, module_level(source.tree.body)))
    if name in nested:
        return True
    root = name.partition(".")[0]
    return any(_binds(node, root) for node in ast.walk(source.tree))


def _words(tree: ast.Module) -> set[str]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _may_make_kernel(node: ast.stmt) -> bool:
    """Return whether a statement binds what may be a kernel: `k = make()`, `from x import k`."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return any(isinstance(part, ast.Call) for part in ast.walk(node))
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "*" for alias in node.names)
    return False


def _binds(node: ast.AST, name: str) -> bool:
    """Return whether `node` may bind `name` to a kernel, or to a class that inherits one."""
    match node:
        case ast.FunctionDef():
            return node.name == name and bool(node.decorator_list)
        case ast.ClassDef():
            return node.name == name and bool(node.bases or node.decorator_list)
        case ast.ImportFrom() | ast.Import():
            return any((alias.asname or alias.name) in {name, "*"} for alias in node.names)
        case ast.Name(ctx=ast.Store()):
            return node.id == name
        case ast.Global():
            return name in node.names
    return False


def _launched(tree: ast.Module) -> dict[str, int]:
    """Return the names that the text launches, `name[grid](...)`, with the first line of each.

    `name.warmup(...)` counts, as a file may launch what it returns.
    """
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _launched_name(node)) is not None:
            lines[name] = min(node.lineno, lines.get(name, node.lineno))
    return lines


def _launched_name(call: ast.Call) -> str | None:
    match call.func:
        case (
            ast.Subscript(value=ast.Name() | ast.Attribute() as launched)
            | ast.Attribute(value=ast.Name() as launched, attr="warmup")
        ):
            return ast.unparse(launched)
    return None


def _reaches_launch(tree: ast.Module) -> bool:
    """Return whether running the text as a script may launch something.

    What a statement with a call names may run, and so may what that names in turn. A text with
    `"__main__"` may find its functions in other ways (`unittest.main()`).
    """
    if any(isinstance(node, ast.Constant) and node.value == "__main__" for node in ast.walk(tree)):
        return True
    defined = _run_by_name(tree)
    waiting: list[ast.AST] = [*filter(_has_call, module_level(tree.body))]
    while waiting:
        match node := waiting.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                waiting += [*node.decorator_list, node.args]
                continue
            case ast.Call() if _launched_name(node) is not None:
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name):
                waiting += defined.pop(name, ())
        waiting += ast.iter_child_nodes(node)
    return False


def _run_by_name(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Return what may run where a name is used: functions, methods, and what other names mean."""
    defined: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                defined.setdefault(node.name, []).extend(node.body)
            case ast.ClassDef():  # code with the class may call its methods
                methods = (part for each in node.body for part in getattr(each, "body", ()))
                defined.setdefault(node.name, []).extend(methods)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                defined.setdefault(name, []).append(value)
    return defined


def _has_call(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def _only_kernel(
    functions: Sequence[JitFunction], lines: Sequence[str], tree: ast.Module
) -> str | None:
    """Return the only jit function that no other one uses, `None` if there are no jit functions.

    Of several, it is the only one that the text launches. Raises `Failure` (`ambiguous_kernel`)
    naming them if that leaves several.
    """
    used = {name for function in functions for name in function.reads}
    kernels = list(dict.fromkeys(f.name for f in functions if f.name not in used))
    if len(kernels) > 1 and len(chosen := _launched(tree).keys() & set(kernels)) == 1:
        return next(iter(chosen))
    if len(kernels) > 1:
        message = (
            f"the source has {len(kernels)} kernels: {', '.join(kernels)}. "
            "Say which one to compile in `kernel`."
        )
        notes = [_here(f, lines) for f in functions if f.name in kernels]
        messages = [diagnostic("error", "request", message), *notes]
        raise Failure("ambiguous_kernel", "request", message, messages)
    if not kernels and functions:
        return functions[0].name
    return kernels[0] if kernels else None


def _here(function: JitFunction, lines: Sequence[str]) -> Diagnostic:
    span = _name_span(function.node)
    message = f"{function.name} is defined here"
    return diagnostic("note", "request", message, span=span, excerpt=excerpt(lines, span))


def _unknown_kernel(
    name: str | None,
    functions: Sequence[JitFunction],
    tree: ast.Module,
    lines: Sequence[str],
    aliases: Aliases,
) -> Failure:
    """Return the failure for a kernel that is not there, or that only lacks `@triton.jit`."""
    known = list(dict.fromkeys(function.name for function in functions))
    plain = _plain_functions(tree, aliases)
    if name in plain:
        return _lacks_jit(plain[name], lines)
    if (method := _method(tree, aliases, name)) is not None:
        return _is_method(*method, lines)
    if name is None:
        if len(plain) == 1:
            return _lacks_jit(next(iter(plain.values())), lines)
        message = "the source has no kernel: no function in it is decorated with @triton.jit"
    elif known:
        message = (
            f"there is no kernel {name!r} in the source; its jit functions are: {', '.join(known)}"
        )
        message += suggestion(name, known)
    else:
        message = (
            f"there is no kernel {name!r}: no function in the source is decorated with @triton.jit"
        )
    inner = ", ".join(dict.fromkeys(each.name for each in nested_kernels(tree, aliases)))
    message += f" (inside functions and classes there are: {inner})" if inner else ""
    hint = None if known else "A kernel is a function (`def`) with @triton.jit above it."
    error = diagnostic("error", "request", message, hint=hint)
    return Failure("unknown_kernel", "request", message, [error])


def _method(
    tree: ast.Module, aliases: Aliases, name: str | None
) -> tuple[str, ast.FunctionDef] | None:
    """Return the jit function of a class that is called `name`, or any, and takes `self`."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for owner in classes:
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and aliases.decorator_of(node):
                dotted = f"{owner.name}.{node.name}"
                if not is_static(node) and name in {None, node.name, dotted}:
                    return dotted, node
    return None


def _is_method(dotted: str, node: ast.FunctionDef, lines: Sequence[str]) -> Failure:
    message = f"{dotted} is a method, and a kernel has no `self`"
    hint = f"Put @staticmethod above @triton.jit and name the kernel {dotted!r}, or move it out."
    span = _name_span(node)
    shown = excerpt(lines, span)
    error = diagnostic("error", "request", message, hint=hint, span=span, excerpt=shown)
    return Failure("unknown_kernel", "request", message, [error])


def _plain_functions(tree: ast.Module, aliases: Aliases) -> dict[str, ast.FunctionDef]:
    return {
        node.name: node
        for node in module_level(tree.body)
        if isinstance(node, ast.FunctionDef) and aliases.decorator_of(node) is None
    }


def _name_span(node: ast.FunctionDef) -> Span:
    column = node.col_offset + 1
    return Span(USER_FILE, node.lineno, column, node.lineno, column + len(f"def {node.name}"))


def _lacks_jit(node: ast.FunctionDef, lines: Sequence[str]) -> Failure:
    others = ", ".join(f"@{ast.unparse(decorator)}"[:100] for decorator in node.decorator_list)
    what = (
        f"is decorated with {others}, which is not Triton's"
        if others
        else "is a plain Python function"
    )
    message = f"{node.name} {what}: a kernel needs the decorator @triton.jit"
    span = _name_span(node)
    hint = f"Write @triton.jit on the line above `def {node.name}`."
    written = [ast.unparse(decorator) for decorator in node.decorator_list]
    misspelt = [text for text in written if closest(text, ["triton.jit"])]
    if misspelt:
        hint = f"Write @triton.jit instead of @{misspelt[0]}."
    error = diagnostic(
        "error", "request", message, hint=hint, span=span, excerpt=excerpt(lines, span)
    )
    return Failure("unknown_kernel", "request", message, [error])
