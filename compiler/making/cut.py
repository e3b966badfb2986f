"""The task that cuts a source down to its kernel's slice and states facts.

Reads syntax only, executes nothing.

A slice holds everything that its kernel can see and nothing else, which is what makes it a key:
an edit elsewhere changes nothing, and what is not in it cannot have had an influence.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.excerpt import Diagnostic, diagnostic
from compiler.making import choice, imported, slicing, syntax
from compiler.making.facts import JitFunction, facts
from compiler.making.failure import Failure
from compiler.making.files import reached_files
from compiler.making.jit import Aliases
from compiler.making.outline import Outline, outline


@dataclass(frozen=True)
class _Source:
    """A parsed source."""

    tree: ast.Module
    lines: list[str]
    outline: Outline
    aliases: Aliases
    functions: list[JitFunction]


def cut(header: dict[str, Any], body: bytes, send: object = None) -> dict[str, Any]:
    """Return the slice of the kernel that `header` names, the files it imports, and the facts.

    `functions` names those that the request's constexprs pass to the kernel: they are reached too.
    With `inspect: true` no kernel is chosen and no slice made: facts only. Raises `Failure`:
    `syntax_error`, `unknown_kernel`, `ambiguous_kernel`.
    """
    del send
    started = perf_counter()
    source = _read(body)
    files: dict[str, str] = header.get("files") or {}
    names = [function.name for function in source.functions]
    if header.get("inspect"):
        names += imported.jit_functions(source.tree, files)
    names = list(dict.fromkeys(names))
    stated = {f.name: facts(f, names, source.aliases) for f in source.functions}
    result: dict[str, Any] = {"kind": "result", "facts": {"kernels": list(stated.values())}}
    if header.get("inspect"):
        for name, known in stated.items():
            known["blanked"] = _blanked(source, name)
        result |= {"kernel": None, "slice": None, "files": {}, "complete": True, "notes": []}
    else:
        result |= _slice(source, header.get("kernel"), header.get("functions") or [], files)
    return result | {"ms": round((perf_counter() - started) * 1000, 3)}


def _blanked(source: _Source, kernel: str) -> list[list[int]]:
    units = slicing.reach(source.outline, [kernel]).units
    kept = slicing.sliced(source.lines, source.outline, units)
    return slicing.blanked_ranges(source.lines, kept)


def _read(body: bytes) -> _Source:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the source is not UTF-8: {error.reason} at byte {error.start}"
        raise Failure("syntax_error", "request", message) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    tree = syntax.parse(text)
    lines = text.split("\n")
    aliases = Aliases(tree)
    outlined = outline(tree, lines, aliases)
    return _Source(tree, lines, outlined, aliases, _jit_functions(outlined, aliases))


def _jit_functions(outlined: Outline, aliases: Aliases) -> list[JitFunction]:
    """Return the decorated functions, and those made by `name = triton.jit(function)`."""
    found: list[JitFunction] = []
    plain: dict[str, ast.FunctionDef] = {}
    for unit in outlined.units:
        for node in unit.nodes:
            if isinstance(node, ast.FunctionDef):
                decorator = aliases.decorator_of(node)
                if decorator is not None:
                    found.append(JitFunction(node.name, node, decorator))
                else:
                    plain[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                made = _made_by_call(node.targets[0].id, node.value, plain, aliases)
                found += [made] if made else []
    return found


def _made_by_call(
    name: str, value: ast.expr, plain: dict[str, ast.FunctionDef], aliases: Aliases
) -> JitFunction | None:
    function = plain.get(aliases.jitted_by_call(value) or "")
    if function is None or not isinstance(value, ast.Call):
        return None
    jitted = copy.copy(function)
    jitted.decorator_list = [ast.Call(value.func, [], value.keywords)]
    decorator = aliases.decorator_of(jitted)
    return JitFunction(name, jitted, decorator) if decorator else None


def _slice(
    source: _Source, name: str | None, passed: list[str], files: dict[str, str]
) -> dict[str, Any]:
    kernel = name
    if kernel is None:
        functions = [function for function in source.functions if function.name not in passed]
        kernel = choice.only_kernel(functions, source.lines)
    if not _is_made_here(kernel, source):
        why = _made_unseen(kernel, source)
        if why is None:
            raise choice.unknown_kernel(
                kernel, source.functions, source.outline, source.lines, source.aliases
            )
        return _whole(kernel, source, files, why)
    found = slicing.reach(source.outline, [str(kernel), *passed])
    why = _why_incomplete(found, files)
    if why is not None:
        return _whole(kernel, source, files, why)
    kept = slicing.sliced(source.lines, source.outline, found.units)
    return {
        "kernel": kernel,
        "slice": "\n".join(kept),
        "files": reached_files("\n".join(kept), files),
        "complete": True,
        "notes": [],
    }


def _is_made_here(kernel: str | None, source: _Source) -> bool:
    """Return whether a kernel is a jit function of the text, or what a name of it stands for."""
    if kernel in {function.name for function in source.functions}:
        return True
    binding = [node for unit in source.outline.units if kernel in unit.binds for node in unit.nodes]
    return any(_may_make_kernel(node) for node in binding)


def _may_make_kernel(node: ast.stmt) -> bool:
    """Return whether what a statement binds can be a kernel, though no jit is seen."""
    if isinstance(node, ast.FunctionDef):
        return bool(node.decorator_list)
    return isinstance(
        node, (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.For, ast.With)
    )


def _made_unseen(kernel: str | None, source: _Source) -> str | None:
    """Return why a kernel that the text does not bind may exist all the same, or `None`."""
    reads = frozenset(name for unit in source.outline.units for name in unit.reads)
    hidden = reads & {"globals", "exec", "eval", "setattr"}
    if hidden and any("jit" in line for line in source.lines):
        return f"{kernel or 'the kernel'} may be made through {', '.join(sorted(hidden))}"
    nested = choice.nested(source.outline, source.aliases)
    if kernel in nested or (kernel is None and nested):
        return f"the kernel is made inside {nested[kernel or next(iter(nested))]}"
    return None


def _why_incomplete(found: slicing.Reach, files: dict[str, str]) -> str | None:
    if found.opaque:
        return f"the kernel reaches {', '.join(sorted(found.opaque))}, which can see every name"
    if not found.unbound:
        return None
    stars = [module for unit in found.units for module in slicing.star_imports(unit)]
    foreign = [
        m for m in stars if not m.startswith("triton") and f"{m.lstrip('.')}.py" not in files
    ]
    if foreign:
        return f"it is not known which names `from {foreign[0]} import *` brings"
    return None


def _whole(kernel: str | None, source: _Source, files: dict[str, str], why: str) -> dict[str, Any]:
    message = f"the source could not be cut down to its kernel, so all of it was executed: {why}"
    note: Diagnostic = diagnostic("note", "request", message)
    return {
        "kernel": kernel,
        "slice": "\n".join(source.lines),
        "files": files,
        "complete": False,
        "notes": [note],
    }
