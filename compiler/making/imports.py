"""What to do about an import that did not work: which file it asks for, or what a posted one has.

Reads texts only; nothing is imported here.
"""

from __future__ import annotations

import ast
import linecache

from compiler.excerpt import KERNEL_FOLDER, file_in_kernel
from compiler.making.files import PACKAGE
from compiler.making.module import Dropped
from compiler.making.suggestions import closest

_BEYOND_TOP = "beyond top-level package"
_MOST_NAMES = 8
_ALIKE_IN_A_FILE = 0.66  # few names, so one that is only somewhat like it is meant


def missing_module(dropped: Dropped, module: str) -> str:
    """Return advice on a module (its dotted name) that is neither installed nor posted."""
    wanted = _asked(dropped, module).replace(".", "/") + ".py"
    return f'Post its file in `files` as "{wanted}", or put what is needed into the source.'


def missing_name(error: ImportError) -> str | None:
    """Return advice on a module that is there and lacks the name, or on dots that lead nowhere."""
    if _BEYOND_TOP in str(error):
        return (
            "`source` is at the top of what was posted, so `from ..x import y` leads out of it: "
            "write one dot, and post the module in `files` under the path from there."
        )
    file = file_in_kernel(error.path or "")
    if file is None:
        return "Check the name; other versions of Triton may have it elsewhere."
    names = _defined(file)
    wanted = str(error).partition("cannot import name '")[2].partition("'")[0]
    meant = closest(wanted, names, alike=_ALIKE_IN_A_FILE)
    if meant:
        return f"Did you mean {meant!r}? {file} defines it."
    return f"{file} defines {', '.join(names[:_MOST_NAMES]) or 'nothing'}."


def _asked(dropped: Dropped, module: str) -> str:
    """Return the whole module that the statement asks for, from the top of what was posted."""
    top = module.removeprefix(f"{PACKAGE}.")
    for node in _statements(dropped.path):
        if node.lineno != dropped.line:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            return node.module
        if isinstance(node, ast.Import):
            asked = (alias.name for alias in node.names)
            return next((name for name in asked if f"{name}.".startswith(f"{top}.")), top)
    return top


def _statements(path: str) -> list[ast.stmt]:
    return ast.parse("".join(linecache.getlines(path))).body


def _defined(file: str) -> list[str]:
    names: dict[str, None] = {}
    for node in _statements(KERNEL_FOLDER + file):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = None
        elif isinstance(node, ast.Assign):
            names |= {target.id: None for target in node.targets if isinstance(target, ast.Name)}
    return list(names)
