"""Where a Python file is in its package: the dotted name that Python would import it by.

Only folders and names are looked at; nothing is imported, parsed or executed.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

INIT = "__init__"
UNNAMED = "user"
"""The module of a file whose name is not that of a module."""
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RELATIVE = re.compile(r"^[ \t]*from[ \t]+(\.+)", re.MULTILINE)
LIBRARIES = frozenset({"torch", "numpy"})
"""Packages for which the service has stand-ins: single modules of them may be sent."""
RESERVED = sys.stdlib_module_names | LIBRARIES | {"triton"}
_MAX_COUNTED = 100_000
MAX_PARTS, MAX_CHARS = 32, 512  # of a dotted name in a request


@dataclass(frozen=True, slots=True)
class ModulePlace:
    """A file's folder, the packages that its name has, and the name of the module in them.

    `packages` are the innermost folders, so `("pkg", "sub")` are the folders `pkg/sub`. `module` is
    `__init__` for the file of a package itself.
    """

    folder: Path
    packages: tuple[str, ...]
    module: str

    @property
    def name(self) -> str:
        """The dotted name, `pkg.sub.__init__` for a package itself."""
        return ".".join((*self.packages, self.module))

    @property
    def root(self) -> Path:
        """The folder above the outermost package."""
        return self.folder_of(0)

    def folder_of(self, count: int) -> Path:
        """Return the folder of the first `count` packages."""
        return [self.folder, *self.folder.parents][len(self.packages) - count]

    def python_files(self) -> int:
        """Return the number of Python files in the outermost package, up to a bound."""
        files = 0
        folders = [self.folder_of(1)] if self.packages else []
        seen = 0
        while folders and seen < _MAX_COUNTED:
            for item in _entries(folders.pop()):
                seen += 1
                if item.suffix == ".py":
                    files += 1
                elif not item.name.startswith(".") and item.is_dir() and not item.is_symlink():
                    folders.append(item)
        return files


def place_of(path: Path, text: str) -> ModulePlace:
    """Return where a file with this text is in its package.

    The relative imports of the text show how many packages there must be at least.
    """
    folder = path.parent.resolve()
    module = path.stem if _NAME.fullmatch(path.stem) else UNNAMED
    root = _root_above(folder)
    packages = _importable(folder.relative_to(root).parts)
    levels = min(climbs(text), len(folder.parents))
    if levels > len(packages):
        above = [folder, *folder.parents][:levels]
        packages = tuple(_as_name(item.name) for item in reversed(above))
    if not is_sendable(".".join((*packages, module))):
        packages = ()
    if not packages and (module == INIT or module in RESERVED):
        module = UNNAMED
    return ModulePlace(folder, packages, module)


def is_sendable(name: str) -> bool:
    """Return whether a request may have a module of this dotted name."""
    parts = name.split(".")
    is_short = len(parts) <= MAX_PARTS and len(name) <= MAX_CHARS
    return is_short and all(map(_NAME.fullmatch, parts))


def _root_above(folder: Path) -> Path:
    """Return the folder in which imports find the packages around `folder`."""
    above = [folder, *folder.parents]
    installed = next((item for item in above if item.name in _INSTALLED), None)
    if installed is not None:
        return installed
    project = next((item for item in above if _is_project(item)), None)
    inside = above if project is None else above[: above.index(project) + 1]
    if project is not None and project / "src" in inside and not _is_package(project / "src"):
        return project / "src"
    outermost = next((item for item in reversed(inside) if _is_package(item)), None)
    if outermost is not None:
        return outermost.parent
    return project or folder


def _is_project(folder: Path) -> bool:
    return any((folder / name).exists() for name in _MARKERS)


def _is_package(folder: Path) -> bool:
    return (folder / f"{INIT}.py").is_file()


def _importable(names: Iterable[str]) -> tuple[str, ...]:
    """Return the innermost names that an import can write, without those of Python's own modules.

    A folder `third-party` in between hides the packages above it from those below.
    """
    dotted: list[str] = []
    for name in names:
        dotted = [*dotted, name] if _NAME.fullmatch(name) else []
    while dotted and dotted[0] in RESERVED:
        dotted = dotted[1:]
    return tuple(dotted)


def climbs(text: str) -> int:
    """Return how many packages up the relative imports of a text lead: 1 for `from .a import b`."""
    return max((len(dots) for dots in _RELATIVE.findall(text)), default=0)


def _as_name(folder: str) -> str:
    name = re.sub(r"\W", "_", folder, flags=re.ASCII) or "_"
    return f"_{name}" if name[0].isdigit() or name in RESERVED else name


def _entries(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.iterdir()
    except OSError:
        return  # one that may not be read has no modules for us
