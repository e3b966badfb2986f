"""The task that parses a source: chooses its kernel, and states facts of all its jit functions.

Reads syntax only and executes nothing. What only running the source can decide is left to the front
child, which runs it whole.
"""

import ast
import copy
from collections import Counter
from dataclasses import dataclass
from time import perf_counter

from compiler.diagnostic import Failure
from compiler.messages.orders import ReadOrder
from compiler.messages.reports import ReadReport
from compiler.reading import kernel_choice, posted_files, syntax_errors
from compiler.reading.facts import JitFunction, facts
from compiler.reading.jit_decorator import Aliases, module_level
from compiler.reading.proposals.propose import Proposals
from compiler.reading.scopes import stored


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
    folder = posted_files.folder_of(order.module)
    names = [function.name for function in source.functions]
    if order.inspect:
        names += posted_files.jit_functions(source.tree, order.files, folder)
    numbers = {name: index for index, name in enumerate(dict.fromkeys(names))}
    stated = {f.name: facts(f, numbers, source.aliases) for f in source.functions}
    counts = Counter(names)
    for name, known in stated.items():
        known["certain"] = counts[name] == 1 or _is_defined_plainly(name, source.tree)
    kernel = None
    if order.inspect:
        helpers = posted_files.helpers(source.tree, order.files, folder)
        proposals = Proposals(source.tree, source.functions, source.aliases, helpers)
        launched = kernel_choice.launched(source.tree)
        for name, known in stated.items():
            known["launched"] = name in launched
            proposals.add_to(known)
    else:
        kernel = _kernel(source, order.kernel, order.functions)
    return ReadReport(
        kernel=kernel,
        facts={"kernels": list(stated.values())},
        ms=round((perf_counter() - started) * 1000, 3),
    )


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
        name = kernel_choice.only_kernel(functions, source.lines, source.tree)
    if name in {function.name for function in source.functions}:
        return name
    if not _may_be_bound(name, source):
        raise kernel_choice.unknown_kernel(
            name, source.functions, source.tree, source.lines, source.aliases
        )
    return name


_DYNAMIC = frozenset({"globals", "exec", "eval", "setattr", "__dict__", "vars", "locals"})


def _may_be_bound(name: str | None, source: _Source) -> bool:
    """Return whether running the source may bind `name` (None: any name) to a jit function."""
    if any("jit" in line for line in source.lines) and _DYNAMIC & _words(source.tree):
        return True
    nested = kernel_choice.nested(source.tree, source.aliases)
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
