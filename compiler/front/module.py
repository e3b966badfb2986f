"""Loads user code as Python imports modules, from the request's texts, without any file.

Runs user Python, so only children that are thrown away may use it. A statement that asks for what
is not here (another package, a GPU, a file) is left out and told; one that would fail anywhere ends
the module, as in Python.
"""

from __future__ import annotations
import __future__

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from compiler.back import triton_api
from compiler.diagnostic import KERNEL_FOLDER, Assumption
from compiler.front.environment import (
    Assumptions,
    MissingModules,
    is_lacking,
    notice_attempts,
)
from compiler.front.stubs import driver_stub, triton_modules
from compiler.front.stubs.torch_stub import StandIns
from compiler.slice.posted_files import package_of, root_package
from compiler.slice.scopes import stored

MODULE = "user"
_ANSWER_NAME = " answer"
"""No name of Python's, so that nobody's is hidden."""


@dataclass(frozen=True)
class Dropped:
    """A statement that raised and was left out, with the names it would have defined."""

    path: str
    line: int
    names: frozenset[str]
    error: Exception


@dataclass(frozen=True)
class Loaded:
    """The user's module, the statements that it does without, and the one that ended it, if any."""

    module: types.ModuleType
    dropped: Sequence[Dropped]
    failed: Dropped | None = None
    assumptions: Assumptions = field(default_factory=Assumptions)

    @property
    def is_conclusive(self) -> bool:
        """Whether all was executed as Python would, no stand-in having had a part in it."""
        imports_only = all(isinstance(item.error, ImportError) for item in self.dropped)
        return imports_only and not self.assumptions.touches


@dataclass(frozen=True)
class _ExecutionScope:
    """Where statements are run: the module, its path, its future features, whether in a `try`."""

    module: types.ModuleType
    path: str
    flags: int
    tried: bool


class _Failed(BaseException):
    """Ends the loading; `dropped` says which statement failed for good."""

    def __init__(self, dropped: Dropped) -> None:
        super().__init__()
        self.dropped = dropped


class PostedFiles(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the request's further files as if they lay in the folder /kernel."""

    def __init__(self, files: Mapping[str, str], root: str, loading: _Loading) -> None:
        self._files = files
        self._root = root
        self._loading = loading

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return the spec of a module that one of the files holds, else `None`.

        The package that stands for the folder itself is there for relative imports.
        """
        del path, target
        if fullname == self._root:
            return self._spec(fullname, None, [KERNEL_FOLDER.rstrip("/")])
        folder = fullname.removeprefix(f"{self._root}.").replace(".", "/")
        if f"{folder}/__init__.py" in self._files:
            return self._spec(fullname, f"{folder}/__init__.py", [KERNEL_FOLDER + folder])
        if f"{folder}.py" in self._files:
            return self._spec(fullname, f"{folder}.py", None)
        if any(name.startswith(f"{folder}/") for name in self._files):
            return self._spec(fullname, None, [KERNEL_FOLDER + folder])
        return None

    def _spec(self, fullname: str, file: str | None, folders: list[str] | None) -> Any:
        if file is None:
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        else:
            path = KERNEL_FOLDER + file
            spec = importlib.machinery.ModuleSpec(
                fullname, self, origin=path, is_package=folders is not None
            )
            spec.has_location = True
        if folders is not None:
            spec.submodule_search_locations = folders
        return spec

    def get_source(self, fullname: str) -> str:
        """Return a module's text."""
        path = str(sys.modules[fullname].__file__)
        return importlib.util.decode_source(self.get_data(path))

    def get_data(self, path: Any) -> bytes:
        """Return a file's bytes. Raises `OSError` for one that was not posted."""
        name = str(path).removeprefix(KERNEL_FOLDER)
        if name not in self._files:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return self._files[name].encode()

    def exec_module(self, module: types.ModuleType) -> None:
        """Run a file, statement by statement."""
        path = str(module.__file__)
        self._loading.run(module, self.get_data(path), path)


class _Loading:
    """What one load has come to: the statements left out, and the names that are missing by it."""

    def __init__(self, assumptions: Assumptions) -> None:
        self.assumptions = assumptions
        self.dropped: list[Dropped] = []
        self.missing: set[str] = set()
        self._tried: dict[str, list[tuple[int, int]]] = {}

    def run(self, module: types.ModuleType, data: bytes, path: str) -> None:
        """Run a module's statements in order.

        Raises `SyntaxError`, what a statement raised that would raise anywhere, and, inside of a
        `try` of the user's, whatever is raised.
        """
        text = importlib.util.decode_source(data)
        lines = [f"{line}\n" for line in text.split("\n")]
        linecache.cache[path] = (len(text), None, lines, path)  # no mtime: never looked for on disk
        tree = ast.parse(data, path)
        tried = self._is_tried()
        self._tried[path] = [_body_of(node) for node in ast.walk(tree) if isinstance(node, ast.Try)]
        flags = _future_flags(tree)
        module.__doc__ = ast.get_docstring(tree, clean=False)
        self._run_all(tree.body, _ExecutionScope(module, path, flags, tried))

    def _run_all(self, body: list[ast.stmt], place: _ExecutionScope) -> None:
        for statement in _one_import_each(body):
            if isinstance(statement, ast.If):
                self._run_if(statement, place)
                continue
            self._run_one(statement, place)
            triton_modules.stand_in(statement, place.module.__dict__)

    def _run_if(self, statement: ast.If, place: _ExecutionScope) -> None:
        """Run an `if` part by part, so that what is lacking in it takes only itself away."""
        truth = ast.IfExp(statement.test, ast.Constant(True), ast.Constant(False))
        asks = ast.Assign([ast.Name(_ANSWER_NAME, ast.Store())], truth)
        placed = ast.fix_missing_locations(ast.copy_location(asks, statement))
        self._run_one(placed, place, loses=stored([statement]))
        known = place.module.__dict__
        if _ANSWER_NAME in known:
            self._run_all(statement.body if known.pop(_ANSWER_NAME) else statement.orelse, place)

    def _run_one(
        self, statement: ast.stmt, place: _ExecutionScope, *, loses: Collection[str] | None = None
    ) -> None:
        """Run a statement; `loses` are the names that are missing when it is left out."""
        module, path = place.module, place.path
        program = ast.Module([statement], type_ignores=[])
        code = compile(program, path, "exec", flags=place.flags, dont_inherit=True)
        touches = self.assumptions.touches
        try:
            exec(code, module.__dict__)  # noqa: S102 - the child exists to do this
        except (MemoryError, _Failed):
            raise
        except BaseException as error:
            if place.tried:
                raise
            if isinstance(error, ImportError) and (apart := _apart(statement)):
                for part in apart:
                    self._run_one(part, place)
                return
            dropped = _dropped(path, statement, error, loses)
            touched = self.assumptions.touches != touches
            if not touched and not is_lacking(error, self.missing):
                if module.__name__ != MODULE and not isinstance(error, SystemExit):
                    raise
                raise _Failed(dropped) from error
            self.dropped.append(dropped)
            self.missing |= dropped.names
            for name in dropped.names:
                module.__dict__.pop(name, None)

    def _is_tried(self) -> bool:
        """Return whether a `try` of the user's is around what is executed now."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            for first, last in self._tried.get(frame.f_code.co_filename, ()):
                if first <= frame.f_lineno <= last:
                    return True
            frame = frame.f_back
        return False


@contextmanager
def launching_nothing(kinds: Sequence[Any], launched: Callable[[], None]) -> Iterator[None]:
    """Let launches in the block do nothing but call `launched`: nothing is run while loading."""

    def run(*_: Any, **__: Any) -> None:
        launched()

    originals = [(kind, kind.run) for kind in kinds]
    for kind in kinds:
        kind.run = run
    try:
        yield
    finally:
        for kind, original in originals:
            kind.run = original


def load(
    text: str, files: Mapping[str, str], *, name: str = MODULE, interpreted: Sequence[Any] = ()
) -> Loaded:
    """Load `text` as the module `name` of `/kernel/<name>.py`, its imports coming from `files`.

    `interpreted` are further classes of kernels, whose launches do nothing either.
    """
    _forget_earlier()
    assumptions = Assumptions()
    loading = _Loading(assumptions)
    root = root_package(files)
    finder = PostedFiles({**files, f"{name}.py": text}, root, loading)
    sys.meta_path.insert(0, finder)
    sys.meta_path += [StandIns(assumptions), MissingModules(assumptions)]
    path = f"{KERNEL_FOLDER}{name}.py"
    module = importlib.util.module_from_spec(finder.find_spec(name, None))
    module.__package__ = package_of(text, files, root)
    sys.modules[name] = module
    failed = None
    launchable = (*triton_api.LAUNCHABLE, *interpreted)
    notice_attempts(assumptions)
    with driver_stub.telling(assumptions), launching_nothing(launchable, assumptions.touch):
        try:
            loading.run(module, finder.get_data(path), path)
        except _Failed as ended:
            failed = ended.dropped
    for dropped in loading.dropped:
        _note(dropped, assumptions)
    return Loaded(module, loading.dropped, failed, assumptions)


def _forget_earlier() -> None:
    """Take away what an earlier load of this process left: its finders, and their modules."""
    ours = (PostedFiles, StandIns, MissingModules)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ours)]
    for name, module in list(sys.modules.items()):
        if isinstance(getattr(getattr(module, "__spec__", None), "loader", None), ours):
            del sys.modules[name]


def _note(dropped: Dropped, assumptions: Assumptions) -> None:
    """Say what leaving a statement out assumes, in place of what was noted on its line."""
    file = dropped.path.removeprefix(KERNEL_FOLDER)
    said = [item for item in assumptions.made if (item.file, item.line) != (file, dropped.line)]
    assumptions.made[:] = said
    if isinstance(dropped.error, ImportError):
        what = f"{dropped.error}; it was left out, as the kernel needs nothing of it"
    else:
        told = f"{type(dropped.error).__name__}: {dropped.error}"[:300]
        what = f"this statement cannot be executed here ({told}): it is assumed not to matter"
    assumptions.add(Assumption(file, dropped.line, what))


def _body_of(node: ast.Try) -> tuple[int, int]:
    return node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno


def _one_import_each(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Split imports of several things, so that a missing one does not take the others with it."""
    for statement in body:
        if isinstance(statement, ast.Import) and len(statement.names) > 1:
            for alias in statement.names:
                yield ast.copy_location(ast.Import([alias]), statement)
        elif isinstance(statement, ast.ImportFrom) and len(statement.names) > 1:
            yield from triton_modules.one_by_one(statement)
        else:
            yield statement


def _apart(statement: ast.stmt) -> list[ast.ImportFrom]:
    """Return an import of several names as one import for each."""
    if not isinstance(statement, ast.ImportFrom) or len(statement.names) == 1:
        return []
    parts = [ast.ImportFrom(statement.module, [a], statement.level) for a in statement.names]
    return [ast.copy_location(part, statement) for part in parts]


def _future_flags(tree: ast.Module) -> int:
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    names = {alias.name for node in imports if node.module == "__future__" for alias in node.names}

    features = (getattr(__future__, name, None) for name in names)
    flags = 0
    for feature in features:
        flags |= getattr(feature, "compiler_flag", 0)
    return flags


def _dropped(
    path: str, statement: ast.stmt, error: BaseException, loses: Collection[str] | None
) -> Dropped:
    kept = _speakable(error).with_traceback(error.__traceback__)
    names = stored([statement]) if loses is None else loses
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
