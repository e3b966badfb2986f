"""Loads a program from sources in memory, as Python loads files. Runs user code."""

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
import types
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from compiler.diagnostic import KERNEL_FOLDER
from compiler.posted_text import lines_of, python_text
from compiler.reading.posted_files import package_of, root_package
from programs.recorder.kernel_definitions import as_loaded

MODULE = "user"
"""The name of the module and file of a program's own source."""


class ProgramFiles(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a program's modules among its sources, as if these were files of one folder."""

    def __init__(self, source: str, files: Mapping[str, str]) -> None:
        self._files = {**files, f"{MODULE}.py": source}
        self._loaded: dict[str, str] = {}
        self._replaced: dict[str, types.ModuleType] = {}
        self.globals_loaded: dict[int, Mapping[str, Any]] = {}
        """The globals of each module after loading, and its closures; see `as_loaded`."""
        self._root = root_package(files)
        self._package = package_of(source, files, self._root)
        for name, text in self._files.items():
            self._remember(KERNEL_FOLDER + name, text)

    @property
    def paths(self) -> Collection[str]:
        """The files, as in `co_filename` of their code."""
        return [KERNEL_FOLDER + name for name in self._files]

    def load(self, name: str = "user") -> types.ModuleType:
        """Run the program's own source as the module `name`. Raises its exceptions."""
        sys.meta_path.insert(0, self)
        return self._run(name, f"{MODULE}.py", self._package)

    def forget(self) -> None:
        """Remove the program's modules, and restore `__main__`, which a script replaces."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name, module in list(sys.modules.items()):
            if getattr(module, "__loader__", None) is self:
                del sys.modules[name]
        sys.modules.update(self._replaced)
        for path in self.paths:
            linecache.cache.pop(path, None)

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return the spec of a module or package of the program, else None."""
        del path, target
        if fullname == self._root:
            return self._spec(fullname, None, KERNEL_FOLDER.rstrip("/"))
        folder = fullname.removeprefix(f"{self._root}.").replace(".", "/")
        if f"{folder}/__init__.py" in self._files:
            return self._spec(fullname, f"{folder}/__init__.py", KERNEL_FOLDER + folder)
        if f"{folder}.py" in self._files:
            return self._spec(fullname, f"{folder}.py", None)
        if any(name.startswith(f"{folder}/") for name in self._files):
            return self._spec(fullname, None, KERNEL_FOLDER + folder)
        return None

    def get_source(self, fullname: str) -> str:
        """Return a module's source. Raises `ImportError` for a module that is not loaded."""
        if fullname not in self._loaded:
            raise ImportError(f"module {fullname} is not loaded")
        return self._loaded[fullname]

    def exec_module(self, module: types.ModuleType) -> None:
        """Run a source as a module."""
        path = str(module.__file__)
        text = self._files[path.removeprefix(KERNEL_FOLDER)]
        self._loaded[module.__name__] = text
        program = compile(python_text(text, path), path, "exec", dont_inherit=True)
        exec(program, module.__dict__)  # noqa: S102
        self.globals_loaded.update(as_loaded(module.__dict__))

    def _run(self, name: str, file: str, package: str) -> types.ModuleType:
        module = importlib.util.module_from_spec(self._spec(name, file, None))
        module.__package__ = package
        if name in sys.modules:
            self._replaced.setdefault(name, sys.modules[name])
        sys.modules[name] = module
        self.exec_module(module)
        return module

    def _spec(self, fullname: str, file: str | None, folder: str | None) -> Any:
        loader = None if file is None else self
        origin = None if file is None else KERNEL_FOLDER + file
        spec = importlib.machinery.ModuleSpec(
            fullname, loader, origin=origin, is_package=folder is not None
        )
        spec.has_location = file is not None
        if folder is not None:
            spec.submodule_search_locations = [folder]
        return spec

    def _remember(self, path: str, text: str) -> None:
        """Give tracebacks and `inspect` the lines of a source, as there is no file."""
        with suppress(SyntaxError):  # loading raises it
            linecache.cache[path] = (len(text), None, lines_of(python_text(text)), path)
