"""The digests of the code that makes compilations and what features keep: parts of their keys.

So nothing needs to be remembered when that code is changed: what it made before is left behind,
never mixed with new results. Standard library only; decides nothing else.
"""

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.machinery import FileFinder, SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parent.parent
"""The folder that holds our packages: a checkout, or an environment's site-packages."""
_FEATURES = sorted(path.parents[1].name for path in ROOT.glob("*/worker/feature.py"))
PACKAGES = ("compiler", "jobs", "launch", "store", "worker", *_FEATURES)
"""The packages that workers and their children load: the core and features, by their convention."""
COMPILING = (
    "compiler.front.tasks", "worker.compile.compile_job", "worker.compile.derive",
    "worker.compile.inspect_job", "worker.compile.toolchain_identity", "worker.pool.zygote",
)  # fmt: skip
"""The modules that compilations start from: the tasks of children, and what orders them."""
READ_AS_TEXT = {"compiler.ttir_to_numpy.runtime_text": "compiler/ttir_to_numpy/runtime"}
"""Modules that read a folder of sources, which they do not import."""
_FROM = rb"from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)"
_IMPORT = re.compile(rb"^[ \t]*(?:%b|import[ \t]+([^\n]*))" % _FROM, re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"[A-Za-z_][\w.]*")


def pipeline_digest(root: Path = ROOT) -> str:
    """Return the SHA-256 of every source file below `root` that can change a compilation.

    Equal wherever the same release is installed: it covers names and texts, not where the files
    are, when they were written, how their lines end, or whether bytecode is next to them. Raises
    RuntimeError where there are no sources.
    """
    return _digest(reached(COMPILING, root))


def feature_digest(entries: Iterable[str], libraries: Iterable[str] = (), root: Path = ROOT) -> str:
    """Return the SHA-256 of everything that can change a feature's results.

    These are the source files that `entries` import, directly or not, and the versions of
    `libraries`.
    """
    return _digest(reached(entries, root), {name: _version(name) for name in libraries})


def reached(entries: Iterable[str], root: Path = ROOT) -> dict[str, bytes]:
    """Return the texts of all modules that `entries` import, directly or not, by their paths.

    Late imports count. Texts are searched, not parsed: that takes a twentieth of the time, and
    works in the Python of any toolchain. Text that looks like an import
    but is not can only add a module.
    """
    texts: dict[str, bytes] = {}
    seen = set[str]()
    inside = cache(partial(_names_inside, root))
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name in seen or name.partition(".")[0] not in PACKAGES:
            continue
        seen.add(name)
        file = _file_of(name, inside)
        if file is not None:
            texts[file] = _text(root / file)
            waiting += [name.rpartition(".")[0], *_names_in(texts[file])]
        if name in READ_AS_TEXT:
            folder = READ_AS_TEXT[name]
            texts |= {
                f"{folder}/{module.name}": _text(module) for module in (root / folder).glob("*.py")
            }
    return texts


def load_from_source() -> None:
    """Have this process compile what it will load of these packages from the texts themselves.

    Bytecode may be of another text: Python compares no more than its size and the second it was
    written in.
    """
    folders = tuple(str(ROOT / name) for name in PACKAGES)
    finder = FileFinder.path_hook((_FromSource, [".py"]))

    def find(path: str) -> Any:
        if path in folders or path.startswith(tuple(f"{folder}/" for folder in folders)):
            return finder(path)
        raise ImportError(path)

    sys.path_hooks.insert(0, find)
    for folder in folders:
        sys.path_importer_cache.pop(folder, None)


class _FromSource(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _file_of(name: str, inside: Callable[[str], frozenset[str]]) -> str | None:
    """Return the path of a module, None if there is none."""
    path = name.replace(".", "/")
    folder, _, last = path.rpartition("/")
    if f"{last}.py" in inside(folder):
        return f"{path}.py"
    is_package = last in inside(folder) and "__init__.py" in inside(path)
    return f"{path}/__init__.py" if is_package else None


def _names_inside(root: Path, folder: str) -> frozenset[str]:
    """Return the names in a folder, none where it is not a folder."""
    try:
        return frozenset(path.name for path in (root / folder).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()


def _names_in(text: bytes) -> Iterator[str]:
    """Yield what a text may import, in whole names: `a` and `a.b` of `from a import b`."""
    for start, names, whole in _IMPORT.findall(_COMMENT.sub(b"", text)):
        if start:
            yield start.decode()
        for name in _NAME.findall(names or whole):
            yield f"{start.decode()}.{name.decode()}" if start else name.decode()


def _text(path: Path) -> bytes:
    return path.read_bytes().replace(b"\r\n", b"\n")


def _digest(texts: Mapping[str, bytes], versions: Mapping[str, str] | None = None) -> str:
    if not texts:
        raise RuntimeError("there are no sources of tritond, so what it makes has no version")
    digest = hashlib.sha256()
    for name in sorted(texts):
        # lengths keep neighbours apart
        digest.update(f"{name}\0{len(texts[name])}\0".encode() + texts[name])
    for name, text in sorted((versions or {}).items()):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
