"""Finds the user's own modules that a program imports, so that they are sent along.

Import statements are parsed; nothing is imported or executed. Modules that are not found next to
the file are skipped: the service has Triton, and reports missing modules.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from tritonc.packages.module_place import place_of
from tritonc.packages.module_sources import MAX_LEVELS, parsed, read_text
from tritonc.service_errors import TritoncError

MAX_FILES = 512  # in one request
MAX_BYTES = 4 << 20  # in total
MAX_NAME_CHARS = 200
_NEVER_LOCAL = sys.stdlib_module_names | {"triton"}


class ImportsTooLarge(TritoncError):
    """A program imports, directly or not, more modules than one request may have."""


def local_imports(path: Path, text: str | None = None) -> dict[str, str]:
    """Return the texts of the local modules that a file imports, directly or not.

    Their names match the imports: `helpers.py` for `from .helpers import f` and
    `pkg/helpers.py` for `from pkg.helpers import f`. They are searched where Python searches: in
    the file's folder, in that of its outermost package, and in the working directory if the file
    is below it. A package's `__init__.py` is included if the imports name the package itself.

    If relative imports climb above the file's folder, the modules have their paths in the package,
    `pkg/sub/helpers.py`, where the service finds the file's place by its own relative imports.

    `text` is the content of the file if known. Raises ImportsTooLarge, and OSError for a module
    that cannot be read or decoded.
    """
    text = read_text(path) if text is None else text
    files, climbs = _collected(path, text, PurePosixPath())
    if climbs:
        folder = PurePosixPath(*place_of(path, text).packages)
        inside, _ = _collected(path, text, folder)
        if _shows_place(path, text, folder, inside):
            return inside
    return files


def _collected(path: Path, text: str, at: PurePosixPath) -> tuple[dict[str, str], bool]:
    """Return the modules, and whether an import climbs above the folder `at` of the file."""
    roots = _roots(path)
    files: dict[str, str] = {}
    size_bytes = 0
    climbs = False
    waiting = [(at, path.parent, text)]
    while waiting:
        at, folder, text = waiting.pop()
        climbs = climbs or any(node.level > len(at.parts) + 1 for node in _relative(text))
        for imported_at, module in _imported(text, at, folder, roots):
            if str(imported_at) not in files:
                files[str(imported_at)] = inner = read_text(module)
                waiting.append((imported_at.parent, module.parent, inner))
                size_bytes += len(inner.encode())
                if len(files) > MAX_FILES or size_bytes > MAX_BYTES:
                    raise _too_large(path)
    return dict(sorted(files.items())), climbs


def _shows_place(path: Path, text: str, at: PurePosixPath, files: Iterable[str]) -> bool:
    """Return whether the relative imports of a file find modules from the folder `at` only.

    The service gets the text without a path. A module of the same name in another folder could be
    taken for the one that the nearest imports mean.
    """
    nodes = [node for node in _relative(text) if any(_modules_of(node, at, path.parent))]
    nearest = min((node.level for node in nodes), default=0)
    paths = [f"/{name}" for name in files]
    return any(
        sum(name.endswith(f"/{found_at.relative_to(_above(at, node))}") for name in paths) == 1
        for node in nodes
        if node.level == nearest
        for found_at, _ in _modules_of(node, at, path.parent)
    )


def _roots(path: Path) -> list[Path]:
    """Return the folders to search for absolute imports."""
    folder = path.parent.resolve()
    outermost = folder
    while (outermost / "__init__.py").is_file() and outermost.parent != outermost:
        outermost = outermost.parent
    working = Path.cwd().resolve()
    further = [working] if folder.is_relative_to(working) else []
    return list(dict.fromkeys([folder, outermost, *further]))


def _too_large(path: Path) -> ImportsTooLarge:
    return ImportsTooLarge(
        f"{path} imports, directly or not, more than {MAX_FILES} local modules, or more than "
        f"{MAX_BYTES >> 20} MiB of them; name those that it needs with --file, "
        "and leave the others with --no-local-imports"
    )


def _imported(
    text: str, at: PurePosixPath, folder: Path, roots: list[Path]
) -> Iterator[tuple[PurePosixPath, Path]]:
    """Yield the local modules that `text` imports, with their paths for the service.

    `at` is the path of the text for the service, and `folder` its folder on this machine.
    """
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _absolute(alias.name.split("."), roots)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            base = (node.module or "").split(".")
            yield from _absolute(base, roots)
            for alias in node.names:
                yield from _absolute([*base, alias.name], roots)
        elif isinstance(node, ast.ImportFrom) and node.level - 1 <= len(at.parts):
            yield from _modules_of(node, at, folder)


def _relative(text: str) -> list[ast.ImportFrom]:
    nodes = ast.walk(parsed(text))
    return [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]


def _above(at: PurePosixPath, node: ast.ImportFrom) -> PurePosixPath:
    """Return the folder that a relative import in the folder `at` starts from."""
    return PurePosixPath(*at.parts[: len(at.parts) - (node.level - 1)])


def _modules_of(
    node: ast.ImportFrom, at: PurePosixPath, folder: Path
) -> Iterator[tuple[PurePosixPath, Path]]:
    """Yield the local modules of a relative import that does not climb above the paths of `at`."""
    root = folder.joinpath(*[".."] * (node.level - 1))
    base = node.module.split(".") if node.module else []
    for words in (base, *([*base, alias.name] for alias in node.names)):
        for found_at, module in _found(words, root):
            yield _above(at, node) / found_at, module


def _absolute(words: list[str], roots: list[Path]) -> Iterator[tuple[PurePosixPath, Path]]:
    if words[0] in _NEVER_LOCAL:
        return
    for root in roots:
        if modules := list(_found(words, root)):
            yield from modules
            return


def _found(words: list[str], root: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    """Yield the module `words` below `root` if it exists; a package is its `__init__.py`."""
    if not words or "*" in words or len(words) > MAX_LEVELS:
        return
    if max(map(len, words)) > MAX_NAME_CHARS:
        return  # no file system has such a name
    at = PurePosixPath(*words)
    for written in (at / "__init__.py", at.with_name(f"{at.name}.py")):
        if (root / written).is_file():
            yield written, root / written
            return
