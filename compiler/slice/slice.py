"""The task that reduces a source to the slice of its kernel, and states facts of the kernel.

A slice holds everything that its kernel can see and nothing else, which is what makes it a key:
an edit elsewhere changes nothing, and what is not in it cannot have had an influence. Reads syntax
only, executes nothing.
"""

import ast
import copy
from collections import Counter
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from compiler.diagnostic import USER_FILE, Assumption, Failure, Span, diagnostic, excerpt
from compiler.messages.orders import SliceOrder
from compiler.messages.reports import SliceReport
from compiler.slice import blanking, kernel_choice, posted_files, syntax_errors, whole_text
from compiler.slice.decorators import is_foreign_decorator
from compiler.slice.effects import Effects
from compiler.slice.facts import JitFunction, facts
from compiler.slice.jit_decorator import Aliases, module_level
from compiler.slice.kinds import star_imports
from compiler.slice.outline import Outline, Unit, outline
from compiler.slice.posted_files import reached_files
from compiler.slice.proposals.propose import Proposals


@dataclass(frozen=True)
class _Source:
    """A parsed source."""

    tree: ast.Module
    lines: list[str]
    outline: Outline
    aliases: Aliases
    functions: list[JitFunction]
    effects: Effects


def slice_kernel(order: SliceOrder, body: bytes, send: object = None) -> SliceReport:
    """Return the slice of the kernel that `order` names, the files it imports, and the facts.

    Raises `Failure`: `syntax_error`, `unknown_kernel`, `ambiguous_kernel`.
    """
    del send
    started = perf_counter()
    files = order.files
    source = _read(body, files, tuned=order.tuned)
    names = [function.name for function in source.functions]
    if order.inspect:
        names += posted_files.jit_functions(source.tree, files)
    others = {name: index for index, name in enumerate(dict.fromkeys(names))}
    stated = {f.name: facts(f, others, source.aliases) for f in source.functions}
    counts = Counter(names)
    for name, known in stated.items():
        known["certain"] = counts[name] == 1 or _is_defined_plainly(name, source)
    report = SliceReport(facts={"kernels": list(stated.values())})
    if order.inspect:
        helpers = posted_files.helpers(source.tree, files)
        proposals = Proposals(source.tree, source.functions, source.aliases, helpers)
        for name, known in stated.items():
            known["blanked"] = _blanked(source, name)
            proposals.add_to(known)
    else:
        report = replace(report, **_slice(source, order.kernel, order.functions, files))
    return replace(report, ms=round((perf_counter() - started) * 1000, 3))


def _blanked(source: _Source, kernel: str) -> list[list[int]]:
    found = blanking.reach(source.outline, source.effects, [kernel])
    if found.opaque:
        return []
    kept = blanking.blank(source.lines, found.units) or source.lines
    kept = blanking.without(kept, _left_out(found.units))
    return blanking.blanked_ranges(source.lines, kept)


def _left_out(units: list[Unit], *, foreign_only: bool = False) -> list[tuple[int, int]]:
    return [
        (item.first_line, item.last_line)
        for unit in units
        for item in unit.left_out
        if item.foreign or not foreign_only
    ]


def _read(body: bytes, files: dict[str, str], *, tuned: bool) -> _Source:
    try:
        posted = body.decode()
    except UnicodeDecodeError as error:
        message = f"the source is not UTF-8: {error.reason} at byte {error.start}"
        raise Failure("syntax_error", "request", message) from error
    text = syntax_errors.text_of(posted)
    tree = syntax_errors.parse(text)
    lines = text.split("\n")
    aliases = Aliases(tree)
    is_foreign = is_foreign_decorator(tree, files)
    outlined = outline(tree, lines, aliases, is_foreign, tuned=tuned)
    effects = Effects(outlined, aliases, files)
    return _Source(tree, lines, outlined, aliases, _jit_functions(tree, aliases), effects)


def _jit_functions(tree: ast.Module, aliases: Aliases) -> list[JitFunction]:
    """Return the decorated functions, and those made by `name = triton.jit(function)`."""
    found: list[JitFunction] = []
    plain: dict[str, ast.FunctionDef] = {}
    for node in module_level(tree.body):
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


def _is_defined_plainly(name: str, source: _Source) -> bool:
    """Return whether the last of several definitions is the kernel, as nothing decides it."""
    return all(len(unit.nodes) == 1 and unit.defines for unit in source.effects.binding(name))


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
        kernel = kernel_choice.only_kernel(functions, source.lines)
    if not _is_made_here(kernel, source):
        why = _made_unseen(kernel, source)
        if why is None:
            raise kernel_choice.unknown_kernel(
                kernel, source.functions, source.outline, source.lines, source.aliases
            )
        return _whole(kernel, source, files, why)
    found = blanking.reach(source.outline, source.effects, [str(kernel), *passed])
    kept = None if found.opaque else blanking.blank(source.lines, found.units)
    if kept is None:
        return _whole(kernel, source, files, _reason_for_whole(found), found)
    text = "\n".join(blanking.without(kept, _left_out(found.units)))
    wanted = kept != source.lines and whole_text.is_wanted(source.outline, source.effects)
    return {
        "kernel": kernel,
        "slice": text,
        "files": reached_files("\n".join(source.lines) if wanted else text, files),
        "touched": _touched(found),
        "whole": False,
        "whole_module": "\n".join(source.lines) if wanted else None,
        **_assumption_report(source, found, found.units),
    }


def _reason_for_whole(found: blanking.SliceReach) -> str:
    if found.opaque:
        return f"it uses {', '.join(sorted(found.opaque))}, which can see every name"
    return "it shares its lines with other code"


def _touched(found: blanking.SliceReach) -> dict[str, list[str]]:
    """Return, by line, the names of the kernel's that a statement certainly changes in place."""
    changed = {
        str(node.lineno): sorted(found.changed[id(unit)])
        for unit in found.units
        for node in unit.nodes
        if found.changed.get(id(unit))
    }
    return dict(sorted(changed.items()))


def _assumption_report(
    source: _Source, found: blanking.SliceReach | None, units: list[Unit]
) -> dict[str, list[Any]]:
    """Return the assumptions about omitted statements, and a warning for each."""
    made = _assumptions(source, found, units)
    spans = [(Span(USER_FILE, line), message) for line, message in made]
    return {
        "assumptions": [Assumption(s.file, s.line, text) for s, text in spans],
        "notes": [
            diagnostic("warning", "request", text, span=s, excerpt=excerpt(source.lines, s))
            for s, text in spans
        ],
    }


def _assumptions(
    source: _Source, found: blanking.SliceReach | None, units: list[Unit]
) -> list[tuple[int, str]]:
    """Return the line and the words of what leaving things out assumes."""
    made = [
        (item.node.lineno, f"the decorator @{ast.unparse(item.node)[:100]} is not here: the kernel "
         "under it is taken as it is written")
        for unit in units
        for item in unit.left_out
        if item.foreign
    ]  # fmt: skip
    names = found.names - blanking.BUILTINS if found else frozenset()
    made += [
        (unit.left_out[0].node.lineno, "what a further file computes for a decorator above "
         "@triton.jit is assumed to change nothing that the kernel sees")
        for unit in units
        if source.effects.calls_posted(unit.unread)
    ]  # fmt: skip
    last = {name: unit.last_line for unit in source.outline.units for name in unit.binds}
    earliest = min((last.get(name, 0) for name in names), default=len(source.lines))
    for unit, module in blanking.foreign_stars(source.outline.units, source.effects):
        if earliest < unit.first_line:
            message = f"what `from {module} import *` brings is not known: nothing of the kernel's"
            made.append((unit.first_line, message))
    return sorted(made)


def _is_made_here(kernel: str | None, source: _Source) -> bool:
    """Return whether a kernel is a jit function of the text, or the value of one of its names."""
    if kernel in {function.name for function in source.functions}:
        return True
    units = source.outline.units
    if any(kernel in unit.reading.later_binds for unit in units):
        return True
    binding = [node for unit in units if kernel in unit.binds for node in unit.nodes]
    return any(_may_make_kernel(node) for node in binding)


def _may_make_kernel(node: ast.stmt) -> bool:
    """Return whether a statement's binding can be a kernel, although no jit is visible."""
    if isinstance(node, ast.FunctionDef):
        return bool(node.decorator_list)
    return not isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef))


def _made_unseen(kernel: str | None, source: _Source) -> str | None:
    """Return why a kernel that the text does not bind may exist all the same, or `None`."""
    reads = {mention.name for unit in source.outline.units for mention in unit.mentions}
    hidden = reads & {"globals", "exec", "eval", "setattr"}
    if hidden and any("jit" in line for line in source.lines):
        return f"{kernel or 'the kernel'} may be made through {', '.join(sorted(hidden))}"
    nested = kernel_choice.nested(source.outline, source.aliases)
    if kernel in nested or (kernel is None and nested):
        return f"the kernel is made inside {nested[kernel or next(iter(nested))]}"
    stars = [module for unit in source.outline.units for module in star_imports(unit)]
    if kernel is not None and stars:
        return f"{kernel} may come from {stars[0]}"
    return None


def _whole(
    kernel: str | None,
    source: _Source,
    files: dict[str, str],
    why: str,
    found: blanking.SliceReach | None = None,
) -> dict[str, Any]:
    """Return the whole text, but for decorators that change no kernel."""
    message = f"the source was not cut down to its kernel, so all of it was executed: {why}"
    note = diagnostic("note", "request", message)
    units = source.outline.units
    matters = found is not None and blanking.DECORATOR in found.opaque
    blanked = _left_out(units, foreign_only=matters)
    assumed = _assumption_report(source, found, units)
    return {
        "kernel": kernel,
        "slice": "\n".join(blanking.without(source.lines, blanked)),
        "files": files,
        "touched": _touched(found) if found else {},
        "whole": True,
        "whole_module": None,
        **assumed,
        "notes": [note, *assumed["notes"]],
    }
