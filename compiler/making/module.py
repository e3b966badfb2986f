"""Loads user code as modules under virtual paths: statement by statement, without any file.

Runs user Python, so only the front child may use it. What it leaves in the process dies with the
child.
"""

from __future__ import annotations
import __future__

import ast
import importlib.abc
import importlib.machinery
import linecache
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.excerpt import KERNEL_FOLDER, USER_FILE
from compiler.making import reexport
from compiler.making.files import PACKAGE, package_of
from compiler.making.standin import StandIns

MODULE = "user"

_RUN_IN_WHOLE_TEXTS = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign,
    ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.With, ast.For,
)  # fmt: skip
_RUN_FOR_THEIR_EFFECT = frozenset({"exec", "setattr", "update", "setdefault", "append", "extend"})


@dataclass(frozen=True)
class Dropped:
    """A statement that raised and was left out, with the names it would have defined."""

    path: str
    line: int
    names: frozenset[str]
    error: Exception


@dataclass(frozen=True)
class Loaded:
    """The user's module and the statements that it does without."""

    module: types.ModuleType
    dropped: Sequence[Dropped]


class VirtualModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the request's further files, absolutely (`helpers`) and relatively (`.helpers`)."""

    def __init__(self, files: dict[str, str], dropped: list[Dropped]) -> None:
        self._files = files
        self._dropped = dropped

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return the spec of a module that one of the files holds, else `None`."""
        del path, target
        folder = fullname.removeprefix(f"{PACKAGE}.").replace(".", "/")
        for name, package in ((f"{folder}/__init__.py", True), (f"{folder}.py", False)):
            if name in self._files:
                return importlib.machinery.ModuleSpec(
                    fullname, self, origin=KERNEL_FOLDER + name, is_package=package
                )
        if any(name.startswith(f"{folder}/") for name in self._files):
            return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the file, statement by statement."""
        path = str(module.__spec__.origin) if module.__spec__ else ""
        text = self._files[path.removeprefix(KERNEL_FOLDER)]
        module.__file__ = path
        self._dropped += execute(text, path, module, whole=True)


def load(text: str, files: dict[str, str], *, whole: bool, name: str = MODULE) -> Loaded:
    """Load `text` as the module `name` under `/kernel/<name>.py`, its imports coming from `files`.

    `whole` marks a text that was not cut: only statements that define something are run then.
    """
    dropped: list[Dropped] = []
    sys.meta_path.insert(0, VirtualModules(files, dropped))
    sys.meta_path.append(StandIns())
    package = types.ModuleType(PACKAGE)
    package.__path__ = []
    sys.modules[PACKAGE] = package
    path = f"{KERNEL_FOLDER}{name}.py" if name != MODULE else KERNEL_FOLDER + USER_FILE
    module = types.ModuleType(name)
    module.__file__ = path
    module.__package__ = package_of(text, files)
    sys.modules[name] = module
    dropped += execute(text, path, module, whole=whole)
    return Loaded(module, dropped)


def execute(text: str, path: str, module: types.ModuleType, *, whole: bool) -> list[Dropped]:
    """Run the statements of `text` in `module`; return those that raised and were left out.

    Raises `SyntaxError` and `MemoryError` only.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    linecache.cache[path] = (len(text), None, lines, path)  # no mtime: never looked for on disk
    tree = ast.parse(text, path)
    flags = _future_flags(tree)
    dropped: list[Dropped] = []
    for statement in _one_import_each(tree.body):
        if whole and not _defines(statement):
            continue
        program = ast.Module([statement], type_ignores=[])
        code = compile(program, path, "exec", flags=flags, dont_inherit=True)
        try:
            exec(code, module.__dict__)  # noqa: S102 - the front child exists to do this
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - reported with what comes of it
            dropped.append(_dropped(path, statement, error))
        reexport.stand_in(statement, module.__dict__)
    return dropped


def _one_import_each(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Split imports of several things, so that a missing one does not take the others with it."""
    for statement in body:
        if isinstance(statement, ast.Import) and len(statement.names) > 1:
            for alias in statement.names:
                yield ast.copy_location(ast.Import([alias]), statement)
        elif isinstance(statement, ast.ImportFrom) and len(statement.names) > 1:
            yield from reexport.one_by_one(statement)
        else:
            yield statement


def _future_flags(tree: ast.Module) -> int:
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    names = {alias.name for node in imports if node.module == "__future__" for alias in node.names}

    features = (getattr(__future__, name, None) for name in names)
    flags = 0
    for feature in features:
        flags |= getattr(feature, "compiler_flag", 0)
    return flags


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return name in _RUN_FOR_THEIR_EFFECT
    return isinstance(statement, _RUN_IN_WHOLE_TEXTS)


def _dropped(path: str, statement: ast.stmt, error: BaseException) -> Dropped:
    names = {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    names |= {
        node.name
        for node in ast.walk(statement)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    names |= {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(statement)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    kept = _speakable(error).with_traceback(error.__traceback__)
    return Dropped(path, statement.lineno, frozenset(names), kept)


def _speakable(error: BaseException) -> Exception:
    """Return `error`, or one that says the same where it is none that can be told of."""
    try:
        words = str(error)
    except BaseException as raised:  # noqa: BLE001 - it is the user's own __str__
        words = f"its text cannot be made, which raised {type(raised).__name__}"
    else:
        if isinstance(error, Exception):
            return error
    return RuntimeError(f"{type(error).__name__}: {words}")
