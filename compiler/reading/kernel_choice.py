"""Chooses the kernel of a source, or says which ones there are."""

import ast
from collections.abc import Iterator, Sequence

from compiler.diagnostic import USER_FILE, Diagnostic, Failure, Span, diagnostic, excerpt
from compiler.reading.facts import JitFunction
from compiler.reading.jit_decorator import Aliases, module_level
from compiler.rejection import closest, suggestion


def launched(tree: ast.Module) -> frozenset[str]:
    """Return the names that the text launches: `name[grid](...)`."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Subscript(value=ast.Name(id=name))):
                found.add(name)
    return frozenset(found)


def only_kernel(
    functions: Sequence[JitFunction], lines: Sequence[str], tree: ast.Module
) -> str | None:
    """Return the only jit function that no other one uses, `None` if there are no jit functions.

    Of several, it is the only one that the text launches. Raises `Failure` (`ambiguous_kernel`)
    naming them if that leaves several.
    """
    used = {name for function in functions for name in function.reads}
    kernels = list(dict.fromkeys(f.name for f in functions if f.name not in used))
    if len(kernels) > 1 and len(chosen := launched(tree).intersection(kernels)) == 1:
        return next(iter(chosen))
    if len(kernels) > 1:
        message = (
            f"the source has {len(kernels)} kernels: {', '.join(kernels)}. "
            "Say which one to compile in `kernel`."
        )
        notes = [_here(f, lines) for f in functions if f.name in kernels]
        found = [diagnostic("error", "request", message), *notes]
        raise Failure("ambiguous_kernel", "request", message, found)
    if not kernels and functions:
        return functions[0].name
    return kernels[0] if kernels else None


def _here(function: JitFunction, lines: Sequence[str]) -> Diagnostic:
    span = _name_span(function.node)
    message = f"{function.name} is defined here"
    return diagnostic("note", "request", message, span=span, excerpt=excerpt(lines, span))


def unknown_kernel(
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
    inner = ", ".join(nested(tree, aliases))
    message += f" (inside functions and classes there are: {inner})" if inner else ""
    hint = None if known else "A kernel is a function (`def`) with @triton.jit above it."
    found = diagnostic("error", "request", message, hint=hint)
    return Failure("unknown_kernel", "request", message, [found])


def nested(tree: ast.Module, aliases: Aliases) -> dict[str, str]:
    """Return the jit functions that are not names of the module, each with its enclosing function.

    One of a class is named `Class.kernel` or `Class.Inner.kernel`, one of a function `kernel`.
    """
    found: dict[str, str] = {}
    for node in module_level(tree.body):
        if isinstance(node, ast.ClassDef):
            found |= dict.fromkeys(_of_class(node, node.name, aliases), f"class {node.name}")
        elif isinstance(node, ast.FunctionDef):
            inside = [inner for inner in ast.walk(node) if inner is not node]
            found |= {
                inner.name: f"function {node.name}"
                for inner in inside
                if isinstance(inner, ast.FunctionDef) and aliases.decorator_of(inner)
            }
    return found


def _of_class(owner: ast.ClassDef, dotted: str, aliases: Aliases) -> Iterator[str]:
    for node in owner.body:
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node, f"{dotted}.{node.name}", aliases)
        elif isinstance(node, ast.FunctionDef) and aliases.decorator_of(node) and _is_static(node):
            yield f"{dotted}.{node.name}"


def _method(
    tree: ast.Module, aliases: Aliases, name: str | None
) -> tuple[str, ast.FunctionDef] | None:
    """Return the jit function of a class that is called `name`, or any, and takes `self`."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for owner in classes:
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and aliases.decorator_of(node):
                dotted = f"{owner.name}.{node.name}"
                if not _is_static(node) and name in {None, node.name, dotted}:
                    return dotted, node
    return None


def _is_method(dotted: str, node: ast.FunctionDef, lines: Sequence[str]) -> Failure:
    message = f"{dotted} is a method, and a kernel has no `self`"
    hint = f"Put @staticmethod above @triton.jit and name the kernel {dotted!r}, or move it out."
    span = _name_span(node)
    shown = excerpt(lines, span)
    found = diagnostic("error", "request", message, hint=hint, span=span, excerpt=shown)
    return Failure("unknown_kernel", "request", message, [found])


def _is_static(function: ast.FunctionDef) -> bool:
    """Return whether a jit function of a class takes no `self`: a class binds none to it."""
    is_marked = any(ast.unparse(node) == "staticmethod" for node in function.decorator_list)
    first = next(iter((*function.args.posonlyargs, *function.args.args)), None)
    return is_marked or first is None or first.arg != "self"


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
    found = diagnostic(
        "error", "request", message, hint=hint, span=span, excerpt=excerpt(lines, span)
    )
    return Failure("unknown_kernel", "request", message, [found])
