"""The texts of modules by their dotted names: from folders, or from a running process."""

import ast
import linecache
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Protocol

from tritonc.local_file import bounded_bytes, text_of
from tritonc.packages.module_place import INIT, LIBRARIES, ModulePlace, place_of

MAX_LEVELS = 64
"""The most dots in the name of a module that a file can have."""
_DEEP_NAME = re.compile(r"(?<![\w.])(?:\w++[\s\\]*+\.[\s\\]*+)" f"{{{MAX_LEVELS}}}")

ReadText = Callable[[Path], str]
"""Returns the text of a file. Raises OSError."""


def read_text(path: Path) -> str:
    """Return the text of a Python file. Raises OSError, also for invalid encodings."""
    return text_of(bounded_bytes(path), str(path))


def parsed(text: str) -> ast.AST:
    """Return the syntax tree, an empty one for invalid Python, which the service reports.

    Also for names of more than MAX_LEVELS: no file has one, and parsing takes quadratic memory.
    """
    if _DEEP_NAME.search(text):
        return ast.Module([], [])
    try:
        with warnings.catch_warnings(action="ignore"):  # about the user's own string literals
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


@dataclass(frozen=True, slots=True)
class ModuleText:
    """The text of a module, its path in a request, and its path on this machine if it has one."""

    name: str
    text: str
    path: Path | None = None


class ModuleSources(Protocol):
    """Finds modules by their dotted names."""

    def find(self, name: str) -> ModuleText | None:
        """Return a module, None if it is not here. Raises OSError if it cannot be read."""


def parents_of(name: str) -> list[str]:
    """Return the packages around a module, the outermost first.

    Not those of libraries for which the service has stand-ins: they would hide these.
    """
    parts = name.split(".")
    if parts[0] in LIBRARIES:
        return []
    return [".".join(parts[:count]) for count in range(1, len(parts))]


class FolderModules:
    """The modules in the folders where Python would search from a file: nothing is imported.

    They are that of the file's outermost package, the file's own, and each of `further` if the file
    is below it. For torch and NumPy, it is that of this Python's own, too.
    """

    def __init__(
        self, place: ModulePlace, further: Sequence[Path] = (), read: ReadText = read_text
    ) -> None:
        self._place = place
        above = [item.resolve() for item in further]
        below = [item for item in above if place.folder.is_relative_to(item)]
        self._roots = [*dict.fromkeys([place.root, place.folder, *below])]
        self._read = read

    def find(self, name: str) -> ModuleText | None:
        """Return a module; a package is its `__init__.py`, "" for a folder without one."""
        parts = name.split(".")
        at = "/".join(parts)
        for bare in self._candidates(parts):
            init, module = bare / f"{INIT}.py", bare.with_name(f"{bare.name}.py")
            if init.is_file():
                return ModuleText(f"{at}/{INIT}.py", self._read(init), init)
            if module.is_file():
                return ModuleText(f"{at}.py", self._read(module), module)
        if any(_has_modules(bare) for bare in self._candidates(parts)):
            return ModuleText(f"{at}/{INIT}.py", "")
        return None

    def _candidates(self, parts: Sequence[str]) -> Iterator[Path]:
        """Yield where a module could be, without a suffix."""
        packages = self._place.packages
        pairs = zip(parts, packages, strict=False)
        shared = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        if shared:  # the file's own packages, whose folders may have other names
            yield self._place.folder_of(shared).joinpath(*parts[shared:])
        for root in self._roots:
            yield root.joinpath(*parts)
        if parts[0] in LIBRARIES and (installed := _installed(parts[0])) is not None:
            yield installed.joinpath(*parts[1:])


def _installed(package: str) -> Path | None:
    """Return the folder of a package that this Python would import, without importing it."""
    spec = PathFinder.find_spec(package)
    folders = (spec.submodule_search_locations if spec is not None else None) or ()
    return next(map(Path, folders), None)


def _has_modules(folder: Path) -> bool:
    """Return whether a folder without `__init__.py` is a package (PEP 420): it has modules."""
    try:
        return folder.is_dir() and any(
            item.suffix == ".py" or (item.is_dir() and (item / f"{INIT}.py").is_file())
            for item in folder.iterdir()
        )
    except OSError:
        return False


class LoadedModules:
    """The modules of this process; nothing is imported or looked up in them."""

    def find(self, name: str) -> ModuleText | None:
        """Return a loaded module that has a Python text, "" for a package without a file."""
        module = sys.modules.get(name)
        if not isinstance(module, ModuleType):
            return None
        names, at = vars(module), name.replace(".", "/")
        file, is_package = names.get("__file__"), "__path__" in names
        if file is None and is_package:
            return ModuleText(f"{at}/{INIT}.py", "")
        if not isinstance(file, str) or not file.endswith(".py"):
            return None
        text = "".join(linecache.getlines(file, names))
        return ModuleText(f"{at}/{INIT}.py" if is_package else f"{at}.py", text, Path(file))


def module_name_in_process(names: dict[str, object], text: str) -> str:
    """Return the dotted name of a module of this process, by its globals.

    A script has that of its file.
    """
    spec_name = getattr(names.get("__spec__"), "name", None)
    name = spec_name if isinstance(spec_name, str) else str(names.get("__name__"))
    if "__path__" in names:
        return f"{name}.{INIT}"
    if name != "__main__":
        return name
    return place_of(Path(str(names.get("__file__") or "-")), text).module
