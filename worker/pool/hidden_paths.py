"""Hides the paths of this installation from user code, which may not read its files anyway.

A zygote gives all code and modules the paths of a fixed, invented tree, except those of
Triton, which children that run its tools need. A child that runs user code, or reads it,
forgets that too, and the paths of the interpreter. What Triton's own objects hold, such as the path
of ptxas, stays theirs. Standard library only.
"""

import _imp
import gc
import linecache
import site
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from types import FunctionType, ModuleType
from typing import Any

from worker.code_digest import ROOT

PYTHON, TRITON, OURS = "/python", "/triton", "/tritond"
"""Visible paths: the interpreter with its libraries, Triton's package, and tritond."""

_OF_SYS: Mapping[str, object] = {
    "argv": [""],
    "orig_argv": ["python"],
    "path": [f"{PYTHON}/lib"],
    "executable": f"{PYTHON}/bin/python",
    "_base_executable": f"{PYTHON}/bin/python",
    "prefix": PYTHON,
    "base_prefix": PYTHON,
    "exec_prefix": PYTHON,
    "base_exec_prefix": PYTHON,
    "_stdlib_dir": f"{PYTHON}/lib",
    "pycache_prefix": None,
    "_home": None,
}
_PARTS = ("__spec__", "__loader__", "__path__", "module_finder")
"""Attributes of modules whose objects hold paths too."""
_MAX_ITEMS = 5000

_Change = tuple[dict[str, Any], str, Any]  # whose, which, the value that is shown


class HiddenPaths:
    """The paths to hide, found once before the forks."""

    def __init__(self) -> None:
        self._shown = _shown_roots()
        self._changes: list[_Change] = []

    def hide_code(self) -> None:
        """Give the code of every function its invented file name, here and in all children."""
        for thing in gc.get_objects():
            if type(thing) is FunctionType:
                shown = self._of(thing.__code__.co_filename)
                if shown is not None:
                    _imp._fix_co_filename(thing.__code__, shown)  # type: ignore[attr-defined]
        for path, entry in list(linecache.cache.items()):
            shown = self._of(path)
            if shown is not None:
                del linecache.cache[path]
                if len(entry) == 4:  # its lines are there
                    linecache.cache[shown] = (*entry[:3], shown)

    def prepare(self) -> None:
        """Hide the paths that modules hold, and find those that only children will hide: Triton's.

        Nothing but Triton is imported afterwards. To hide a path copies a page in a child.
        """
        modules = [thing for thing in gc.get_objects() if isinstance(thing, ModuleType)]
        changes = [change for module in modules for change in self._of_module(module)]
        self._changes = [change for change in changes if self._is_of_triton(change)]
        _make([change for change in changes if not self._is_of_triton(change)])
        sys.path_importer_cache.clear()

    def drop(self) -> None:
        """Forget the real paths, in this process, for good."""
        _make(self._changes)
        for name, value in _OF_SYS.items():
            if hasattr(sys, name):
                setattr(sys, name, value)
        sys.path_importer_cache.clear()
        self._shown = []

    def _of_module(self, module: ModuleType) -> Iterator[_Change]:
        if module is sys:
            return
        yield from self._of_names(vars(module))
        for part in (vars(module).get(name) for name in _PARTS):
            yield from self._of_part(part)

    def _is_of_triton(self, change: _Change) -> bool:
        """Return True if the hidden path is in Triton's folder."""
        owner, name, _ = change
        return any(shown == TRITON and root in str(owner[name]) for root, shown in self._shown)

    def _of_names(self, names: dict[str, Any]) -> Iterator[_Change]:
        for name, value in list(names.items()):
            shown = self._of_value(value)
            if shown is not None:
                yield names, name, shown
            elif type(value) is dict and len(value) < _MAX_ITEMS and value is not names:
                inner = ((key, self._of_value(item)) for key, item in list(value.items()))
                yield from ((value, key, item) for key, item in inner if item is not None)

    def _of_part(self, part: object) -> Iterator[_Change]:
        if hasattr(part, "__dict__"):
            yield from self._of_names(vars(part))
            yield from self._of_part(vars(part).get("submodule_search_locations"))

    def _of_value(self, value: object) -> Any:
        if type(value) is str:
            return self._of(value)
        if isinstance(value, PurePath):
            shown = self._of(str(value))
            return None if shown is None else type(value)(shown)
        if type(value) is list and 0 < len(value) < _MAX_ITEMS:
            items = [self._of_value(item) for item in value]
            if any(item is not None for item in items):
                pairs = zip(items, value, strict=True)
                return [old if new is None else new for new, old in pairs]
        return None

    def _of(self, path: str) -> str | None:
        """Return what is shown in place of a text, None for one without our paths."""
        hidden = path
        for root, shown in self._shown:
            if root in hidden:
                hidden = hidden.replace(root, shown)
        return None if hidden == path else hidden


def _make(changes: Iterable[_Change]) -> None:
    for owner, name, shown in changes:
        owner[name] = shown


def _shown_roots() -> list[tuple[str, str]]:
    """Return the folders of this installation, the innermost first, and what is shown for each."""
    roots = {str(ROOT): OURS}
    triton = sys.modules.get("triton")
    if triton is not None and triton.__file__:
        roots[str(Path(triton.__file__).parent)] = TRITON
    libraries = [*sys.path, *site.getsitepackages(), str(Path(site.__file__).parent)]
    for folder in (*libraries, sys.prefix, sys.base_prefix, str(Path(sys.executable).parent)):
        if folder.count("/") > 1:  # not the whole of / or /usr
            roots.setdefault(folder.rstrip("/"), PYTHON)
    return sorted(roots.items(), key=lambda pair: -len(pair[0]))
