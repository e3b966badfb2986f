"""Triton's own modules, where a package passes them on: `from package.compat import tl, triton`.

Such packages probe the machine first and hand out empty stand-ins where there is no GPU; nothing
compiles with those, so the names mean Triton's modules here. What a posted file really defines
under such a name stays what it is. Decides nothing else.
"""

from __future__ import annotations

import ast
import importlib
import sys
import types
from typing import Any

from compiler.making import toolchain

MODULES = {
    "triton": "triton",
    "tl": "triton.language",
    "tldevice": "triton.language.extra.libdevice",
    "libdevice": "triton.language.extra.libdevice",
    "tl_extra_shim": "triton.language.extra.libdevice",
    "gluon": "triton.experimental.gluon",
    "gl": "triton.experimental.gluon.language",
}


def module_of(node: ast.ImportFrom, alias: ast.alias) -> str | None:
    """Return the module of Triton's that an alias of an import from elsewhere means, if any."""
    if not node.level and (node.module or "").partition(".")[0] == "triton":
        return None
    return MODULES.get(alias.name)


def one_by_one(node: ast.ImportFrom) -> list[ast.ImportFrom]:
    """Split `from a import b, tl`, so that what a package lacks does not take `tl` with it."""
    passed_on = [alias for alias in node.names if module_of(node, alias)]
    others = [alias for alias in node.names if alias not in passed_on]
    groups = [[alias] for alias in passed_on] + ([others] if others else [])
    return [
        ast.copy_location(ast.ImportFrom(node.module, names, node.level), node) for names in groups
    ]


def stand_in(statement: ast.stmt, namespace: dict[str, Any]) -> frozenset[str]:
    """Bind Triton's modules where `statement` imported something else under their names, or failed.

    Returns the names that were bound.
    """
    bound = set()
    for alias in statement.names if isinstance(statement, ast.ImportFrom) else []:
        assert isinstance(statement, ast.ImportFrom)
        module, name = module_of(statement, alias), alias.asname or alias.name
        if module is not None and not is_real(namespace.get(name)):
            namespace[name] = importlib.import_module(module)
            bound.add(name)
    return frozenset(bound)


def is_real(value: object) -> bool:
    """Return whether a value is what somebody wanted there, not something made to stand there.

    That is a module as Python imported it, and whatever a kernel can use: constants, functions,
    types; of classes those that hold such things.
    """
    if isinstance(value, types.ModuleType):
        return sys.modules.get(value.__name__) is value
    if isinstance(value, type):
        return any(_is_usable(item) for name, item in vars(value).items() if name[:2] != "__")
    return _is_usable(value)


def _is_usable(value: object) -> bool:
    return isinstance(value, (*toolchain.USABLE, types.FunctionType))
