"""Finds the functions of Python files that kernels of these files call, and that are launched.

Imports are followed by their text: nothing is imported or executed.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tritonc.packages.module_place import RESERVED, place_of
from tritonc.packages.module_sources import FolderModules, ModuleText, parsed, read_text

_MAX_STEPS = 200
"""The most names that one name is followed through, by imports and assignments."""
_JIT = re.compile(r"\bjit\b")
_LAUNCH = re.compile(r"\]\s*\(|\.warmup\b")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

FunctionName = tuple[Path, str]
"""The resolved path of a file, and a function's name in it."""


@dataclass(frozen=True, slots=True)
class JitUses:
    """The functions that kernels read or get as arguments, and those that are launched."""

    called: frozenset[FunctionName]
    launched: frozenset[FunctionName]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "JitUses":
        """Return the uses in these files, of functions in any file that their imports find."""
        texts = _Texts()
        called: set[FunctionName] = set()
        launched: set[FunctionName] = set()
        for path in (path.resolve() for path in paths):
            text = texts.text(path)
            if _JIT.search(text) or _LAUNCH.search(text):
                file = texts.file(path)
                called |= texts.followed(path, file.read_by_kernels)
                called |= texts.followed(path, file.passed)
                launched |= texts.followed(path, file.launched)
        return cls(frozenset(called), frozenset(launched))

    def is_called(self, path: Path, name: str) -> bool:
        """Return whether a kernel calls this function."""
        return (path.resolve(), name) in self.called

    def is_launched(self, path: Path, name: str) -> bool:
        """Return whether one of the files launches this function."""
        return (path.resolve(), name) in self.launched


class _Texts:
    """The files that were looked at."""

    def __init__(self) -> None:
        self._texts: dict[Path, str] = {}
        self._files: dict[Path, _File] = {}

    def text(self, path: Path) -> str:
        """Return the text of a file, "" if it cannot be read: who reads its kernels reports it."""
        if path not in self._texts:
            try:
                self._texts[path] = read_text(path)
            except OSError:
                self._texts[path] = ""
        return self._texts[path]

    def file(self, path: Path) -> "_File":
        """Return the names in a file."""
        if path not in self._files:
            text = self.text(path)
            place = place_of(path, text)
            folders = FolderModules(place, [Path.cwd()], self.text)
            self._files[path] = _File(parsed(text), place.name.split(".")[:-1], folders)
        return self._files[path]

    def followed(self, path: Path, names: Iterable[str]) -> set[FunctionName]:
        """Return the names that dotted names in a file may mean, there and in files it imports."""
        followed: set[FunctionName] = set()
        for name in names:
            met: set[FunctionName] = set()
            waiting = [(path, name)]
            while waiting and len(met) < _MAX_STEPS:
                at = waiting.pop()
                if at not in met:
                    met.add(at)
                    waiting += self._behind(*at)
            followed |= met
        return followed

    def _behind(self, path: Path, name: str) -> Iterator[FunctionName]:
        """Yield the names that a name is assigned or imported from."""
        file = self.file(path)
        head, dot, rest = name.partition(".")
        for value in file.assigned.get(head, ()):
            yield path, value + dot + rest
        imported = [f"{origin}{dot}{rest}" for origin in file.imported.get(head, ())]
        if head not in file.defined:
            imported += [f"{module}.{name}" for module in file.starred]
        for full in imported:
            yield from self._in_module(file, full.split("."))

    def _in_module(self, file: "_File", parts: list[str]) -> Iterator[FunctionName]:
        """Yield the file of the longest module at the start of a dotted name, and the rest."""
        if parts[0] in RESERVED:
            return
        for count in range(len(parts) - 1, 0, -1):
            module = file.module(".".join(parts[:count]))
            if module is not None and module.path is not None:
                yield module.path.resolve(), ".".join(parts[count:])
                return


class _File:
    """The names in a file: where they come from, and how kernels and launches use them."""

    def __init__(self, tree: ast.AST, package: list[str], folders: FolderModules) -> None:
        self._nodes = [*ast.walk(tree)]
        self._tree = tree
        self._folders = folders
        self._modules: dict[str, ModuleText | None] = {}
        self.imported: dict[str, list[str]] = {}
        self.starred: list[str] = []
        self.assigned: dict[str, list[str]] = {}
        self.defined: set[str] = set()
        for node in self._nodes:
            match node:
                case ast.Import():
                    for alias in node.names:
                        origin = alias.name if alias.asname else alias.name.partition(".")[0]
                        self.imported.setdefault(alias.asname or origin, []).append(origin)
                case ast.ImportFrom() if node.level <= len(package):
                    self._add_from(node, package[: len(package) - node.level + 1])
                case ast.Assign(targets=[ast.Name(id=name)]):
                    self.assigned.setdefault(name, []).extend(_meant(node.value))
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self.defined.add(name)

    def _add_from(self, node: ast.ImportFrom, above: list[str]) -> None:
        module = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
        for alias in node.names:
            if alias.name == "*":
                self.starred.append(module)
            else:
                self.imported.setdefault(alias.asname or alias.name, []).append(
                    f"{module}.{alias.name}"
                )

    def module(self, name: str) -> ModuleText | None:
        """Return the module that an import in this file finds."""
        if name not in self._modules:
            try:
                self._modules[name] = self._folders.find(name)
            except OSError:  # no file can have this name, or its folder may not be read
                self._modules[name] = None
        return self._modules[name]

    @property
    def read_by_kernels(self) -> set[str]:
        """The dotted names that jit functions read: functions, and constants."""
        calls = (node for node in self._nodes if isinstance(node, ast.Call) and node.args)
        wrapped = {_dotted(call.args[0]) for call in calls if self._is_jit(call.func)}
        functions = [node for node in self._nodes if isinstance(node, ast.FunctionDef)]
        kernels = [f for f in functions if f.name in wrapped or self._is_decorated(f)]
        return {name for kernel in kernels for name in _reads(kernel, _own_names(kernel))}

    @cached_property
    def _launches(self) -> list[tuple[ast.expr, ast.Call, frozenset[str]]]:
        """Each launch `f[grid](...)`: `f`, the call, and the names of the functions around it."""
        launches: list[tuple[ast.expr, ast.Call, frozenset[str]]] = []
        waiting: list[tuple[ast.AST, frozenset[str]]] = [(self._tree, frozenset())]
        while waiting:
            node, own = waiting.pop()
            own |= _own_names(node) if isinstance(node, _FUNCTIONS) else frozenset()
            match node:
                case (
                    ast.Call(func=ast.Subscript(value=launched))
                    | ast.Call(func=ast.Attribute(value=launched, attr="warmup"))
                ):
                    launches.append((launched, node, own))
            waiting += ((child, own) for child in ast.iter_child_nodes(node))
        return launches

    @property
    def launched(self) -> set[str]:
        """The dotted names that are launched, and those that are called to choose one."""
        return {name for node, _, _ in self._launches for name in _reads(node, frozenset())}

    @property
    def passed(self) -> set[str]:
        """The dotted names of arguments of launches: a jit function there is one to call."""
        return {
            name
            for _, call, own in self._launches
            for value in (*call.args, *(keyword.value for keyword in call.keywords))
            if (name := _dotted(value)) is not None and name.partition(".")[0] not in own
        }

    def _is_decorated(self, function: ast.FunctionDef) -> bool:
        return any(map(self._is_jit, (n for d in function.decorator_list for n in ast.walk(d))))

    def _is_jit(self, node: ast.AST) -> bool:
        head, dot, rest = (_dotted(node) or "").partition(".")
        names = (f"{origin}{dot}{rest}" for origin in self.imported.get(head, [head]))
        return any(name.rpartition(".")[2] == "jit" for name in names)


def _meant(value: ast.expr) -> Iterator[str]:
    """Yield the dotted names that an assigned expression is: `f`, or `f if fast else g`."""
    choices = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    yield from filter(None, map(_dotted, choices))


def _reads(node: ast.AST, own: frozenset[str]) -> Iterator[str]:
    """Yield the dotted names below a node whose first part is none of `own`."""
    for each in ast.walk(node):
        name = _dotted(each)
        if name is not None and name.partition(".")[0] not in own:
            yield name


def _own_names(function: ast.AST) -> frozenset[str]:
    """Return the parameters and variables of a function, and of those inside it."""
    names = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    stored = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return frozenset(names | {node.id for node in stored if isinstance(node.ctx, ast.Store)})


def _dotted(node: ast.AST) -> str | None:
    """Return `a.b.c` for such an expression, None for others."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(words)]) if isinstance(node, ast.Name) else None
