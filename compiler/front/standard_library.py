"""The modules that user code can import in children, which open no file.

A zygote imports some before it forks, and reads the code of others. No pool starts a thread and no
event loop opens a socket: they do their work in the only thread.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sysconfig
import types
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from compiler.front.environment import Assumptions
from compiler.languages import LANGUAGES

KEPT = (
    "asyncio", "bdb", "bz2", "cmd", "code", "codeop", "concurrent", "cProfile", "doctest", "email",
    "filecmp", "fileinput", "getopt", "getpass", "gzip", "html", "http", "importlib", "ipaddress",
    "lzma", "mimetypes", "multiprocessing", "optparse", "pdb", "pkgutil", "plistlib", "profile",
    "pstats", "quopri", "runpy", "sched", "selectors", "signal", "socketserver", "symtable",
    "tarfile", "tomllib", "trace", "urllib", "xml", "zipapp", "zipfile", "zoneinfo",
)  # fmt: skip
"""Modules and packages that sources import at times, and that cost a zygote too much to execute."""
_kept: dict[str, tuple[types.FunctionType, bool]] = {}
"""The code of each module, and whether it is a package. A zygote hides the paths of functions."""
PRELOADED = (
    "__future__", "abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "builtins",
    "calendar", "cmath", "codecs", "collections", "collections.abc", "colorsys", "configparser",
    "contextlib", "contextvars", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib",
    "enum", "errno", "fnmatch", "fractions", "glob", "graphlib", "locale", "queue", "reprlib",
    "secrets", "shlex", "shutil", "stat", "subprocess", "tempfile", "timeit", "zlib",
    "functools", "gc", "hashlib", "heapq", "inspect", "io", "itertools", "json", "keyword",
    "logging", "logging.config", "math", "numbers", "operator", "os", "os.path",
    "pathlib", "pickle", "platform", "pprint",
    "random", "re", "statistics", "string", "struct", "sys", "textwrap", "threading", "time",
    "traceback", "types", "typing", "unicodedata", "unittest",
    "uuid", "warnings", "weakref",
    "triton.language", "triton.language.math", "triton.language.core", "triton.language.random",
    "triton.language.standard", "triton.language.semantic", "triton.language.target_info",
    "triton.language.extra", "triton.language.extra.libdevice", "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice", "triton.language.extra.cuda.gdc",
    "triton.language.extra.cuda.utils", "triton.language.extra.hip",
    "triton.language.extra.hip.libdevice", "triton.runtime", "triton.runtime.driver",
    "triton.runtime.jit", "triton.runtime.autotuner", "triton.compiler",
    "triton.compiler.code_generator", "triton.testing", "triton.tools.tensor_descriptor",
    "triton.tools.mxfp", "triton.tools.ragged_tma", "triton.experimental",
    *(module for language in LANGUAGES for module in language.modules),
)  # fmt: skip
"""Modules that a zygote imports before it forks."""


class _Reader(importlib.machinery.SourceFileLoader):
    """Reads the code of a module, and stores no bytecode next to it."""

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Store nothing."""


def keep() -> None:
    """Read the code of the modules, once in a zygote."""
    library = Path(sysconfig.get_path("stdlib"))
    for name in KEPT:
        for path in _files_of(library, name):
            parts = path.relative_to(library).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            dotted = ".".join(parts[:-1] if is_package else parts)
            code = _Reader(dotted, str(path)).get_code(dotted)
            assert code is not None  # the file is there
            _kept[dotted] = types.FunctionType(code, {}), is_package


def _files_of(library: Path, name: str) -> Iterator[Path]:
    if (library / f"{name}.py").exists():
        yield library / f"{name}.py"
    for path in (library / name).rglob("*.py"):
        if "test" not in path.parts and "tests" not in path.parts:
            yield path


class StandardLibrary(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that were kept, and doubts those that need more than is here."""

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return the spec of a kept module, else None."""
        del path, target
        if fullname not in _kept:
            return None
        code, is_package = _kept[fullname]
        origin = code.__code__.co_filename
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=origin, is_package=is_package)
        spec.has_location = True
        return spec

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute a module."""
        code, _ = _kept[module.__name__]
        try:
            exec(code.__code__, module.__dict__)  # noqa: S102 - Python's own code
        except ImportError:
            self._assumptions.ask(f"the sandbox has not all of module {module.__name__}")
            raise
        if module.__name__ in _CHANGED:
            _CHANGED[module.__name__](module)


def _without_threads(module: types.ModuleType) -> None:
    """Have a pool run what it is given at once: a child starts no thread."""

    class ThreadPoolExecutor(module.ThreadPoolExecutor):  # type: ignore[misc, name-defined]
        def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = module._base.Future()
            try:
                result = fn(*arguments, **named)
            except BaseException as error:  # noqa: BLE001 - the future holds it, as a thread's does
                future.set_exception(error)
            else:
                future.set_result(result)
            return future

    ThreadPoolExecutor.__module__ = module.__name__
    ThreadPoolExecutor.__qualname__ = "ThreadPoolExecutor"
    module.ThreadPoolExecutor = ThreadPoolExecutor  # type: ignore[attr-defined]


def _without_sockets(module: types.ModuleType) -> None:
    """Have a loop do without the pair of sockets that wakes it from other threads."""

    def nothing(_: Any) -> None:
        pass

    loop = module.BaseSelectorEventLoop
    loop._make_self_pipe = loop._close_self_pipe = loop._write_to_self = nothing
    module.selectors.DefaultSelector = _Timer


class _Timer:
    """A selector without files: it only waits."""

    def select(self, timeout: float | None = None) -> list[Any]:
        del timeout  # user code cannot see how long it slept
        return []

    def get_map(self) -> dict[int, Any]:
        return {}

    def close(self) -> None:
        pass


_CHANGED = {
    "concurrent.futures.thread": _without_threads,
    "asyncio.selector_events": _without_sockets,
}


def preload(names: Iterable[str]) -> None:
    """Import those of these modules that this environment has."""
    for name in names:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            continue
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # this version has no such module, and user code that imports it gets an error
